# SPDX-License-Identifier: Apache-2.0
"""The order of launches, their cost, and plans as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.core.errors import RecordError, UsageError
from slowpath.core.plan import Plan
from slowpath.plan.cost import TimeLeft, estimate, fit_budget, kind_of, launch_seconds
from slowpath.record.plan_files import engine_plan_text, read_plan, write_plan

TEXT = """
[[environment]]
name = "default"
[[environment]]
name = "off"
setting = "single_copy_off"
[[placement]]
name = "bound"
[[placement]]
name = "unbound"
bind = "none"
[[cells]]
name = "c"
experiment = "p2p"
environment = "*"
placement = "*"
[cells.parameters]
message_bytes = "8..4KiB*2"
"""


@pytest.fixture
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of(TEXT, rounds=10)


def test_each_round_starts_each_kind_once(plan: Plan) -> None:
    assert [launch.launch for launch in plan.launches] == list(range(1, 41))
    for number in range(1, 11):
        block = [launch for launch in plan.launches if launch.round == number]
        assert len({(launch.environment, launch.placement) for launch in block}) == len(block) == 4
    orders = {tuple((x.environment, x.placement) for x in plan.launches[i : i + 4]) for i in range(0, 40, 4)}
    assert len(orders) > 3, "the order changes from round to round"


def test_each_launch_holds_the_cells_of_its_kind_shuffled(plan: Plan) -> None:
    for launch in plan.launches:
        kind = (launch.environment, launch.placement)
        assert sorted(launch.cells) == [c.cell for c in plan.cells if (c.environment, c.placement) == kind]
    assert len({tuple(launch.cells) for launch in plan.launches}) == len(plan.launches)
    assert len({launch.seed for launch in plan.launches}) == len(plan.launches)


def test_launches_that_a_contrast_compares_hold_the_same_cells(plan_of: Callable[..., Plan]) -> None:
    text = (
        TEXT
        + """
[[cells]]
name = "default alone"
experiment = "p2p"
[cells.parameters]
pattern = "windowed"
"""
    )
    plan = plan_of(text, rounds=2)
    groups = {cell.cell: cell.group for cell in plan.cells}
    for launch in plan.launches:
        assert len({groups[cell] for cell in launch.cells}) == 1
    assert len(plan.launches) == 2 * 5


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("allocations = 20", True),
        ("buffer_bytes = '1GiB'", True),
        ("time_limit_s = 0.0002", False),
        ("samples = 1", False),
    ],
)
def test_cost_follows_the_parameters(plan: Plan, plan_of: Callable[..., Plan], line: str, more: bool) -> None:
    changed = estimate(plan_of(TEXT + line + "\n", rounds=10)).wall_s
    assert (changed > estimate(plan).wall_s) == more


def test_progress_learns_from_finished_launches(plan: Plan) -> None:
    progress = TimeLeft(plan)
    assert progress.remaining_s() == pytest.approx(estimate(plan).wall_s)
    first = plan.launches[0]
    measured = 7 * launch_seconds(plan)[kind_of(first)]
    progress.finished(first, measured)
    assert progress.launches_left == 39
    seconds = 7 * sum(launch_seconds(plan).values())
    assert progress.remaining_s() == pytest.approx(10 * seconds - measured), "all kinds are scaled alike"
    for launch in plan.launches[1:-1]:
        progress.finished(launch, 3.0)
    progress.skipped(plan.launches[-1])
    assert progress.launches_left == 0
    assert progress.remaining_s() == 0


def test_budget_takes_away_whole_rounds(plan: Plan) -> None:
    round_s = sum(launch_seconds(plan).values())
    assert fit_budget(plan, 10 * round_s + 0.001) == (plan, None)
    reduced, note = fit_budget(plan, 6.5 * round_s)
    assert reduced.rounds == 6
    assert reduced.launches == plan.launches[:24]
    assert note is not None
    assert note.startswith("6 of 10 rounds")
    few, warning = fit_budget(plan, 3.5 * round_s)
    assert few.rounds == 3
    assert warning is not None
    assert warning.startswith("warning: only 3 of 10 rounds")
    with pytest.raises(UsageError, match="too small"):
        fit_budget(plan, 1.5 * round_s)


def test_a_plan_is_read_back(plan: Plan, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is not a plan"),
        (b"\xff\xfe", "is not a plan"),
        (b"[]", "is not a plan"),
        (b'{"schema": 1}', "not a valid plan"),
        (b'{"schema": 2}', "another version of slowpath"),
        (b"[" * 100_000, "is not a plan"),
    ],
)
def test_plans_that_cannot_be_read(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "plan.json"
    with pytest.raises(RecordError, match="is missing"):
        read_plan(path)
    path.write_bytes(content)
    with pytest.raises(RecordError, match=expected) as error:
        read_plan(path)
    assert "\n" not in str(error.value)


def test_the_engine_gets_its_cells_in_order(plan: Plan) -> None:
    launch = plan.launches[2]
    lines = engine_plan_text(plan, launch).split("\n")
    assert lines[:3] == ["slowpath-plan 1", "launch 3", f"seed {launch.seed}"]
    assert [int(line.split(" ")[1]) for line in lines[3:-1]] == launch.cells
    assert lines[-1] == ""
    cell = plan.cells[launch.cells[0]]
    assert lines[3].split(" ")[2:] == ["p2p", *(f"{k}={v}" for k, v in cell.parameters.items())]
    rest = engine_plan_text(plan, launch, launch.cells[5:])
    assert [int(line.split(" ")[1]) for line in rest.split("\n")[3:-1]] == launch.cells[5:]
