# SPDX-License-Identifier: Apache-2.0
"""What a library is known to cost: ranges from healthy runs, and how a finding stands to them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from slowpath.core.results import MpiResult
from slowpath.findings.conclude import group_of
from slowpath.slowpaths.expected import (
    ExpectedRange,
    HealthyRun,
    expectation,
    held_against_range,
    ranges_of,
    shipped,
)
from support.results import a_finding

LIBRARY = "mpich 5.0.2"


def a_property(ratio: float, **changes: object) -> object:
    return a_finding("SP013", kind="property", ratio=ratio, interval=(ratio * 0.98, ratio * 1.02), **changes)


def ranges(*ratios: float, machines: int = 2) -> list[ExpectedRange]:
    return ranges_of(HealthyRun(LIBRARY, f"m{i % machines}", [a_property(ratio)]) for i, ratio in enumerate(ratios))


@pytest.mark.parametrize(
    ("ratio", "standing"), [(1.1, "inside"), (2.9, "inside"), (3.5, "above"), (0.4, "below"), (0.7, "inside")]
)
def test_a_ratio_far_beyond_what_healthy_machines_showed_is_outside(ratio: float, standing: str) -> None:
    assert expectation(a_property(ratio), LIBRARY, ranges(1.1, 1.5, 1.3)).standing == standing


def test_a_property_beyond_its_range_may_be_a_fault_and_says_what_healthy_machines_show() -> None:
    mpi = MpiResult(mpi="mpich", name="mpich", version="5.0.2")
    known = ranges(1.1, 1.5, 1.3)
    found = held_against_range(a_property(7.0), mpi, known)
    assert (found.kind, group_of(found)) == ("property", "suspicion")
    assert found.text.endswith("Healthy machines show 1.1x to 1.5x in 3 runs on 2 kinds of machine.")
    for status in ("explained", "proven"):
        assert group_of(replace(found, status=status)) == "suspicion", "another healthy machine would look the same"
    for same in (a_property(1.4), a_property(0.2), a_property(7.0, affects_default=False), a_finding(kind="fault")):
        assert held_against_range(same, mpi, known) is same
    assert not held_against_range(a_property(7.0), None, known).above_range


def test_the_shipped_ranges_can_be_read_and_name_their_runs() -> None:
    for one in shipped():
        assert 0 < one.low <= one.high
        assert one.runs >= len(one.machines) >= 1
