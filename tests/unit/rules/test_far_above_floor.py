# SPDX-License-Identifier: Apache-2.0
"""SP025: far above what the machine needs, without a second side; nothing healthy is accused."""

from __future__ import annotations

from typing import Any

import pytest
from floor_plants import above_floor
from planted_results import KIB, MIB, Planted, placement

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.observed import MARGIN
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.paths.sp025_far_above_floor import HEALTHY

FLOOR_S = 3e-7


def found(run: Planted) -> list[Finding]:
    return [one for one in findings(run.results(), ROLES) if one.rule == "SP025"]


def planted(factor: float, lengths: tuple[int, ...] = (8, 512, 4 * KIB), **more: Any) -> Planted:
    run = Planted()
    for length in lengths:
        above_floor(run, length, FLOOR_S, factor, **more)
    return run


@pytest.mark.parametrize("row", HEALTHY, ids=lambda row: f"{row.ends}-{row.up_to_bytes}")
def test_the_limit_lies_above_every_healthy_library(row: Any) -> None:
    assert row.limit == pytest.approx(MARGIN * max(row.highest.values()))
    assert min(row.highest.values()) > 0.5  # a floor is a lower limit


def test_what_healthy_libraries_do_is_no_finding() -> None:
    run = Planted()
    for row in HEALTHY:
        length = min(row.up_to_bytes, 16 * MIB)
        above_floor(run, length, FLOOR_S, max(row.highest.values()))
    assert found(run) == []


def test_far_above_says_how_far_and_not_why() -> None:
    (one,) = found(planted(700.0))
    assert (one.status, one.cause, one.affects_default) == ("observed", None, True)
    assert one.ratio == 700.0
    assert one.slow_cells == [0, 1, 2]
    assert "take 700x [665, 735] what this machine needs" in one.text
    assert "where one copy out of shared memory takes 300 ns" in one.text
    assert "your settings" in one.hypotheses[0]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"lengths": (8,)}, "one cell alone may be slow by something of its own"),
        ({"over": {"calm_launches": 2}}, "two calm launches are too few"),
        ({"over": {"fastest_interval": [3.0, 900.0]}}, "the fastest messages are healthy: the machine was busy"),
        ({"datatype": "vector"}, "a datatype has a cost of its own"),
        ({"live_buffers": 64}, "buffers in turn have a cost of their own"),
        ({"also_placement": True}, "ranks share a processor"),
    ],
)
def test_what_is_not_said(change: dict[str, Any], why: str) -> None:
    shared = change.pop("also_placement", False)
    run = planted(700.0, **change)
    if shared:
        run.placements[0] = placement("bound", "0", "0")
    assert found(run) == [], why


def test_a_forced_state_without_another_side_is_named() -> None:
    run = Planted()
    name = run.environment("network path", "network_path", MPIR_CVAR_NO_LOCAL="1")
    for length in (8, 512):
        above_floor(run, length, FLOOR_S, 700.0, environment=name)
    (one,) = found(run)
    assert one.affects_default is None
