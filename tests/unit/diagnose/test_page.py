# SPDX-License-Identifier: Apache-2.0
"""The page of a diagnosis: cards with their trial, what remedies removed, the steps, and what a leg says at the end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from made_results import METRIC, MPICH, cell, contrast, finding, law, leg, remedy, results, step
from msgspec.structs import replace

from slowpath.core.results import PlacementResult, RankPlace, Results, Snippet, Verdict
from slowpath.diagnose.page.files import page, sections_of, trials_of
from slowpath.diagnose.page.text import render, render_brief
from slowpath.diagnose.page.words import leg_words
from slowpath.diagnose.records import Diagnosis
from slowpath.diagnose.tasks import SurveyTask, TrialTask
from slowpath.diagnose.trials.fast_side import EFFECT
from slowpath.diagnose.trials.fast_side import FAST as FAST_SIDE
from slowpath.findings.finding import LeastSeen
from slowpath.report.figure import Block, Card, Copied, Plot, Row, Rows, Text
from support.blocks import every

SLOW, REMEDIED, FAST = (4e-6, 4.1e-6, 3.9e-6), (1e-6, 1.1e-6, 0.9e-6), (1.2e-6, 1.3e-6, 1.1e-6)
HUGE = remedy("huge <pages>", "proven", (0.98, 0.9, 1.05), snippet=Snippet(shell="export HUGE=1"))
PROVEN = finding("SP008", status="proven", remedies=[HUGE, remedy("more", "no effect"), remedy("untried")])
TASK = TrialTask(finding=PROVEN.id, remedy=HUGE.name, axis="pages", slow="small", remedied="huge",
                 metric=PROVEN.metric, phase="steady", fast_side="unchanged")  # fmt: skip


def trial() -> Results:
    """Run of the trial: cells 0 (slow), 1 (remedied), 2 (fast)."""
    cells = [cell(number, {"pages": str(number)}, times) for number, times in enumerate((SLOW, REMEDIED, FAST))]
    return results(
        cells, [contrast(EFFECT, [(1e-6, 4e-6)] * 3, 1, 0), contrast(FAST_SIDE, [(1.2e-6, 1.2e-6)] * 3, 2, 2)]
    )


def survey() -> Results:
    """Run of the survey on a node that is named."""
    made = results([cell(0, {"pages": "0"}, SLOW), cell(1, {"pages": "1"}, REMEDIED)])
    seen = [RankPlace(rank=rank, host="n001", cpus_allowed=str(rank), cpu=rank) for rank in (0, 1)]
    bound = PlacementResult(name="bound", bind="core", observed=seen, differs=[])
    machine = {"host": "n001", "processors": 4}
    return replace(
        made, run=replace(made.run, placements=[bound], machine=machine, mpis=[MPICH], started="2026-01-31T12:00:00")
    )


def diagnosis(**changed: object) -> Diagnosis:
    steps = [step(1, SurveyTask()), step(2, TASK)]
    made = Diagnosis(schema=2, slowpath="0", command=["slowpath", "diagnose"], started="2026-01-31T12:00:00",
                     budget_s=60.0, mpi="mpich 5.0.2", status="settled", spent_s=2.0, steps=steps,
                     findings=[PROVEN])  # fmt: skip
    return replace(made, **changed)


RUNS = {"01-survey": survey(), "02-trial": trial()}


def cards(made: Diagnosis) -> list[Card]:
    """Cards of the findings, as the page has them."""
    sections = sections_of(made, RUNS)
    return [block for section in sections if section.id == "findings" for block in every(section, Card)]


def sides(row: Row) -> list[float]:
    return [value for mark in row.marks if mark.kind == "dots" for value in mark.values]


def test_a_trial_is_three_rows_as_it_is_remedied_and_fast() -> None:
    (found,) = trials_of(PROVEN, diagnosis().steps, RUNS)
    assert [(row.label, sides(row)) for row in found.rows] == [
        ("as it is", sorted(SLOW)),
        ("with the remedy", sorted(REMEDIED)),
        ("the fast side", sorted(FAST)),
    ]
    assert trials_of(finding("SP008", number=1), diagnosis().steps, RUNS) == []
    assert trials_of(PROVEN, diagnosis().steps, {}) == []


def names(blocks: Sequence[Block]) -> list[str]:
    return [block.name for block in blocks if isinstance(block, Rows | Plot)]


def test_the_card_of_a_proven_finding_leads_with_its_trial_and_its_lines() -> None:
    (card,) = cards(diagnosis())
    assert names(card.side) == ["trial"]
    assert [block.text for block in card.blocks if isinstance(block, Copied)] == ["export HUGE=1"]
    assert (card.do, card.factor) == ("Take huge <pages>.", "3.50×")
    assert [leg.word for leg in card.legs] == ["yes", "not yet", "not yet"]


def test_a_remedy_that_failed_leads_nothing() -> None:
    refuted = replace(PROVEN, remedies=[remedy(HUGE.name, "no effect")], slow_cells=[0], fast_cells=[1], ratio=4.0)
    (card,) = cards(diagnosis(findings=[refuted]))
    assert card.do.endswith("; no remedy is proven")
    assert not card.blocks
    assert (names(card.side), names(card.more)) == (["sides"], ["trial"])


def test_every_remedy_that_was_tried_has_a_row_and_no_invented_share() -> None:
    (figure,) = every(next(one for one in sections_of(diagnosis(), RUNS) if one.id == "trials"), Rows)
    assert [(row.label, row.value, row.note, bool(row.marks)) for row in figure.rows] == [
        ("huge <pages> (SP008)", "98 %", "proven", True),
        ("more (SP008)", "no effect", "", False),
    ]
    assert "trials" not in [one.id for one in sections_of(diagnosis(findings=[]), RUNS)]


def test_steps_follow_one_another_on_one_axis() -> None:
    (figure, *_) = every(next(one for one in sections_of(diagnosis(), RUNS) if one.id == "steps"), Rows)
    (first,), (second,) = ([mark.values for mark in row.marks] for row in figure.rows)
    assert first[1] == second[0] > first[0] == 0
    assert figure.rows[0].href == "01-survey/report.html"


def test_the_page_has_it_all_in_order_and_escaped() -> None:
    shown = page(diagnosis(), RUNS)
    ids = [
        "headline",
        "findings",
        f"finding-{PROVEN.id.replace(':', '-')}",
        "trials",
        "steps",
        "environment",
    ]
    places = [shown.index(f'id="{one}"') for one in ids]
    assert places == sorted(places)
    assert "n001" in shown
    assert "huge &lt;pages&gt;" in shown
    assert "<pages>" not in shown


@pytest.mark.parametrize("runs", [RUNS, {}])
def test_the_page_stands_without_its_runs_and_without_findings(runs: dict[str, Results]) -> None:
    assert "</html>" in page(diagnosis(), runs)
    assert "Diagnosis of mpich 5.0.2" in page(diagnosis(findings=[], steps=[]), runs)


def test_limits_that_were_narrowed_are_in_words() -> None:
    (card,) = cards(diagnosis(findings=[replace(PROVEN, law=law((8112.0, 8113.0)))]))
    (limit,) = [block.words for block in card.more if isinstance(block, Text) and block.name == "Limit"]
    assert "exactly at" in limit


def test_a_leg_without_a_trial_says_what_would_give_one() -> None:
    untried = replace(leg(text="another sentence"), untried=True)
    assert "--resume" in leg_words(untried, "budget")
    assert "no remedy that a trial can toggle" in leg_words(untried, "settled")
    assert leg_words(leg("shown", "it helps"), "settled") == "it helps"


VERDICT = Verdict(
    headline="Use huge pages: 3.2x [3.1, 3.4].",
    lines=[],
    state="slow",
    place="n1, mpich 5.0.2, 2026-01-31",
    count="1 proven opportunity (SP008); 8 questions answered",
    slow_paths=1,
    off_default=0,
    questions=8,
    undecided=0,
    answer="Nothing is wrong on n1; 1 change makes it faster, proven here.",
    actions=["Use huge pages: 3.2x [3.1, 3.4]."],
    faults=0,
    opportunities=1,
    properties=2,
)


def test_a_diagnosis_has_the_headline_and_the_counts_of_a_run() -> None:
    made = Diagnosis(
        schema=2, slowpath="0", command=[], started="2026-01-31", budget_s=60.0, mpi="mpich 5.0.2", verdict=VERDICT
    )
    assert render(made, "folder").splitlines()[:4] == [VERDICT.answer, VERDICT.headline, VERDICT.place, VERDICT.count]
    shown = page(made, {})
    assert f'<h1 id="headline">{VERDICT.answer}</h1>' in shown
    assert shown.index("<dt>faults</dt><dd>0</dd>") < shown.index("<dt>proven opportunity</dt><dd>1</dd>")
    assert render_brief(made, "folder").splitlines() == [
        VERDICT.answer,
        f"  1. {VERDICT.headline}",
        "What this library costs here: 2 rows in the report's profile, or --full.",
        "Report: folder/report.html",
    ]
    assert "<ol" in page(made, {})


def test_what_the_budget_left_out_is_named_with_the_command_that_goes_on() -> None:
    made = diagnosis(status="budget", next=["try huge pages", "try padding"], verdict=VERDICT)
    assert "2 steps not made; continue with: slowpath diagnose --resume d --budget 5m." in render_brief(made, "d")


def test_trials_show_the_fast_side_with_the_remedy_where_it_changes_that() -> None:
    cells = [cell(number, {}, [time_s] * 8) for number, time_s in enumerate((45e-9, 26e-9, 36e-9, 19e-9))]
    pairs = [contrast("remedy", [(26e-9, 45e-9)] * 8, 1, 0), contrast("fast side", [(19e-9, 36e-9)] * 8, 3, 2)]
    one = finding("SP019", remedies=[remedy("key", "both sides")])
    task = TrialTask(
        finding=one.id, remedy="key", axis="window_info", slow="default", remedied="latency", metric=METRIC,
        phase="steady", fast_side="toggled",
    )  # fmt: skip
    (trial,) = trials_of(one, [step(1, task)], {step(1, task).folder: results(cells=cells, contrasts=pairs)})
    assert [row.label for row in trial.rows] == [
        "as it is",
        "with the remedy",
        "the fast side",
        "the fast side with it",
    ]


def test_what_could_not_have_been_seen_is_in_text_and_page() -> None:
    least = LeastSeen(group="pages", phase="first", metric=METRIC, ratio=1.25, excess_s=2e-6, launches=5)
    said = "by less than 1.25x (2.00 us) in pages, first messages."
    text = " ".join(render(diagnosis(least=[least]), "d").split())
    assert said in text
    shown = page(diagnosis(least=[least]), RUNS)
    assert "What this diagnosis could not have seen" in shown
    assert "<dt>pages, first messages</dt><dd>1.25× (2.00 µs)" in shown
    assert "could not detect" not in render(diagnosis(), "d") + page(diagnosis(), RUNS)


def test_what_carries_messages_is_in_text_and_page() -> None:
    said = "messages between ranks 0 and 1 go by pml ob1, btl <sm>"
    assert said in " ".join(render(diagnosis(paths=[said]), "d").split())
    shown = page(diagnosis(paths=[said]), RUNS)
    assert "go by pml ob1, btl &lt;sm&gt;" in shown
    assert "btl <sm>" not in shown
    assert "Paths" not in render(diagnosis(), "d") + page(diagnosis(), RUNS)
