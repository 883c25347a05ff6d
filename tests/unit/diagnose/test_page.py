# SPDX-License-Identifier: Apache-2.0
"""Text and page of a diagnosis, its file, and a program's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made_results import METRIC, MPICH, cell, contrast, finding, law, remedy, results, step
from msgspec.structs import replace

from slowpath.core.errors import RecordError
from slowpath.core.plan import Cell
from slowpath.core.results import PlacementResult, RankPlace, Results, Snippet, Verdict
from slowpath.diagnose.page import page, render, render_brief, sections_of, trials_of
from slowpath.diagnose.state import with_groups_alone
from slowpath.diagnose.steps.survey import survey_campaign
from slowpath.diagnose.tasks import (
    FILE,
    SCHEMA,
    Diagnosis,
    DiagnosisStep,
    ProgramSpent,
    ProgramUse,
    SurveyTask,
    TrialTask,
    priced,
    read_diagnosis,
    with_groups,
    write_diagnosis,
)
from slowpath.diagnose.trials import EFFECT
from slowpath.diagnose.trials import FAST as FAST_SIDE
from slowpath.findings.conclude import RunFacts, conclude
from slowpath.findings.finding import by_cost
from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand
from slowpath.report.figure import Block, Card, Copied, Plot, Row, Rows
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
    (rows,) = trials_of(PROVEN, diagnosis().steps, RUNS)
    assert [(row.label, sides(row)) for row in rows.rows] == [
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


def test_the_page_has_it_all_in_order_and_escaped() -> None:
    shown = page(diagnosis(), RUNS)
    ids = ["headline", "findings", f"finding-{PROVEN.id.replace(':', '-')}", "trials", "steps", "environment"]
    places = [shown.index(f'id="{identity}"') for identity in ids]
    assert places == sorted(places)
    assert "n001" in shown
    assert "huge &lt;pages&gt;" in shown
    assert "<pages>" not in shown


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
        "Report: folder/report.html",
    ]
    assert "<ol" in page(made, {})


def test_trials_show_the_fast_side_with_the_remedy_where_it_changes_that() -> None:
    cells = [cell(number, {}, [time_s] * 8) for number, time_s in enumerate((45e-9, 26e-9, 36e-9, 19e-9))]
    pairs = [contrast("remedy", [(26e-9, 45e-9)] * 8, 1, 0), contrast("fast side", [(19e-9, 36e-9)] * 8, 3, 2)]
    seen = finding("SP019", remedies=[remedy("key", "both sides")])
    task = TrialTask(
        finding=seen.id, remedy="key", axis="window_info", slow="default", remedied="latency", metric=METRIC,
        phase="steady", fast_side="toggled",
    )  # fmt: skip
    (trial,) = trials_of(seen, [step(1, task)], {step(1, task).folder: results(cells=cells, contrasts=pairs)})
    assert [row.label for row in trial.rows] == [
        "as it is",
        "with the remedy",
        "the fast side",
        "the fast side with it",
    ]


CMA = "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"
LIMIT = 50020


@pytest.fixture
def made() -> Diagnosis:
    """One that proved a remedy and ran out of its budget."""
    proven = remedy(
        f"set {CMA}", "proven", (1.0, 0.9, 1.1), reason="it <moved>", snippet=Snippet(shell=f"export {CMA}=44519")
    )
    survey = DiagnosisStep(number=1, folder="01-survey", why="where?", estimate_s=1.0, task=SurveyTask(), wall_s=2.0,
                  summary="1 finding")  # fmt: skip
    return Diagnosis(
        schema=SCHEMA, slowpath="0", command=["slowpath"], started="now", budget_s=60.0, mpi="mpich 5.0.2",
        status="budget", spent_s=12.0, steps=[survey, step(2)],
        findings=[finding(law=law((LIMIT, LIMIT + 1)), remedies=[proven])], next=["more <of> it"],
    )  # fmt: skip


def test_the_file_comes_back(made: Diagnosis, tmp_path: Path) -> None:
    write_diagnosis(tmp_path, made)
    assert read_diagnosis(tmp_path) == made


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ('{"schema": 99}', "use the slowpath that wrote it"),
        ('{"schema": 2}', "use the slowpath that wrote it"),
        ('{"schema": 3}', "cannot be read"),
        ('{"schema": 3, "steps": [{}]}', "cannot be read"),
    ],
)
def test_what_is_no_diagnosis_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(RecordError, match=message):
        read_diagnosis(tmp_path)


SURVEY = survey_campaign(load("panel"), 0)
LONG = ProgramSpent(experiment="p2p", seconds=0.3, low_bytes=1 << 20, high_bytes=1 << 20)
STRIDED = ProgramSpent(experiment="p2p", seconds=0.1, low_bytes=65536, high_bytes=65536, is_strided=True)
ON_GPU = ProgramSpent(experiment="p2p", seconds=0.2, low_bytes=1 << 20, high_bytes=1 << 20, memory="device")
PUTS = ProgramSpent(experiment="put", seconds=0.4, low_bytes=8, high_bytes=8)


def program(*spent: ProgramSpent) -> ProgramUse:
    return ProgramUse(name="heat", ranks=2, span_s=3.0, mpi_s=1.0, spent=list(spent))


@pytest.fixture(scope="module")
def plan_cells(description: dict[str, Any]) -> list[Cell]:
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))
    return list(expand(SURVEY, description, [mpi], 1).cells)


@pytest.mark.parametrize(
    ("spent", "asked", "not_asked"),
    [
        (LONG, {"lengths", "pages", "paths"}, {"blocks", "windows", "queue", "overlap"}),
        (STRIDED, {"blocks", "posted"}, {"windows", "queue"}),
        (PUTS, {"windows", "window info", "datatype of puts"}, {"lengths", "blocks"}),
    ],
)
def test_groups_are_those_of_the_programs_calls_lengths_and_memory(
    plan_cells: list[Cell], spent: ProgramSpent, asked: set[str], not_asked: set[str]
) -> None:
    grouped = with_groups(program(spent), plan_cells)
    assert asked <= set(grouped.groups)
    assert not not_asked & set(grouped.groups)
    assert set(grouped.groups.values()) == {spent.seconds}
    kept = with_groups_alone(SURVEY, grouped.groups)
    assert {group.name for group in kept.cells} == {"control", *grouped.groups}
    assert {contrast.cells for contrast in kept.contrasts} <= {"control", *grouped.groups}


def test_a_program_on_gpu_memory_asks_nothing_of_host_memory(plan_cells: list[Cell]) -> None:
    assert not with_groups(program(ON_GPU), plan_cells).groups


def test_a_finding_costs_at_most_what_the_program_spends_on_its_messages() -> None:
    seen = results([cell(0, {"message_bytes": "1048576", "memory": "host"})])
    dear = finding(cells=[0], slow_cells=[0], ratio=2.0, interval=(1.5, 3.0))
    assert priced(dear, program(LONG, STRIDED, PUTS), seen).program_s == pytest.approx(0.3 * (1 - 1 / 3.0))
    assert priced(dear, program(STRIDED, PUTS), seen).program_s == 0.0
    without_ratio = finding(cells=[0], slow_cells=[0], ratio=None, interval=None)
    assert priced(without_ratio, program(LONG), seen).program_s == pytest.approx(0.3)


def test_what_costs_the_program_most_comes_first_and_says_so() -> None:
    small = finding(number=1, excess_s=1.0, program_s=0.01, concerns="MPI_Put", kind="fault")
    large = finding(number=2, excess_s=1e-6, program_s=0.4, concerns="MPI_Put", kind="fault")
    assert by_cost([small, large]) == [large, small]
    verdict = conclude([], [large], RunFacts(is_check=True)).verdict
    assert verdict.actions[0].endswith("This saves your program at most 400 ms per rank.")
    assert not verdict.actions[0].startswith("If your programs use")
