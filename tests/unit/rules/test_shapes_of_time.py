# SPDX-License-Identifier: Apache-2.0
"""Rules about the order of time: what they say, and what a timer or a slower machine must not be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from planted_results import Planted
from plants import PLANTS, series

from slowpath.core.results import Finding
from slowpath.core.shape_results import CellShapes
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.order_and_time.periods import about, is_shown, periods
from slowpath.slowpaths.order_and_time.sp030_growth import lengthenings
from support.results import a_cell, a_metric, an_estimate
from support.series import Extra, every, growing, simulated

LENGTHS = {8: 8e-7, 65536: 7e-6, 1048576: 8e-5}
CELLS = {number: a_cell(number, mpi="mpich") for number in range(3)}


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


def test_a_short_stall_may_be_a_busy_machine_until_it_is_explained() -> None:
    run = Planted(1)
    series(run, every(64, 2e-5))
    (one,) = findings(run.results(), ROLES)
    assert one.rule == "SP026"
    assert group_of(one) == "suspicion"


def test_an_alternation_is_every_second_message() -> None:
    one = named("SP027")
    assert one.text.startswith("Every second 8 B message is ")
    assert one.about == "every second message"


def test_one_length_leaves_a_timer_open() -> None:
    (one,) = periods(CELLS, of(every(64, 2e-4), {8: 8e-7}), 0.03)
    assert one.counted == "either"
    (both,) = periods(CELLS, of(every(64, 2e-4)), 0.03)
    assert both.counted == "messages"
    assert len(both.seen) == 3


def test_one_time_and_two_numbers_are_a_timer_s() -> None:
    """One stall each 85 us: the 58th message that takes 1.3 us with its barrier, and the tenth of 7.5 us."""
    shapes = [
        *of(every(58, 1e-5), {8: 8e-7}),
        *of(every(10, 1e-5), {65536: 7e-6}),
    ]
    numbered = [_with_cell(one, cell) for cell, one in enumerate(shapes)]
    assert periods(CELLS, numbered[:1], 0.03)
    assert periods(CELLS, numbered, 0.03) == []


def test_growth_has_its_amount() -> None:
    one = named("SP030")
    assert "8 B message takes 5" in one.text
    assert " ns [" in one.text


def test_a_machine_that_becomes_slower_is_no_growth_of_the_library() -> None:
    """Each cell a third slower at its end than at its begin."""

    def slower(lengths: dict[int, float]) -> list[CellShapes]:
        (base_s,) = lengths.values()
        return list(of(lambda number, _: base_s * number / 1800, lengths))

    shapes = [_with_cell(slower({length: base_s})[0], cell) for cell, (length, base_s) in enumerate(LENGTHS.items())]
    assert all(one.growth is not None and one.growth.p < 0.01 for one in shapes)
    assert lengthenings(CELLS, shapes) == []
    assert lengthenings(CELLS, of(growing(5e-9))) != []


def _with_cell(one: CellShapes, cell: int) -> CellShapes:
    return CellShapes(**{**{name: getattr(one, name) for name in one.__struct_fields__}, "cell": cell})


def test_a_small_alternation_at_one_length_may_be_a_timer_s_and_is_none() -> None:
    (one,) = periods(CELLS, of(every(2, 0.2 * 8e-7), {8: 8e-7}), 0.03)
    assert one.counted == "either"
    assert not is_shown(one)
    (large,) = periods(CELLS, of(every(2, 8e-7), {8: 8e-7}), 0.03)
    assert is_shown(large)
    (both,) = periods(CELLS, of(every(2, 1.6e-7), {8: 8e-7, 64: 1.6e-6}), 0.03)
    assert both.counted == "messages"
    assert is_shown(both)


def test_few_messages_and_steps_of_the_clock_show_no_alternation() -> None:
    few = list(simulated({8: 8e-7}, every(2, 8e-7), messages=40).values())
    (one,) = periods(CELLS, few, 0.03)
    assert not is_shown(one)
    (large,) = periods(CELLS, of(every(2, 8e-7), {8: 8e-7}), 0.03)
    coarse = an_estimate(quantum_ratio=0.6)
    cell = a_cell(0, mpi="mpich", metrics={large.metric: a_metric(phases={"steady": coarse})})
    seen = (replace(large.seen[0], cell=cell), *large.seen[1:])
    assert not is_shown(replace(large, seen=seen))


def test_a_stall_of_a_collective_is_named_by_its_call() -> None:
    barrier = {0: a_cell(0, mpi="mpich", experiment="coll", parameters={"collective": "barrier"})}
    (one,) = periods(barrier, of(every(16, 2e-4), {8: 8e-7}), 0.03)
    assert about(one) == "every 16th barrier"


def test_messages_and_collectives_are_asked_apart() -> None:
    """A length that stalls with another number at the same time makes a timer of it; a collective does not."""
    cells = {**CELLS, 1: a_cell(1, mpi="mpich", experiment="coll", parameters={"collective": "barrier"})}
    shapes = [
        *of(every(58, 1e-5), {8: 8e-7}),
        *of(every(10, 1e-5), {65536: 7e-6}),
    ]
    numbered = [_with_cell(one, cell) for cell, one in enumerate(shapes)]
    assert [about(one) for one in periods(cells, numbered, 0.03)] == ["every 58th message", "every 10th barrier"]
