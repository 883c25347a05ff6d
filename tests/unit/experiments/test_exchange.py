# SPDX-License-Identifier: Apache-2.0
"""The experiment `exchange`: what its blocks are made into, what its cells cost, and its shipped campaign."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from slowpath.core.files import data_folder
from slowpath.core.plan import Plan
from slowpath.experiments.exchange import EXCHANGE, box_points
from slowpath.experiments.measured import Absent, LaunchContext, MetricSamples, SampleBlock
from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand

CELL = {
    "pattern": "halo",
    "box_x": "32",
    "box_y": "auto",
    "box_z": "auto",
    "point_bytes": "8",
    "datatype": "derived",
    "samples": "60",
    "time_limit_s": "0.02",
    "warmup_s": "0.005",
    "validate": "on",
}
"""A cell of the campaign, as the planner writes it."""


def block(rank: int, times_ns: Sequence[int], phase: str = "steady", batch: int = 1) -> SampleBlock:
    return SampleBlock(rank, phase, 0, batch, 1, np.array(times_ns, dtype=np.int64), None)


def steady(blocks: Sequence[SampleBlock], ranks: int) -> MetricSamples | Absent:
    found = EXCHANGE.derive(CELL, blocks, LaunchContext(size=ranks, one_clock=True))["exchange_s"]
    return found if isinstance(found, Absent) else found["steady"]


def test_the_slowest_rank_counts_sample_by_sample() -> None:
    found = steady([block(0, [400, 800]), block(1, [600, 200]), block(2, [100, 100])], ranks=3)
    assert isinstance(found, MetricSamples)
    assert found.values_s == pytest.approx([600e-9, 800e-9])


def test_a_batch_is_divided_by_its_exchanges() -> None:
    found = steady([block(0, [400], batch=4), block(1, [800], batch=4)], ranks=2)
    assert isinstance(found, MetricSamples)
    assert (found.values_s.tolist(), found.batch) == (pytest.approx([200e-9]), 4)


@pytest.mark.parametrize("more", [{"box_x": "128"}, {"point_bytes": "800"}, {"warmup_s": "0.1"}])
def test_cost_follows_the_parameters(more: dict[str, str]) -> None:
    assert EXCHANGE.seconds(CELL, 2) < EXCHANGE.seconds({**CELL, **more}, 2)


@pytest.fixture(scope="module")
def campaign() -> Plan:
    """The shipped campaign, planned with the recorded description of the engine."""
    description = msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes())
    return expand(load("halo"), description, [MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))], seed=1)


def test_the_campaign_holds_each_box_in_each_datatype(campaign: Plan) -> None:
    boxes = [(box_points(cell.parameters), cell.parameters["datatype"]) for cell in campaign.cells]
    expected = {((n, n, n), kind) for n in (16, 32, 64, 128) for kind in ("contiguous", "packed", "derived")}
    assert set(boxes) == expected
    assert len(campaign.contrasts) == 4 * 3 + 1


def test_only_the_datatype_is_accused(campaign: Plan) -> None:
    accused = {(one.a.value, one.b.value) for one in campaign.contrasts if not (one.explains or one.control)}
    assert accused == {("packed", "derived")}
