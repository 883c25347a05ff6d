# SPDX-License-Identifier: Apache-2.0
"""The verdict of findings and contrasts, and its headline."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.errors import UsageError
from slowpath.core.results import ContrastResult, Finding, Line
from slowpath.findings.conclude import RunFacts, conclude
from slowpath.findings.finding import by_cost
from slowpath.slowpaths.registry import find_remedy, remedy_text
from support.results import a_cell, a_contrast, a_finding, a_remedy, a_side


def contrast(name: str, ratio: float | None, verdict: str | None, **changes: Any) -> ContrastResult:
    return a_contrast(name, ratio, **{"verdict": verdict, "where": "1 MiB", **changes})


def line(*contrasts: ContrastResult) -> Line:
    return conclude(contrasts, []).verdict.lines[0]


def test_a_default_that_loses_is_a_slow_path_and_the_slower_side_is_named_first() -> None:
    answer = line(contrast("x", 0.5, "faster"))
    assert answer.level == "slow"
    assert answer.contrast == "x"
    assert answer.text.startswith('path: "default" is 2.00x [1.82, 2.22] slower than "other"')


def test_the_users_own_loss_speaks_before_a_larger_one_that_nobody_chose() -> None:
    assert line(contrast("large", 4.0, "slower"), contrast("mine", 0.7, "faster")).contrast == "mine"


def test_undecided_is_never_called_no_difference() -> None:
    answer = line(contrast("x", 1.1, "undecided"), contrast("y", 1.0, "same"))
    assert answer.level == "info"
    assert "1 same, 1 undecided (of 2 contrasts)" in answer.text


def test_a_control_that_differs_is_a_warning_about_the_machine() -> None:
    verdict = conclude(
        [contrast("x", 1.2, "slower", control=True), contrast("y", 3.0, "slower", group="other")], []
    ).verdict
    assert verdict.lines[0].level == "warning"
    assert "repeat on a quiet machine" in verdict.lines[0].text


@pytest.mark.parametrize(
    ("verdicts", "level", "text"),
    [
        ([None] * 6, "info", "self: not measured."),
        (["same", "undecided", None], "ok", "self: no false alarm in 2 comparisons of a cell with itself "
         "(1 same, 1 undecided, 1 not measured)."),
    ],
)  # fmt: skip
def test_a_control_that_was_not_measured_clears_nothing(verdicts: list[str | None], level: str, text: str) -> None:
    made = [contrast(f"c{i}", None, verdict, group="self", control=True) for i, verdict in enumerate(verdicts)]
    assert (line(*made).level, line(*made).text) == (level, text)


def test_cells_that_failed_are_counted_and_what_is_absent_is_not_in_the_headline() -> None:
    verdict = conclude([contrast("x", None, None)], [], RunFacts(failed=2)).verdict
    assert verdict.headline == "Undecided: none of 1 question could be measured."
    assert verdict.count.endswith("2 cells failed")
    here = conclude([contrast("x", None, None)], [], CHECK).verdict
    assert here.answer == ("n1, mpich 5.0.2, 2026-01-31: Undecided: none of 1 question could be measured.")
    assert verdict.state == "not measured"
    assert "not measured" in verdict.lines[0].text


def test_no_headline_says_no_slow_path_above_a_finding() -> None:
    same = contrast("x", 1.0, "same")
    for findings in ([a_finding(contrasts=[])], [a_finding(affects_default=False, contrasts=["x"])]):
        for contrasts in ([], [same], [contrast("x", 1.1, "slower", default_side=None)]):
            verdict = conclude(contrasts, findings).verdict
            assert "No slow path" not in verdict.headline
            assert verdict.slow_paths + verdict.off_default == 1


CHECK = RunFacts("n1, mpich 5.0.2, 2026-01-31", is_check=True)


def test_a_healthy_machine_gets_one_line() -> None:
    """What the library costs everywhere, and what no trial has proven, is no slow path of this machine."""
    known = [
        a_finding("SP013", kind="property", contrasts=[]),
        a_finding("SP008", kind="opportunity", contrasts=[]),
        a_finding("SP009", affects_default=False, contrasts=[]),
    ]
    verdict = conclude([contrast("x", 1.0, "same")], known, CHECK).verdict
    assert verdict.answer == "Nothing is wrong on n1, mpich 5.0.2, 2026-01-31: no fault in 1 question."
    assert (verdict.slow_paths, verdict.actions, verdict.state) == (0, [], "clear")
    assert verdict.properties == 1
    assert verdict.still_open == "Undecided: 1 untried change that may help (SP008)."


def test_faults_come_before_what_is_proven_and_properties_that_a_trial_removed_are_opportunities() -> None:
    setting = a_remedy(verdict="proven", phrase="a later switch")
    proven = a_finding(
        "SP013",
        kind="property",
        status="proven",
        text="A switch is slow.",
        ratio=None,
        contrasts=[],
        remedies=[setting],
    )
    fault = a_finding("SP035", text="Your setting is slow.", ratio=None, contrasts=[], excess_s=1e-9)
    verdict = conclude([], [proven, fault], CHECK).verdict
    assert verdict.answer == (
        "Something is wrong on n1, mpich 5.0.2, 2026-01-31: 1 fault (SP035); 1 change makes it faster, proven here."
    )
    assert verdict.actions == ["Your setting is slow.", "Use a later switch: a switch is slow."]
    assert (verdict.faults, verdict.opportunities, verdict.slow_paths) == (1, 1, 2)


def test_undecided_comparisons_are_no_all_clear() -> None:
    open_one = contrast("x", 3.27, "undecided", interval=(0.8, 9.0), more_pairs=14, default_side=None)
    same = [contrast(f"y{i}", 1.0, "same", group="other") for i in range(4)]
    verdict = conclude([open_one, *same], [], RunFacts("n1, mpich 5.0.2, 2026-01-31", rounds=10, round_s=4.0)).verdict
    assert verdict.state == "undecided"
    assert verdict.headline == (
        "Undecided: 1 of 2 questions (path) may hide a slow path of up to 9.00x; about 14 more rounds (56 s) would "
        "decide: --rounds 24."
    )
    assert verdict.undecided == 1
    assert verdict.place == "n1, mpich 5.0.2, 2026-01-31"
    hopeless = conclude([replace(open_one, more_pairs=5000)], []).verdict
    assert "this machine is too noisy" in hopeless.headline


def test_a_campaign_names_a_remedy_that_fits_its_axis() -> None:
    assert find_remedy("huge pages", "pages").text == remedy_text("huge pages")
    for name, axis in (("prayer", "pages"), ("huge pages", "progress")):
        with pytest.raises(UsageError, match=f"unknown remedy for axis {axis}: '{name}'"):
            find_remedy(name, axis)


def test_a_law_through_both_cells_of_a_contrast_names_its_question() -> None:
    """As a law of queues does: it rests on cells, and the question about these is no unexplained loss."""
    loss = contrast("x", 3.0, "slower", default_side=None)
    verdict = conclude([loss], [a_finding("SP003", contrasts=[], cells=[0, 1, 2])]).verdict
    assert verdict.slow_paths == 1
    assert verdict.lines[0].text.endswith("; named by SP003.")
    other = a_finding("SP003", contrasts=[], cells=[0, 1, 2], phase="first")
    assert conclude([loss], [other]).verdict.slow_paths == 2


def test_a_small_effect_without_cause_or_remedy_is_no_fault() -> None:
    """Every second message 1.06x slower: a healthy machine shows such, too."""
    small = a_finding("SP009", ratio=1.06, interval=(1.04, 1.08), contrasts=[])
    verdict = conclude([contrast("x", 1.0, "same")], [small], CHECK).verdict
    assert (verdict.faults, verdict.actions) == (0, [])
    assert verdict.still_open == "Undecided: 1 possible fault (SP009): The first message takes 2.0 times as long."
    stalls = a_finding("SP010", ratio=3.0, interval=(2.5, 3.5), needs_cause=True, contrasts=[])
    assert conclude([], [stalls], CHECK).verdict.faults == 0
    assert conclude([], [replace(stalls, status="explained")], CHECK).verdict.faults == 1
    sure = conclude([], [replace(small, status="explained")], CHECK).verdict
    assert sure.faults == 1


def test_findings_that_one_proven_remedy_removes_take_one_line() -> None:
    remedy = a_remedy(name="replaced collective", phrase="tuned collectives", verdict="proven")
    many = [
        a_finding("SP036", id=f"SP036:0000000{i}", kind="opportunity", status="proven", remedies=[remedy],
                  metric="collective_work_s", text=f"Allreduce {i} is slow.", contrasts=[])
        for i in range(3)
    ]  # fmt: skip
    verdict = conclude([], many, CHECK).verdict
    assert verdict.actions == ["Use tuned collectives: allreduce 0 is slow. The same helps 2 more."]
    assert verdict.answer is not None
    assert "1 change makes it faster" in verdict.answer


def huge_pages(**changes: Any) -> Finding:
    tried = a_remedy("huge pages", phrase="huge pages", **changes)
    return a_finding(
        "SP008", ratio=3.24, interval=(3.1, 3.4), contrasts=["m1", "m16"], slow_cells=[16], remedies=[tried]
    )


def lengths() -> tuple[list[ContrastResult], dict[int, CellResult]]:
    """Decided at 1 and 16 MiB, the same at 64 KiB."""
    cells = {n: a_cell(n, parameters={"message_bytes": str(size)}) for n, size in ((0, 2**16), (1, 2**20), (16, 2**24))}
    sides = {n: a_side(n, "small") for n in cells}
    contrasts = [contrast(name, 3.2, "slower", axis="pages", b=sides[n]) for name, n in (("m1", 1), ("m16", 16))]
    return [contrast("k64", 1.0, "same", axis="pages", b=sides[0]), *contrasts], cells


def test_the_headline_says_what_to_do_first_and_from_which_measured_length_on() -> None:
    contrasts, cells = lengths()
    verdict = conclude(contrasts, [huge_pages()], cells=cells).verdict
    assert verdict.headline == "Try huge pages for messages >= 1 MiB: 3.24x [3.10, 3.40] on 16 MiB messages."


def test_what_is_proven_speaks_before_what_costs_more() -> None:
    costly = a_finding("SP012", ratio=9.0, excess_s=1.0, remedies=[a_remedy("costly")])
    proven = a_finding("SP008", status="proven", remedies=[a_remedy("sure", verdict="proven")])
    assert conclude([], [costly, proven]).verdict.headline.startswith("Use sure")


def test_without_a_remedy_the_slow_path_is_named() -> None:
    for remedies in ([], [a_remedy(verdict="no effect")], [a_remedy(verdict="both sides")]):
        finding = a_finding(remedies=remedies)
        assert conclude([], [finding]).verdict.headline == f"{finding.text.rstrip('.')}."


def test_the_finding_that_costs_most_speaks() -> None:
    """Users' own first, then the excess times the ratio."""
    cheap = a_finding("SP001", excess_s=1e-6, ratio=2.0)
    dear = a_finding("SP012", excess_s=1e-3, ratio=1.1)
    nobodys = a_finding("SP003", excess_s=1.0, ratio=9.0, affects_default=None)
    chosen = a_finding("SP004", excess_s=1.0, ratio=9.0, affects_default=False)
    assert [finding.rule for finding in by_cost([chosen, nobodys, cheap, dear])] == ["SP012", "SP001", "SP003", "SP004"]
