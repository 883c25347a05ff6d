# SPDX-License-Identifier: Apache-2.0
"""Rules of first uses: who pays, growth with ranks and lengths, touched buffers, numbered calls."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from collective_plants import CALLS, opening
from first_use_plants import PAGE_S, windows
from planted_results import KIB, MIB, Planted, placement, witness
from plants import ONE_WAY, transfer_s

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.collectives import numbered as change_points
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


def over_ranks(run: Planted, each_s: float, *, cores: int = 99) -> None:
    """A first round over all peers with 2 to 16 ranks, in placements of their own."""
    run.placements = []
    for ranks in (2, 3, 4, 6, 8, 12, 16):
        name = f"bound, {ranks} ranks"
        run.placements.append(placement(name, *(str(rank % cores) for rank in range(ranks))) | {"ranks": ranks})
        times = {"peers_s": {"first": 1e-3 + each_s * ranks, "steady": 1e-5}}
        run.cell(times, experiment="first_use", pattern="peer", order="ascending", also={"placement": name})


def test_a_first_round_over_more_peers_is_a_line_that_predicts() -> None:
    run = Planted(1)
    over_ranks(run, 2e-3)
    (found,) = of(run)
    assert (found.rule, found.status) == ("SP043", "observed")
    assert found.law is not None
    assert found.law.predicted == "held"
    assert found.law.coefficients[-1].value == pytest.approx(2e-3, rel=0.1)
    assert "At 1024 ranks it would take 2." in found.text
    assert "extrapolated" in found.text


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
        (law("bytes", None), "message"),
        (law("constant"), "constant"),
        (law("saturates"), "unknown"),
    ],
)
def test_a_term_that_may_be_0_names_no_payer(found: FittedLaw, by: str) -> None:
    assert payer(found) == by


def only(run: Planted) -> Finding:
    found = findings(run.results(), ROLES)
    assert len(found) == 1, [one.text for one in found]
    return found[0]


def test_the_call_is_exact_and_its_variable_proves_it() -> None:
    run = Planted()
    opening(run, True)
    found = only(run)
    assert "at call 5 of each communicator" in found.text
    assert found.status == "proven"
    assert found.legs.explained.state == "shown"
    assert [one.name for one in found.rivals] == ["bytes", "time", "warm-up of the process"]
    assert any("predicted call 9, seen 9" in line for line in found.legs.explained.evidence)
    assert found.remedies[0].name == "later opening of shared-memory collectives in MPICH"
    assert found.remedies[0].side_effects, "it closes the faster path for all communicators, and has to say so"
    assert "few calls" in found.remedies[0].text
    assert any("alltoall" in line and "unchanged" in line for line in found.legs.proven.evidence)


def test_the_set_up_is_what_it_costs_and_what_it_saves() -> None:
    run = Planted()
    opening(run, True)
    found = only(run)
    # 45 + 3 x 5 us less four calls of 0.3 us, for 0.8 us saved by each later call: 4 + 58.8 / 0.8 = 77.5
    pays = re.search(r"it pays from call (\d+) on", found.text)
    assert pays is not None
    assert 74 <= int(pays[1]) <= 82


@pytest.mark.parametrize(
    ("at", "setup"),
    [(at, setup) for at in (3, 5, 9, 17) for setup in ([], [40.0], [40.0, 5.0, 5.0, 5.0]) if setup or at > 3],
)
def test_each_opening_is_found_where_it_is(at: int, setup: list[float]) -> None:
    random = np.random.default_rng(at)
    row = ([1.4, *[1.1] * (at - 2), *setup] + [0.3] * CALLS)[:CALLS]
    times_s = np.array(row) * np.exp(random.normal(0, 0.03, (5, CALLS)))
    times_s[0, 2] *= 30  # a launch that something disturbed
    found = change_points.opening(times_s)
    assert found is not None
    assert (found.number, found.settled) == (at, at + len(setup))


def test_noise_opens_nothing() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        times_s = np.exp(random.normal(0, 0.1, (5, CALLS)))
        times_s[random.random(times_s.shape) < 0.03] *= 20
        times_s[:, 0] *= 2
        assert change_points.opening(times_s) is None
        assert change_points.closing(times_s) is None
