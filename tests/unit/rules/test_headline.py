# SPDX-License-Identifier: Apache-2.0
"""Which finding speaks first, and what its line says to do."""

from __future__ import annotations

from typing import Any

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, Finding, Line, RemovedRatio
from slowpath.findings.conclude import conclude
from slowpath.findings.finding import by_cost
from support.results import a_cell, a_contrast, a_finding, a_remedy, a_side


def contrast(name: str, ratio: float | None, verdict: str | None, **changes: Any) -> ContrastResult:
    return a_contrast(name, ratio, **{"verdict": verdict, "where": "1 MiB", **changes})


def line(*contrasts: ContrastResult) -> Line:
    return conclude(contrasts, []).verdict.lines[0]


def huge_pages(**changes: Any) -> Finding:
    tried = a_remedy("huge pages", phrase="huge pages", **changes)
    return a_finding(
        "SP008", ratio=3.24, interval=(3.1, 3.4), contrasts=["m1", "m16"], slow_cells=[16], remedies=[tried]
    )


def lengths() -> tuple[list[ContrastResult], dict[int, CellResult]]:
    """Decided at 1 and 16 MiB, the same at 64 KiB."""
    cells = {n: a_cell(n, parameters={"message_bytes": str(size)}) for n, size in ((0, 2**16), (1, 2**20), (16, 2**24))}
    sides = {n: a_side(n, "small") for n in cells}
    found = [contrast(name, 3.2, "slower", axis="pages", b=sides[n]) for name, n in (("m1", 1), ("m16", 16))]
    return [contrast("k64", 1.0, "same", axis="pages", b=sides[0]), *found], cells


def test_the_headline_says_what_to_do_first_and_from_which_measured_length_on() -> None:
    contrasts, cells = lengths()
    verdict = conclude(contrasts, [huge_pages()], cells=cells).verdict
    assert verdict.headline == "Try huge pages for messages >= 1 MiB: 3.24x [3.10, 3.40] on 16 MiB messages."


def test_what_a_trial_proved_is_to_be_used() -> None:
    contrasts, cells = lengths()
    proven = huge_pages(verdict="proven", removed_ratio=RemovedRatio(value=0.98, interval=(0.9, 1.0)))
    headline = conclude(contrasts, [proven], cells=cells).verdict.headline
    assert headline.startswith("Use huge pages for messages >= 1 MiB: 3.24x")
    assert headline.endswith("; removes 98%.")


def test_a_remedy_whose_trial_left_it_open_leads_nothing() -> None:
    open_ended = a_remedy("perhaps", verdict="partial", removed_ratio=RemovedRatio(value=0.2, interval=(-0.5, 0.9)))
    some = a_remedy("some", verdict="partial", removed_ratio=RemovedRatio(value=0.4, interval=(0.3, 0.5)))
    assert a_finding(remedies=[open_ended]).lead is None
    assert a_finding(remedies=[open_ended, some]).lead is some
    assert a_finding(remedies=[some, a_remedy("untried")]).lead.name == "untried"
    assert conclude([], [a_finding(remedies=[open_ended], ratio=3.0)]).verdict.headline.startswith("The first message")


def test_what_is_proven_speaks_before_what_costs_more() -> None:
    costly = a_finding("SP002", ratio=9.0, excess_s=1.0, remedies=[a_remedy("costly")])
    proven = a_finding("SP008", status="proven", remedies=[a_remedy("sure", verdict="proven")])
    assert conclude([], [costly, proven]).verdict.headline.startswith("Use sure")


def test_a_ratio_that_is_no_gain_of_the_remedy_does_not_stand_as_one() -> None:
    """As of SP017 by exposure: both together against the longer one alone, with no MPI_Test anywhere."""
    exposed = a_finding("SP017", contrasts=[], phase="steady", ratio=1.9, remedies=[a_remedy("test")])
    said = conclude([], [exposed]).verdict.headline
    assert said.startswith(exposed.title)
    assert said.endswith("; try test.")


def test_without_a_remedy_the_slow_path_is_named() -> None:
    for remedies in ([], [a_remedy(verdict="no effect")], [a_remedy(verdict="both sides")]):
        headline = conclude([], [a_finding(remedies=remedies)]).verdict.headline
        assert headline == "The first message of a buffer is slow: 2.00x [1.80, 2.20]."


def test_the_finding_that_costs_most_speaks() -> None:
    """Users' own first, then the excess times the ratio."""
    cheap = a_finding("SP001", excess_s=1e-6, ratio=2.0)
    dear = a_finding("SP002", excess_s=1e-3, ratio=1.1)
    nobodys = a_finding("SP003", excess_s=1.0, ratio=9.0, affects_default=None)
    chosen = a_finding("SP004", excess_s=1.0, ratio=9.0, affects_default=False)
    assert [one.rule for one in by_cost([chosen, nobodys, cheap, dear])] == ["SP002", "SP001", "SP003", "SP004"]


def test_a_small_difference_that_a_finding_rests_on_is_a_slow_path_and_says_its_name() -> None:
    small = contrast("x", 0.9, "faster")
    found = conclude([small], [a_finding("SP008", contrasts=["x"])]).verdict.lines[0]
    assert found.level == "slow"
    assert found.text.endswith("; named by SP008.")
    apart = conclude([small], [a_finding("SP008", contrasts=["x"], affects_default=False)]).verdict.lines[0]
    assert apart.level == "info"
