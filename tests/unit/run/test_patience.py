# SPDX-License-Identifier: Apache-2.0
"""How long a launch that does not move is waited for where somebody waits for the end of a budget."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.core.plan import Environment, Plan
from slowpath.record.folder import LaunchInfo, read_launches
from slowpath.run.execute import Execution
from slowpath.run.prepare import MpiCommands
from slowpath.run.progress import Quiet
from slowpath.run.schedule import Against, Patience, RunLimits

MakePlan = Callable[..., Plan]


def reached(folder: Path, plan: Plan, commands: MpiCommands, limits: RunLimits) -> list[LaunchInfo]:
    Execution(folder, plan, commands, limits, Quiet(io.StringIO())).execute()
    return read_launches(folder)


@pytest.mark.needs("minutes")
def test_patience_ends_a_launch_that_does_not_move_by_what_it_was_estimated_to_take(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """One line says so, the other cells are measured, and no launch of the rounds to come is left out for its time."""
    heard, plan = io.StringIO(), make_plan(["ok", "hang", "ok"], rounds=3)
    limits = RunLimits(cell_timeout_s=600.0, budget_s=300.0, patience=Patience(launch_s=1.5))
    result = Execution(run_folder, plan, fake_commands, limits, Quiet(heard)).execute()
    infos = sorted(read_launches(run_folder), key=lambda info: info.started)
    assert [info.ended for info in infos] == ["hung", "hung", "ok", "ok"]
    assert (result.cells_ok, result.launches_ok) == (6, 2)
    said = "hung: no progress for 30 s where the longest step was estimated to take 1.50 s, so it was ended"
    assert [line for line in heard.getvalue().splitlines() if "hang" in line] == [
        f"launch {info.launch:06d}: hang 0: {said}" for info in infos[:2]
    ]
    assert all(30.0 <= (info.wall_s or 0.0) < 35.0 for info in infos[:2])


@pytest.mark.needs("minutes")
def test_patience_does_not_end_a_launch_that_is_held_against_others(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """How slow the user's own state is, is the result; a clean launch that hangs is a hang."""
    plan = make_plan(["hang"], environments=[Environment("clean"), Environment("yours")])
    against = Against("clean", "free", times=8.0, least_s=2.0, unknown_s=50.0)
    limits = RunLimits(cell_timeout_s=600.0, against=against, patience=Patience())
    infos = reached(run_folder, plan, fake_commands, limits)
    yours = [info.reason for info in infos if info.environment == "yours"]
    assert yours == [against.words]
    clean = [info for info in infos if info.environment == "clean"]
    assert [info.ended for info in clean] == ["hung", "hung"]
    assert all(info.reason is not None and info.reason.startswith("no progress for 10 s") for info in clean)
