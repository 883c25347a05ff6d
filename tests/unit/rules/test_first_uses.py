# SPDX-License-Identifier: Apache-2.0
"""Rules of first uses: who pays, growth with lengths, touched buffers."""

from __future__ import annotations

from typing import Any

import pytest
from first_use_plants import PAGE_S, windows
from planted_results import KIB, MIB, Planted, witness
from plants import ONE_WAY, transfer_s

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.first_use.first_uses import payer
from slowpath.stats.laws.law import Coefficient, FittedLaw, per_page
from support.remedies import find_remedy

LENGTHS = (64 * KIB, 256 * KIB, 512 * KIB, MIB, 4 * MIB)
FAULT_S = 5e-7


def measured(*touches: str, set_up_s: float = 0.0, pages: str = "small") -> Planted:
    """First messages of five lengths, each also with a side untouched: it faults in the receiver, page by page."""
    run = Planted(1)
    for length in LENGTHS:
        cells = {}
        for touch in touches:
            faults = 0 if touch == "write" else length // 4096
            first = transfer_s(length) + set_up_s + faults * FAULT_S
            also = {
                "witness": witness("first", 1e-6 + faults * FAULT_S, faults),
                "allocations": {"pages_observed": {pages if length < 2 * MIB else "small": 8}},
            }
            times = {"first": first, "steady": transfer_s(length)}
            what = {"pattern": "one_way", "pages": "default", "message_bytes": length, "touch": touch}
            cells[touch] = run.cell({ONE_WAY: times}, **what, also=also)
        for touch in touches[1:]:
            a, b = (cells["write"], "write"), (cells[touch], touch)
            run.contrast("touch", ONE_WAY, a, b, phase="first")
    return run


def named(run: Planted) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for one in findings(run.results(), ROLES):
        found.setdefault(one.rule, []).append(one)
    return found


def test_each_side_is_a_finding_of_its_own_with_its_law_and_witness() -> None:
    found = named(measured("write", "write:none", "none:write"))
    assert set(found) == {"SP012"}
    assert {one.about for one in found["SP012"]} == {"first touch, receiver", "first touch, sender"}
    one = next(f for f in found["SP012"] if f.about.endswith("receiver"))
    assert one.text.startswith("The first 4 MiB messages into buffers that the receiver never wrote are ")
    assert one.status == "explained"
    assert one.law.coefficients[-1].value == pytest.approx(FAULT_S / 4096, rel=0.1)
    assert any("page faults per operation of the receiver grow by 1024" in text for text in one.legs.explained.evidence)


def test_its_remedies_are_those_of_its_cause_and_the_first_two_can_be_tried() -> None:
    remedies = [one.name for one in named(measured("write", "write:none"))["SP012"][0].remedies]
    assert set(remedies) == {"touch buffers first", "reuse touched buffers", "keep freed memory", "huge pages"}
    for name in ("touch buffers first", "huge pages"):
        assert find_remedy(name).untried is None
        assert find_remedy(name).control is not None
    slow = {"touch": "write:none", "pages": "default"}
    assert find_remedy("touch buffers first").change(slow) == {"touch": "write", "pages": "default"}
    assert find_remedy("touch buffers first").change({"touch": "write"}) is None


def of(run: Planted) -> list[Finding]:
    return findings(run.results(), ROLES)


def kernel(system_s: float, faults: float) -> dict[str, Any]:
    """A witness of both roles; rank 0 works."""
    each = {"minor_faults_per_op": faults, "major_faults_per_op": 0.0, "operations": 8, "involuntary_switches": 0}
    send = each | {"system_time_s_per_op": system_s, "user_time_s_per_op": 0.0}
    return {"steady": {"send": send, "receive": each | {"system_time_s_per_op": 0.0, "user_time_s_per_op": 0.0}}}


def witnessed(run: Planted, *, more_faults: float) -> None:
    """The longest pair of cells with what the kernel counted."""
    for cell in run.cells:
        length, library = int(cell["parameters"]["window_bytes"]), cell["parameters"]["memory"] == "library"
        pages = length / 4096
        system_s = 1e-7 * pages + (0.9 * PAGE_S * pages if library else 0.0)
        cell["witness"] = kernel(system_s, pages * (1 + more_faults if library else 1))


def test_a_window_says_what_a_page_costs_and_what_a_longer_one_would() -> None:
    run = Planted(1)
    windows(run, True)
    (found,) = of(run)
    assert found.law is not None
    assert found.law.predicted == "held"
    assert found.affects_default
    assert "MPI_Win_allocate_shared adds 1.2" in found.text
    assert "A part of 8 GiB would take 2.5" in found.text
    assert "(extrapolated)" in found.text


@pytest.mark.parametrize(("more_faults", "state"), [(0.0, "shown"), (1.0, "missing")])
def test_only_what_the_pages_themselves_do_not_cost_is_the_library_s(more_faults: float, state: str) -> None:
    """The time goes to the kernel in both: with twice the page faults it may be theirs."""
    run = Planted(1)
    windows(run, True)
    witnessed(run, more_faults=more_faults)
    (found,) = of(run)
    assert [one.name for one in found.rivals] == ["pages themselves", "waiting"]
    assert found.status == "observed"  # calls that wait were not counted: ranks may spin in the kernel


def law(name: str, *intervals: tuple[float, float] | None) -> FittedLaw:
    """A constant, and a term a page for each interval; None: of a single launch."""
    once = Coefficient("constant", None, 1e-5, (9e-6, 1.1e-5), "t", 0.95, ())
    terms = [
        Coefficient(f"b{i}", per_page(4096), 1e-9, one, "t", None if one is None else 0.95, ())
        for i, one in enumerate(intervals)
    ]
    return FittedLaw(name, "t", (once, *terms), (), 0.01, None, None, None, (), 8, 6, fits=name)


@pytest.mark.parametrize(
    ("found", "by"),
    [
        (law("granules", (0.4e-9, 1.6e-9)), "pages"),
        (law("granules", (-0.1e-9, 0.2e-9)), "unknown"),
        (law("granules", (-0.1e-9, 0.2e-9), (1e-9, 2e-9)), "pages"),
        (law("allocation", (-1e-12, 2e-12)), "unknown"),
        (law("bytes", None), "unknown"),
        (law("saturates"), "unknown"),
    ],
)
def test_a_term_that_may_be_0_names_no_payer(found: FittedLaw, by: str) -> None:
    assert payer(found) == by


def only(run: Planted) -> Finding:
    found = findings(run.results(), ROLES)
    assert len(found) == 1, [one.text for one in found]
    return found[0]
