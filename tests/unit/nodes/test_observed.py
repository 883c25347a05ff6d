# SPDX-License-Identifier: Apache-2.0
"""From blocks of launches to values of nodes and pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from slowpath.experiments.measured import LaunchContext, LaunchRecord, MetricSamples, SampleBlock
from slowpath.experiments.nodes import FASTEST, MEAN, NODES
from slowpath.studies.nodes.infer import observe

CELLS = {0: {"pattern": "work"}, 1: {"pattern": "latency"}, 2: {"pattern": "stream"}, 3: {"pattern": "single_copy"}}


def block(rank: int, times_ns: Sequence[int], part: int = 0, batch: int = 1) -> SampleBlock:
    return SampleBlock(rank, "steady", 0, batch, 0, np.array(times_ns, dtype=np.int64), None, part)


@dataclass
class Launch:
    """As much of a LaunchRecord as is read. Ranks 0 and 1 are on n1, rank 2 on n2."""

    blocks: Mapping[int, Sequence[SampleBlock]]
    number: int = 1
    cell_notes: Mapping[int, str] = field(default_factory=dict)

    @property
    def info(self) -> Any:
        return SimpleNamespace(launch=self.number)

    @property
    def events(self) -> Any:
        return SimpleNamespace(ranks=[SimpleNamespace(rank=r, host=h) for r, h in enumerate(("n1", "n1", "n2"))])

    def cell_blocks(self, cells: Sequence[int]) -> dict[int, list[SampleBlock]]:
        return {cell: list(self.blocks.get(cell, ())) for cell in cells}


def seen_in(*launches: Launch) -> Any:
    return observe(cast(list[LaunchRecord], launches), CELLS)


def test_work_gives_the_clock_the_processors_and_those_that_share() -> None:
    fastest, mean = [100, 100, 101, 102], [101, 103, 210, 200]
    seen = seen_in(Launch({0: [block(0, fastest, FASTEST), block(0, mean, MEAN)]}))
    assert seen.alone["clock"]["n1"][1] == pytest.approx(100e-9)
    assert seen.alone["processors"]["n1"][1] == pytest.approx(153.5e-9)
    assert seen.busy["n1"] == (2, 4)


def test_pairs_are_those_of_the_nodes_of_both_ranks() -> None:
    launch = Launch({1: [block(0, [4000, 4400, 4200], part=2, batch=2)], 2: [block(2, [8000], part=0, batch=4)]})
    seen = seen_in(launch)
    assert seen.between["latency"] == {("n1", "n2"): {1: pytest.approx(1050e-9)}}
    assert seen.between["stream"] == {("n2", "n1"): {1: pytest.approx(2000e-9)}}
    assert seen.nodes == ["n1", "n2"]


def test_a_node_without_a_measure_has_its_reason() -> None:
    seen = seen_in(Launch({3: [block(0, [100])]}, cell_notes={3: "process_vm_readv is refused"}))
    assert seen.reasons == {"n2": "single_copy is missing: process_vm_readv is refused"}


def test_a_cell_of_the_report_has_one_value_for_each_node() -> None:
    blocks = [block(0, [100, 300, 200]), block(2, [400])]
    found = NODES.derive({"pattern": "copy"}, blocks, LaunchContext(size=3, one_clock=False))["node_copy_s"]
    assert isinstance(found, dict)
    steady = found["steady"]
    assert isinstance(steady, MetricSamples)
    assert steady.values_s == pytest.approx([200e-9, 400e-9])
