# SPDX-License-Identifier: Apache-2.0
"""Rules of order and time: shapes, stalls, kinds of messages and launches, screened factors, neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from collective_plants import WORK, call
from planted_results import KIB, MIB, Planted, witness
from plants import HALF, PLANTS, multiples
from screening_plants import screening, slow_call, slow_where, start_alone

from slowpath.core.results import Finding
from slowpath.core.study_results import CellShapes
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.findings.facts import are_of_two_kinds
from slowpath.findings.observed import factors_of
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.order_and_time.periods import about, periods
from slowpath.slowpaths.order_and_time.sp073_mixed_messages import Mixture, mixtures
from support.results import a_cell
from support.series import Extra, at_random, every, nothing, simulated

LENGTHS = {8: 8e-7, 65536: 7e-6, 1048576: 8e-5}


def named(rule: str) -> Finding:
    run = Planted(1)
    PLANTS[rule](run, True)
    (one,) = findings(run.results(), ROLES)
    return one


def of(extra: Extra, lengths: Mapping[int, float] = LENGTHS, burst_s: float = 0.0) -> Sequence[CellShapes]:
    return list(simulated(lengths, extra, burst_s=burst_s).values())


def test_a_stall_says_which_message_what_it_costs_and_in_what_it_is_counted() -> None:
    one = named("SP026")
    assert one.text.startswith("Every 64th 8 B message is ")
    assert "They make the mean message" in one.text
    assert one.status == "observed"
    assert one.cause is None
    assert len(one.hypotheses) > 1
    assert any("it counts messages, not time" in text for text in one.legs.observed.evidence)
    assert not one.doubts
    assert not any("law" in text for text in one.next)  # there is nothing to sweep
    assert one.ratio == pytest.approx(1 + 2e-4 / 64 / 8e-7, rel=0.1)
    assert group_of(one) == "fault"


def test_an_alternation_is_every_second_message() -> None:
    one = named("SP027")
    assert one.text.startswith("Every second 8 B message is ")
    assert one.about == "every second message"


def test_growth_has_its_amount() -> None:
    one = named("SP030")
    assert "8 B message takes 5" in one.text
    assert " ns [" in one.text


def test_a_stall_of_a_collective_is_named_by_its_call() -> None:
    barrier = {0: a_cell(0, mpi="mpich", experiment="coll", parameters={"collective": "barrier"})}
    (one,) = periods(barrier, of(every(16, 2e-4), {8: 8e-7}), 0.03)
    assert about(one) == "every 16th barrier"


LENGTHS_OF_RANDOM_STALLS = {8: 8e-7, 64 * KIB: 7e-6, MIB: 8e-5}
STALL_S = 0.01


def named_of_random_stalls(extras: Mapping[int, Extra], switches: int | None = 1) -> list[Finding]:
    """What is found where each length has an extra of its own. switches: of each rank in 599 messages."""
    run = Planted(1)
    for length, extra in extras.items():
        (shapes,) = simulated({length: LENGTHS_OF_RANDOM_STALLS[length]}, extra, seed=length).values()
        cell = run.cell(
            {"one_way_s": {"steady": LENGTHS_OF_RANDOM_STALLS[length]}}, pattern="one_way", message_bytes=length
        )
        run.shapes.append(msgspec.to_builtins(shapes) | {"cell": cell})
        if switches is not None:
            run.cells[cell]["witness"] = witness("steady", 0.0)
            run.cells[cell]["witness"]["steady"]["receive"] |= {"involuntary_switches": switches, "operations": 599}
    return findings(run.results(), ROLES)


def alike(share: float, stall_s: float = STALL_S) -> dict[int, Extra]:
    return {length: at_random(share, stall_s) for length in LENGTHS_OF_RANDOM_STALLS}


def _numbered(*those: int) -> Extra:
    """These messages of each launch stall."""
    return lambda number, launch: STALL_S * np.isin(number, those)


@pytest.mark.parametrize("share", [0.02, 0.04, 0.08])
@pytest.mark.parametrize("stall_s", [0.001, 0.01])
def test_rare_stalls_are_a_fault_with_their_share_and_length(share: float, stall_s: float) -> None:
    (one,) = named_of_random_stalls(alike(share, stall_s))
    assert (one.rule, group_of(one)) == ("SP074", "fault")
    assert one.ratio == pytest.approx(1 + share * stall_s / LENGTHS_OF_RANDOM_STALLS[8], rel=0.5)
    assert one.excess_s == pytest.approx(share * stall_s, rel=0.5)


@pytest.mark.parametrize(
    "extras",
    [
        {8: at_random(0.04, STALL_S)},  # one length says nothing
        dict.fromkeys(LENGTHS_OF_RANDOM_STALLS, nothing),
        alike(0.04, 1e-6),  # too small
        {8: at_random(0.04, STALL_S), MIB: at_random(0.04, 4 * STALL_S)},  # stalls of unlike length
        dict.fromkeys(LENGTHS_OF_RANDOM_STALLS, _numbered(300)),  # once in each launch
        dict.fromkeys(LENGTHS_OF_RANDOM_STALLS, _numbered(1, 5, 9, 14)),  # at its begin
        dict.fromkeys(LENGTHS_OF_RANDOM_STALLS, _numbered(*range(290, 310))),  # a phase
    ],
)
def test_less_than_that_is_not_named(extras: Mapping[int, Extra]) -> None:
    assert named_of_random_stalls(extras, switches=0) == []


LENGTHS_OF_MIXED_MESSAGES = {8: 8e-7, 65536: 7e-6}
CELLS = {number: a_cell(number, mpi="mpich") for number in range(2)}
COST_S = 9e-4


def of_of_mixed_messages(
    extra: Extra, lengths: dict[int, float] | None = None, messages: int = 599
) -> Sequence[CellShapes]:
    return list(simulated(lengths or LENGTHS_OF_MIXED_MESSAGES, extra, messages=messages, burst_s=1e-3).values())


def named_of_mixed_messages(extra: Extra) -> list[Mixture]:
    return mixtures(CELLS, of_of_mixed_messages(extra), 0.03)


def planted(switches: int | None) -> list[Finding]:
    run = Planted(1)
    PLANTS["SP073"](run, True)
    if switches is not None:
        for cell in run.cells:
            cell["witness"] = witness("steady", 0.0)
            cell["witness"]["steady"]["receive"] |= {"involuntary_switches": switches, "operations": 599}
    return findings(run.results(), ROLES)


def test_it_says_which_part_is_slow_and_what_the_mean_message_loses() -> None:
    (one,) = planted(None)
    assert one.rule == "SP073"
    assert one.text.split("%")[0].isdigit()
    assert int(one.text.split("%")[0]) == pytest.approx(50, abs=10)
    assert one.ratio == pytest.approx(1 + 0.5 * 2e-5 / 8e-7, rel=0.2)
    assert one.status == "observed"


def test_it_is_a_fault_only_where_ranks_kept_their_processors() -> None:
    (unknown,), (kept,) = planted(None), planted(3)
    assert group_of(unknown) == "suspicion"
    assert group_of(kept) == "fault"
    assert planted(400) == []  # each slow message may be one that lost its processor


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("cost_s", [2e-5, COST_S])
def test_any_share_and_cost_far_above_a_message_is_named(share: float, cost_s: float) -> None:
    (one,) = named_of_mixed_messages(at_random(share, cost_s))
    assert one.mixed.share == pytest.approx(share, abs=0.1)
    assert len(one.cells) == 2


# Intel MPI 2021.18, 10 launches: one-way messages of 1 MiB, by the library's own path and by the network's, us.
OWN = (786, 678, 652, 624, 610, 827, 720, 93.7, 727, 652)
NETWORK = (119, 114, 129, 95.4, 99.3, 98.6, 96.1, 137, 113, 96.8)


def test_one_launch_that_reaches_the_other_side_is_enough() -> None:
    assert are_of_two_kinds(OWN, NETWORK)
    assert not are_of_two_kinds([one for one in OWN if one > 200], NETWORK), "all of them are slow"
    assert not are_of_two_kinds(NETWORK, OWN), "the fast side is no excess"


@pytest.mark.parametrize("ratio", [1.1, 1.5, 3.0, 10.0])
@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
def test_noise_is_not_taken_for_two_kinds(ratio: float, spread: float) -> None:
    source = np.random.default_rng(7)
    seen = [
        are_of_two_kinds(ratio * np.exp(source.normal(0, spread, 10)), np.exp(source.normal(0, spread, 10)))
        for _ in range(400)
    ]
    assert sum(seen) <= 8, "one in fifty at most"


def found(run: Planted) -> list[Finding]:
    return findings(run.results(), ROLES)


def test_the_factors_of_a_screening_are_its_two_valued_parameters_side_by_side() -> None:
    run = Planted()
    screening(run, lambda _: 1.0)
    cells = run.results().cells
    assert len(cells) == 16
    names = [(one.parameter, one.side, one.lower, one.upper) for one in factors_of(cells)]
    assert ("offset_bytes", 0, "0", "1") in names
    assert ("offset_bytes", 1, "0", "1") in names
    assert len(names) == 6


@pytest.mark.parametrize(
    ("offsets", "about"),
    [(("1", "1:0"), "start of the buffer, sender"), (("1", "0:1"), "start of the buffer, receiver")],
)
def test_the_side_whose_start_matters_is_named(offsets: tuple[str, ...], about: str) -> None:
    run = Planted()
    slow_where(lambda point: point["offset_bytes"] in offsets)(run, True)
    only = found(run)
    assert [one.about for one in only] == [about]
    assert "1 B behind a page boundary" in only[0].text
    assert "with 5 other things varied at once, in 16 cells" in only[0].text
    assert only[0].status == "observed"
    assert only[0].ratio == pytest.approx(2, rel=0.1)


def test_two_factors_that_cost_only_together_are_put_on_neither() -> None:
    """As much as half of either alone at first sight, and 1.4x each: what the halves of the runs differ by."""
    run = Planted()
    screening(run, lambda p: 1.5 if (p["order"] != "forward") == (p["direction"] == "forward") else 1.0)
    assert found(run) == []


def test_alone_and_screened_are_one_finding() -> None:
    run = Planted()
    slow_where(lambda point: point["offset_bytes"].split(":")[0] == "1")(run, True)
    first = found(run)[0].id
    start_alone(run, 2e-10)
    assert [one.id for one in found(run) if one.rule == "SP031"] == [first]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("completion", "by MPI_Isend, MPI_Irecv and MPI_Wait are "),
        ("source", "received from MPI_ANY_SOURCE are "),
        ("open_receive", "whose sender has a receive open are "),
        ("memory", "in memory from MPI_Alloc_mem are "),
    ],
)
def test_a_call_that_costs_is_named_in_as_many_cells(name: str, words: str) -> None:
    run = Planted()
    slow_call(name)(run, True)
    (one,) = found(run)
    assert words in one.text
    assert one.ratio == pytest.approx(2, rel=0.1)
    assert "with 7 other things varied at once, in 16 cells" in one.text
    assert one.kind == "fault"
    assert group_of(one) == "suspicion", "it is no fault before it is shown by itself: others were varied at once"


def found_of_neighbours(run: Planted) -> list[Finding]:
    return findings(run.results(), ROLES)


@pytest.mark.parametrize(("granule", "words"), [(64, "64 B"), (4 * KIB, "4 KiB"), (64 * KIB, "64 KiB")])
def test_the_smallest_granule_is_named(granule: int, words: str) -> None:
    run = Planted()
    multiples(run, True, granule=granule)
    (one,) = found_of_neighbours(run)
    assert one.about == f"multiples of {words}"
    assert f"of a multiple of {words}, are " in one.text
    assert one.kind == "fault"


def roots(collective: str, ratio: float, message_s: float = 1e-6, **also: Any) -> list[Finding]:
    run = Planted()
    for length in (8, 64 * KIB):
        first = call(run, 1e-5, collective=collective, message_bytes=length, root="first")
        last = call(run, 1e-5 * ratio, collective=collective, message_bytes=length, root="last")
        run.contrast("root", WORK, (first, "first"), (last, "last"))
        run.cells[last] |= also
        run.cell({HALF: {"steady": message_s}}, pattern="ping_pong", message_bytes=length)
    return found_of_neighbours(run)


def test_the_last_root_is_named_where_it_is_the_slow_one() -> None:
    (one,) = roots("bcast", 1.6)
    assert (one.about, one.kind) == ("bcast, root", "fault")
    assert "whose root is the last rank is " in one.text
    assert one.ratio == pytest.approx(1.6, rel=0.05)
    assert roots("reduce", 1.1) == []
    assert roots("reduce", 0.5) == []
