# SPDX-License-Identifier: Apache-2.0
"""Environments whose launches count calls instead of taking times."""

from __future__ import annotations

from collections.abc import Callable

from slowpath.core.plan import WITNESSED_ROUNDS, Plan, twins_of

ENVIRONMENTS = """
[[environment]]
name = "default"
[[environment]]
name = "counted"
witness = true
[[environment]]
name = "off"
setting = "single_copy_off"
[[environment]]
name = "off, counted"
setting = "single_copy_off"
witness = true
"""
CELLS = """
[[cells]]
name = "long"
experiment = "p2p"
environment = {environments}
[cells.parameters]
message_bytes = ["1KiB", "1MiB"]
"""
CONTRAST = """
[[contrast]]
name = "x"
question = "?"
cells = "long"
axis = "{axis}"
a = "{a}"
b = "{b}"
metric = "half_round_trip_latency_s"
"""
ALL = CELLS.format(environments='"*"')


def test_a_witnessed_cell_counts_for_its_equal(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS + ALL)
    twins = twins_of(plan)
    by_number = {cell.cell: cell for cell in plan.cells}
    assert len(twins.witnessed) == 4
    assert not twins.stand_alone
    for timed, counting in twins.counted_by.items():
        (other,) = (by_number[number] for number in counting)
        assert other.key == by_number[timed].key
        assert other.environment == {"default": "counted", "off": "off, counted"}[by_number[timed].environment]


def test_only_the_first_rounds_are_witnessed(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS + ALL, rounds=5)
    rounds = [launch.round for launch in plan.launches if launch.environment == "counted"]
    assert rounds == list(range(1, WITNESSED_ROUNDS + 1))
    assert sum(launch.environment == "default" for launch in plan.launches) == 5


def test_to_count_changes_nothing_for_timed_launches(plan_of: Callable[..., Plan]) -> None:
    """Two groups that share launches go on sharing them when one of them is witnessed, too."""
    other = ALL.replace('"long"', '"more"').replace('"*"', '["default", "off"]')
    plan = plan_of(ENVIRONMENTS + CELLS.format(environments='["default", "off", "counted"]') + other)
    assert {len(launch.cells) for launch in plan.launches if launch.environment == "default"} == {4}


def test_contrasts_leave_witnessed_cells_out(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS + ALL + CONTRAST.format(axis="message_bytes", a="1KiB", b="1MiB"))
    sides = {side.cell for contrast in plan.contrasts for side in (contrast.a, contrast.b)}
    assert len(plan.contrasts) == 2
    assert not sides & twins_of(plan).witnessed
