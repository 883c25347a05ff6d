# SPDX-License-Identifier: Apache-2.0
"""Cells that take many times as long as estimated do not take the others' rounds."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from slowpath.core.plan import Plan
from slowpath.plan.cost import FEWEST_ROUNDS, launch_parts_s
from slowpath.record.folder import read_launches
from slowpath.run.execute import CellTimes, Execution
from slowpath.run.prepare import MpiCommands
from slowpath.run.progress import Quiet
from slowpath.run.schedule import RunLimits

MakePlan = Callable[..., Plan]
LENGTHS = (8, 8, 2**20, 2**20, 2**20)


def plan_of_lengths(make_plan: MakePlan) -> Plan:
    plan = make_plan(["ok"] * len(LENGTHS), rounds=10)
    sized = [
        replace(cell, parameters={"message_bytes": str(length)})
        for cell, length in zip(plan.cells, LENGTHS, strict=True)
    ]
    return replace(plan, cells=sized)


def estimated_s(plan: Plan) -> float:
    """Of a cell."""
    ((_, cells_s),) = launch_parts_s(plan).values()
    assert len(set(cells_s)) == 1
    return cells_s[0]


def held(times: CellTimes, plan: Plan, launch: int, left_s: float) -> tuple[int, ...]:
    planned = plan.launches[launch]
    return times.held(planned, planned.cells, plan.launches[launch:], left_s)


def test_every_launch_measures_all_cells_where_they_take_what_was_estimated(make_plan: MakePlan) -> None:
    plan = plan_of_lengths(make_plan)
    times, each_s = CellTimes(plan), estimated_s(plan)
    assert held(times, plan, 0, left_s=0.1) == tuple(plan.launches[0].cells)
    times.saw(plan.launches[0], {cell.cell: 2 * each_s for cell in plan.cells})
    assert held(times, plan, 1, left_s=0.1) == tuple(plan.launches[1].cells)


def test_the_slowest_are_put_off_until_the_others_have_their_rounds(make_plan: MakePlan) -> None:
    plan = plan_of_lengths(make_plan)
    times, each_s = CellTimes(plan), estimated_s(plan)
    took_s = {cell.cell: each_s * (1000 if cell.cell == 3 else 1) for cell in plan.cells}
    (start_s, _) = next(iter(launch_parts_s(plan).values()))
    fits_s = 1.2 * FEWEST_ROUNDS * (start_s + len(took_s) * each_s)
    for launch in range(FEWEST_ROUNDS):
        expected = {0, 1, 2, 3, 4} - ({3} if launch else set())
        assert set(held(times, plan, launch, fits_s)) == expected
        times.saw(plan.launches[launch], {cell: took_s[cell] for cell in expected})
    assert set(held(times, plan, FEWEST_ROUNDS, fits_s)) == {0, 1, 2, 3, 4}


def test_a_launch_that_stands_still_is_hung_and_not_slow(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """Its cell is named, and the others are measured in a launch that goes on."""
    limits = RunLimits(cell_timeout_s=3.0, fair_s=60.0)
    Execution(run_folder, make_plan(["ok", "hang", "ok"]), fake_commands, limits, Quiet(io.StringIO())).execute()
    first, second = read_launches(run_folder)
    assert (first.ended, [cell.cell for cell in first.failed_cells]) == ("hung", [1])
    assert second.continues == first.launch
