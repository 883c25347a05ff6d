# SPDX-License-Identifier: Apache-2.0
"""The experiment `nccl`: what its blocks are made into, what its cells cost, and its shipped campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from slowpath.core.plan import Plan
from slowpath.core.resources import data_folder
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import Absent, Derived, MetricSamples, SampleBlock
from slowpath.experiments.nccl.experiment import (
    INIT,
    INIT_PARTS,
    NCCL,
    REST,
    STEPS,
    SUBMIT,
    TOTAL,
    WAIT,
    WHOLE,
    named_ratio,
    slowest_rank,
)
from slowpath.plan.campaign import load
from slowpath.plan.cost import estimate
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse

CELL = {
    "pattern": "calls",
    "library": "nccl",
    "operation": "allreduce",
    "message_bytes": "1048576",
    "buffer_bytes": "call",
    "overalloc_bytes": "0",
    "allocations": "3",
    "samples": "100",
    "time_limit_s": "0.1",
    "warmup_s": "0.01",
    "validate": "on",
}
FIRST_USE = {**CELL, "pattern": "first_use"}
MS = 1_000_000
# As measured on two H200s, in ms: init 1157 of which NCCL names all but 10, the first call 149.
OF_NCCL = {"load": 40, "unique_id": 1, "share_id": 2, "init": 1157, "one_element": 140, "first_call": 9}
OF_INIT = {"init_kernels": 200, "init_alloc": 680, "init_bootstrap": 60, "init_connections": 200, "init_rest": 10}


def block(rank: int, part: int, times_ns: Sequence[int], phase: str = "first", allocation: int = 0) -> SampleBlock:
    return SampleBlock(rank, phase, allocation, 1, 0, np.array(times_ns, dtype=np.int64), None, part)


def steps(rank: int, took_ms: Mapping[str, int], whole_ms: int | None = None) -> list[SampleBlock]:
    """A first use of one rank."""
    whole = sum(took_ms[name] for name in took_ms if name in STEPS) if whole_ms is None else whole_ms
    parts = {**STEPS, **INIT_PARTS}
    return [block(rank, WHOLE, [whole * MS]), *(block(rank, parts[name], [ms * MS]) for name, ms in took_ms.items())]


def derived(cell: Mapping[str, str], blocks: Sequence[SampleBlock], ranks: int = 2) -> Derived:
    return NCCL.derive(cell, blocks, LaunchContext(size=ranks, one_clock=True))


def first(found: Derived, name: str) -> float:
    samples = found[name]
    assert isinstance(samples, dict)
    return float(samples["first"].values_s[0])


def test_the_slowest_rank_counts_sample_by_sample_and_part_by_part() -> None:
    times = {WHOLE: ([9, 5], [6, 8]), SUBMIT: ([2, 1], [3, 1]), WAIT: ([7, 4], [3, 7])}
    blocks = [block(rank, part, times[part][rank], "steady") for part in times for rank in (0, 1)]
    found = derived(CELL, blocks)
    values = {name: one["steady"].values_s.tolist() for name, one in found.items() if isinstance(one, dict)}
    assert values == {
        "gpu_call_s": pytest.approx([9e-9, 8e-9]),
        "gpu_submit_s": pytest.approx([3e-9, 1e-9]),
        "gpu_wait_s": pytest.approx([7e-9, 7e-9]),
    }


def test_each_fresh_pair_of_buffers_is_a_first_call() -> None:
    blocks = [block(rank, WHOLE, [10 * (1 + n) + rank], allocation=n) for n in range(3) for rank in (0, 1)]
    found = derived(CELL, blocks)["gpu_call_s"]
    assert isinstance(found, dict)
    assert found["first"].values_s == pytest.approx([11e-9, 21e-9, 31e-9])
    assert "steady" not in found


@pytest.mark.parametrize("other", [[], [block(1, WHOLE, [6], "steady")]], ids=["no block", "fewer samples"])
def test_without_the_times_of_every_rank_there_is_none(other: list[SampleBlock]) -> None:
    found = derived(CELL, [block(0, WHOLE, [4, 8], "steady"), *other])["gpu_call_s"]
    assert found == Absent("the blocks of the ranks do not match")


def test_steps_are_those_of_the_rank_that_took_longest() -> None:
    slower = {**OF_NCCL, "share_id": 30, "init": 1150}
    found = derived(FIRST_USE, [*steps(0, OF_NCCL), *steps(1, slower)])
    assert first(found, "gpu_first_use_s") == pytest.approx(1.370)
    taken = {name: first(found, f"gpu_{name}_s") for name in OF_NCCL}
    assert taken == pytest.approx({name: 1e-3 * slower[name] for name in OF_NCCL})


def test_of_ranks_that_end_together_the_first_counts() -> None:
    """What rank 0 alone does must not be its time in one launch and nothing in the next, by the clock's noise."""
    others = {**OF_NCCL, "unique_id": 0, "share_id": 4}
    found = derived(FIRST_USE, [*steps(0, OF_NCCL), *steps(1, others)])
    assert first(found, "gpu_unique_id_s") == pytest.approx(1e-3)
    assert slowest_rank({0: 989, 1: 1000, 2: 995}) == 1
    assert slowest_rank({}) is None


