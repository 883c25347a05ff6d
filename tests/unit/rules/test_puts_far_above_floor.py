# SPDX-License-Identifier: Apache-2.0
"""SP072: puts far above what a message of their length needs, without a second side; nothing healthy is accused."""

from __future__ import annotations

from typing import Any

import pytest
from floor_plants import above_floor, puts_above_floor
from planted_results import KIB, Planted, placement

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.observed import MARGIN
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.one_sided.sp072_puts_far_above_floor import HEALTHY

FLOOR_S = 1e-7
SYNCHRONISE = ("flush_all", "lock", "fence")


def found(run: Planted) -> list[Finding]:
    return [one for one in findings(run.results(), ROLES) if one.rule == "SP072"]


def planted(factor: float, cells: int = 3, message: float = 10.0, **more: Any) -> Planted:
    run = Planted()
    above_floor(run, 8, FLOOR_S, message)
    for synchronise in SYNCHRONISE[:cells]:
        puts_above_floor(run, FLOOR_S, factor, **{"window": "allocate", "synchronise": synchronise} | more)
    return run


def test_what_healthy_libraries_do_is_no_finding() -> None:
    run = Planted()
    for row in HEALTHY:
        assert row.limit == pytest.approx(MARGIN * max(row.highest.values()))
        for synchronise in SYNCHRONISE:
            puts_above_floor(run, FLOOR_S, max(row.highest.values()), window=row.window, synchronise=synchronise)
    assert found(run) == []


def test_the_finding_says_how_far_not_why_and_names_what_else_it_may_be() -> None:
    (one,) = found(planted(170.0))
    assert (one.status, one.cause, one.affects_default, one.kind) == ("observed", None, True, "fault")
    assert (one.ratio, one.slow_cells) == (170.0, [1, 2, 3])
    assert one.excess_s == pytest.approx(1.7e-5, rel=0.1)
    assert "take 170.0x [161.5, 178.5] what this machine needs for such a message" in one.text
    assert "in 3 of 3 cells of puts" in one.text
    assert [rival.name for rival in one.rivals] == ["synchronisation", "messages are as slow"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cells": 1}, "one cell alone may be slow by something of its own"),
        ({"over": {"calm_launches": 2}}, "two calm launches are too few"),
        ({"over": {"fastest_interval": [3.0, 900.0]}}, "the fastest bursts are healthy: the machine was busy"),
        ({"puts": 1}, "a put alone is mostly synchronisation"),
        ({"message_bytes": 64 * KIB}, "no healthy library was measured with this length"),
        ({"window": "dynamic"}, "nor with this kind of window"),
        ({"datatype": "indexed"}, "nor with this datatype"),
        ({"operation": "accumulate"}, "nor with this operation"),
        ({"also_placement": True}, "ranks share a processor"),
    ],
)
def test_what_is_not_said(change: dict[str, Any], why: str) -> None:
    change = dict(change)
    shared = change.pop("also_placement", False)
    run = planted(170.0, **change)
    if shared:
        run.placements[0] = placement("bound", "0", "0")
    assert found(run) == [], why
