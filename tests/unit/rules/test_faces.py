# SPDX-License-Identifier: Apache-2.0
"""SP015: the same faces or blocks as a datatype, in one piece, and as the program packs them."""

from __future__ import annotations

import pytest
from planted_results import Planted

from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings

HALF, MIB = "half_round_trip_latency_s", 2**20


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


@pytest.mark.parametrize(
    ("fast", "slow", "words"),
    [
        ("contiguous", "vector", "vector are"),
        ("contiguous", "vector:contiguous", "vector on the sender alone are"),
        ("contiguous", "contiguous:indexed", "indexed on the receiver alone are"),
        ("contiguous", "vector:indexed", "vector on the sender and indexed on the receiver are"),
        ("vector:contiguous", "vector", None),
        ("vector:contiguous", "contiguous", None),
    ],
)
def test_the_side_that_has_the_blocks_is_named(fast: str, slow: str, words: str | None) -> None:
    run = Planted(1, noise=0.001)
    cells = [
        run.cell(
            {"one_way_s": {"steady": time_s}}, pattern="one_way", datatype=datatype, blocks=64, message_bytes=65536
        )
        for datatype, time_s in ((fast, 20e-6), (slow, 40e-6))
    ]
    run.contrast("datatype", "one_way_s", (cells[0], fast), (cells[1], slow))
    found = [one for one in findings(run.results(), ROLES) if one.rule == "SP015"]
    assert bool(found) == (words is not None)
    for one in found:
        assert f"messages of datatype {words} " in one.text