def test_nccls_own_total_is_rounded_once_and_not_with_each_word() -> None:
    took = {WHOLE: 100, INIT: 60, STEPS["first_call"]: 40, INIT_PARTS["init_alloc"]: 30, REST: 10, TOTAL: 60}
    assert named_ratio(took) == pytest.approx(0.9)
    assert named_ratio({**took, TOTAL: 90}) == pytest.approx(1)


def test_steps_that_were_not_done_are_missing_with_the_reason() -> None:
    found = derived({**FIRST_USE, "library": "mpi"}, steps(0, {"init": 1, "one_element": 2, "first_call": 3}))
    reasons = {name: one.reason for name, one in found.items() if isinstance(one, Absent)}
    assert {"gpu_load_s", "gpu_unique_id_s", "gpu_share_id_s", "gpu_init_alloc_s"} < set(reasons)
    assert "open already" in reasons["gpu_load_s"]
    assert "NCCL_DEBUG" in reasons["gpu_init_alloc_s"]
    assert first(found, "gpu_named_ratio") == pytest.approx(1)


def test_a_part_of_init_without_a_word_has_no_name() -> None:
    found = derived(FIRST_USE, steps(0, {**OF_NCCL, **OF_INIT}))
    whole = sum(OF_NCCL.values())
    assert first(found, "gpu_named_ratio") == pytest.approx((whole - 1157 + 1140) / whole)
    assert first(found, "gpu_init_rest_s") == pytest.approx(0.010)


def test_what_nccl_rounds_to_nothing_is_missing_and_not_0() -> None:
    found = derived(FIRST_USE, steps(0, {**OF_NCCL, **OF_INIT, "init_topo": 0}))
    assert found["gpu_init_topo_s"] == Absent("NCCL reports 0.00 s: less than 5 ms")


def test_time_between_steps_has_no_name() -> None:
    found = derived(FIRST_USE, steps(0, OF_NCCL, whole_ms=2 * sum(OF_NCCL.values())))
    assert first(found, "gpu_named_ratio") == pytest.approx(0.5)


def test_rounded_parts_name_no_more_than_init_took() -> None:
    took = {WHOLE: 100, INIT: 60, STEPS["first_call"]: 30, INIT_PARTS["init_alloc"]: 80}
    assert named_ratio(took) == pytest.approx(0.9)
    assert named_ratio({}) is None


def test_without_blocks_there_is_nothing() -> None:
    for cell in (CELL, FIRST_USE):
        assert all(isinstance(one, Absent) for one in derived(cell, []).values())


def test_later_calls_of_a_first_use_are_their_own_metric() -> None:
    blocks = [*steps(0, OF_NCCL), *steps(1, OF_NCCL), *(block(rank, WHOLE, [5, 7 + rank], "steady") for rank in (0, 1))]
    found = derived(FIRST_USE, blocks)["gpu_later_call_s"]
    assert isinstance(found, dict)
    assert isinstance(found["steady"], MetricSamples)
    assert found["steady"].values_s == pytest.approx([5e-9, 8e-9])


@pytest.mark.parametrize("more", [{"message_bytes": "1073741824"}, {"allocations": "64"}, {"warmup_s": "1"}])
def test_cost_follows_the_parameters(more: dict[str, str]) -> None:
    assert NCCL.seconds(CELL, 2) < NCCL.seconds({**CELL, **more}, 2)


def test_what_is_written_follows_the_samples() -> None:
    many = {**CELL, "samples": "100000"}
    assert NCCL.recorded_bytes(many, 2) > 2 * 3 * 100000 * 16
    assert NCCL.recorded_bytes(CELL, 2) < NCCL.recorded_bytes(CELL, 4)


@pytest.fixture(scope="module")
def campaign() -> Plan:
    """The shipped campaign, planned with the recorded description of the engine."""
    description = msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes())
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))
    return expand(load("gpu-libraries"), description, [mpi], seed=1)


def test_a_first_use_has_its_launches_for_itself(campaign: Plan) -> None:
    """A library is opened once a process: of each library one cell."""
    cells = {cell.cell: cell for cell in campaign.cells}
    for launch in campaign.launches:
        cold = [n for n in launch.cells if cells[n].parameters["pattern"] == "first_use"]
        first_uses = [cells[n].parameters["library"] for n in cold]
        assert len(first_uses) in (0, len(launch.cells))
        assert len(first_uses) == len(set(first_uses))


def test_mpi_stands_over_nccl_within_a_launch(campaign: Plan) -> None:
    cells = {cell.cell: cell for cell in campaign.cells}
    over = [one for one in campaign.contrasts if one.a.value == "nccl"]
    assert len({cells[one.a.cell].parameters["message_bytes"] for one in over}) == 5
    assert {cells[one.a.cell].parameters["overalloc_bytes"] for one in over} == {"0", "1", "65536", "2097152"}
    for one in over:
        assert cells[one.a.cell].environment == cells[one.b.cell].environment


def test_the_campaign_takes_minutes(campaign: Plan) -> None:
    assert 60 < estimate(campaign).wall_s < 600


def test_no_two_parts_share_a_number() -> None:
    numbers = sorted([WHOLE, SUBMIT, WAIT, *STEPS.values(), *INIT_PARTS.values()])
    assert all(a < b for a, b in pairwise(numbers))
