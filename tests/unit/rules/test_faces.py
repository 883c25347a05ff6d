# SPDX-License-Identifier: Apache-2.0
"""SP015 of the experiment exchange: a subarray is held against the program's own copy, never against packed faces."""

from __future__ import annotations

import pytest
from planted_results import Planted

from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings


@pytest.mark.parametrize(
    ("fast", "slow", "named"),
    [
        ("packed", "derived", True),
        ("contiguous", "derived", False),
        ("contiguous", "packed", False),
        ("derived", "packed", False),
    ],
)
def test_only_a_subarray_slower_than_a_copy_is_named(fast: str, slow: str, named: bool) -> None:
    run = Planted(1, noise=0.001)
    cells = [
        run.cell({"exchange_s": {"steady": time_s}}, experiment="exchange", pattern="halo", datatype=datatype, box_x=64)
        for datatype, time_s in ((fast, 20e-6), (slow, 40e-6))
    ]
    run.contrast("datatype", "exchange_s", (cells[0], fast), (cells[1], slow))
    found = findings(run.results(), ROLES)
    assert [one.rule for one in found] == (["SP015"] if named else [])
    for one in found:
        assert one.text.startswith("Messages of datatype derived are ")
        assert "slower than the same faces copied by the program" in one.text
