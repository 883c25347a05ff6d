# SPDX-License-Identifier: Apache-2.0
"""Which finding speaks first, and what its line says to do."""

from __future__ import annotations

from typing import Any

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, Finding, Line
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


def test_what_is_proven_speaks_before_what_costs_more() -> None:
    costly = a_finding("SP002", ratio=9.0, excess_s=1.0, remedies=[a_remedy("costly")])
    proven = a_finding("SP008", status="proven", remedies=[a_remedy("sure", verdict="proven")])
    assert conclude([], [costly, proven]).verdict.headline.startswith("Use sure")


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
