# SPDX-License-Identifier: Apache-2.0
"""SP074: a few messages that stall at random, and what must not be called so."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import pytest
from planted_results import KIB, MIB, Planted, witness

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.slowpaths.evaluate import findings
from support.series import Extra, at_random, nothing, simulated

LENGTHS = {8: 8e-7, 64 * KIB: 7e-6, MIB: 8e-5}
STALL_S = 0.01


def named(extras: Mapping[int, Extra], switches: int | None = 1) -> list[Finding]:
    """What is found where each length has an extra of its own. switches: of each rank in 599 messages."""
    run = Planted(1)
    for length, extra in extras.items():
        (shapes,) = simulated({length: LENGTHS[length]}, extra, seed=length).values()
        cell = run.cell({"one_way_s": {"steady": LENGTHS[length]}}, pattern="one_way", message_bytes=length)
        run.shapes.append(msgspec.to_builtins(shapes) | {"cell": cell})
        if switches is not None:
            run.cells[cell]["witness"] = witness("steady", 0.0)
            run.cells[cell]["witness"]["steady"]["receive"] |= {"involuntary_switches": switches, "operations": 599}
    return findings(run.results(), ROLES)


def alike(share: float, stall_s: float = STALL_S) -> dict[int, Extra]:
    return {length: at_random(share, stall_s) for length in LENGTHS}


def _numbered(*those: int) -> Extra:
    """These messages of each launch stall."""
    return lambda number, launch: STALL_S * np.isin(number, those)


@pytest.mark.parametrize("share", [0.02, 0.04, 0.08])
@pytest.mark.parametrize("stall_s", [0.001, 0.01])
def test_rare_stalls_are_a_fault_with_their_share_and_length(share: float, stall_s: float) -> None:
    (one,) = named(alike(share, stall_s))
    assert (one.rule, group_of(one)) == ("SP074", "fault")
    assert one.ratio == pytest.approx(1 + share * stall_s / LENGTHS[8], rel=0.5)
    assert one.excess_s == pytest.approx(share * stall_s, rel=0.5)


@pytest.mark.parametrize(
    "extras",
    [
        {8: at_random(0.04, STALL_S)},  # one length says nothing
        dict.fromkeys(LENGTHS, nothing),
        alike(0.04, 1e-6),  # too small
        {8: at_random(0.04, STALL_S), MIB: at_random(0.04, 4 * STALL_S)},  # stalls of unlike length
        dict.fromkeys(LENGTHS, _numbered(300)),  # once in each launch
        dict.fromkeys(LENGTHS, _numbered(1, 5, 9, 14)),  # at its begin
        dict.fromkeys(LENGTHS, _numbered(*range(290, 310))),  # a phase
    ],
)
def test_less_than_that_is_not_named(extras: Mapping[int, Extra]) -> None:
    assert named(extras, switches=0) == []
