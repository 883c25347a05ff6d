# SPDX-License-Identifier: Apache-2.0
"""The experiment `nccl`: MPI on device memory next to NCCL, in one process, on the same buffers and stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.recorded import BLOCK_BYTES, EVENT_BYTES, SAMPLE_BYTES
from slowpath.experiments.measured.series import (
    NO_SAMPLES,
    NS,
    PHASES,
    Absent,
    Derived,
    MetricSamples,
    SampleBlock,
    chosen,
)
from slowpath.experiments.metric import Metric

_NO_MATCH = Absent("the blocks of the ranks do not match")
_NOT_DONE = {
    "load": "the library was open already: a process opens it once, and MPI is there from the start",
    "unique_id": "MPI needs no id",
    "share_id": "MPI needs no id",
    "runtime": "only NCCL from 2.19 on starts its runtime by itself (ncclMemFree)",
    "buffers": "the library works on the caller's buffers",
}
_AS_SLOW = 0.99  # of the longest first use: that rank counts as slowest, too
_NOT_NAMED = "only NCCL names parts of its init, and only where the user has set neither NCCL_DEBUG nor NCCL_DEBUG_FILE"


def calls(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """First calls with fresh buffers, later calls: of each sample the longest of any rank."""
    return {
        "gpu_call_s": _longest(blocks, job.size, WHOLE, PHASES),
        "gpu_submit_s": _longest(blocks, job.size, SUBMIT, PHASES),
        "gpu_wait_s": _longest(blocks, job.size, WAIT, PHASES),
    }


def first_use(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Steps of the rank whose first use took longest; later calls of the slowest rank."""
    later = _longest(blocks, job.size, WHOLE, ("steady",))
    found: Derived = {"gpu_later_call_s": later}
    first = [b for b in blocks if b.phase == "first"]
    whole = {b.rank: int(b.duration_ns[0]) for b in first if b.part == WHOLE and b.duration_ns.size}
    slowest = slowest_rank(whole)
    took_ns = {b.part: int(b.duration_ns[0]) for b in first if b.rank == slowest and b.duration_ns.size}
    found["gpu_first_use_s"] = _one(took_ns.get(WHOLE, 0) * NS) if WHOLE in took_ns else NO_SAMPLES
    for name, part in {**STEPS, **INIT_PARTS}.items():
        found[f"gpu_{name}_s"] = _step(name, took_ns.get(part), bool(took_ns))
    named = named_ratio(took_ns)
    found["gpu_named_ratio"] = NO_SAMPLES if named is None else _one(named)
    return found


def slowest_rank(whole_ns: Mapping[int, int]) -> int | None:
    """The rank whose first use took longest; of several within 1 % the first.

    Ranks end a first use together: without that, chance would say in each launch whose steps are shown, and a step that
    rank 0 alone does would be its time in one launch and nothing in another.
    """
    longest = max(whole_ns.values(), default=0)
    return min((rank for rank, took in whole_ns.items() if took >= _AS_SLOW * longest), default=None)


def _step(name: str, took_ns: int | None, known: bool) -> dict[str, MetricSamples] | Absent:
    """A step of a first use, or a part of its init. known: the launch has a first use."""
    if took_ns:
        return _one(took_ns * NS)
    if not known:
        return NO_SAMPLES
    if took_ns == 0 and name in INIT_PARTS:
        return Absent("NCCL reports 0.00 s: less than 5 ms")
    return Absent(_NOT_NAMED if name in INIT_PARTS else _NOT_DONE.get(name, "the step is not in the record"))


def named_ratio(took_ns: Mapping[int, int]) -> float | None:
    """The part of a first use that has a name.

    Args:    took_ns: part -> ns, of one rank.
    Returns: steps over the whole; of init only what the library itself names, where it names anything. None: no whole.
    """
    whole = took_ns.get(WHOLE, 0)
    if whole <= 0:
        return None
    named = sum(took_ns.get(part, 0) for part in STEPS.values())
    if any(part in took_ns for part in INIT_PARTS.values()):
        # NCCL rounds each word to 10 ms, and counts what it has no word for as the rest of its total: total - rest is
        # what the words are, rounded twice and not once a word.
        words = sum(took_ns.get(part, 0) for part in INIT_PARTS.values() if part != REST)
        inside = took_ns[TOTAL] - took_ns.get(REST, 0) if TOTAL in took_ns else words
        named += min(inside, took_ns.get(INIT, 0)) - took_ns.get(INIT, 0)
    return named / whole


def _one(value: float) -> dict[str, MetricSamples]:
    return {"first": MetricSamples(np.array([value]), batch=1)}


def _longest(
    blocks: Sequence[SampleBlock], ranks: int, part: int, phases: Sequence[str]
) -> dict[str, MetricSamples] | Absent:
    mine = [b for b in blocks if b.part == part]
    found: dict[str, MetricSamples] = {}
    for phase in phases:
        each = [chosen(mine, rank, phase) for rank in range(ranks)]
        if not any(each):
            continue
        if len({tuple((b.allocation, b.duration_ns.size) for b in of_rank) for of_rank in each}) > 1:
            return _NO_MATCH
        longest = [np.max([b.duration_ns for b in together], axis=0) * NS for together in zip(*each, strict=True)]
        found[phase] = MetricSamples(np.concatenate(longest), batch=1)
    return found or NO_SAMPLES


_CELL_S = 0.02
_OPEN_S = 1.5  # a communicator of NCCL and its first call: 1.3 s on two H200s
_CALL_S = 50e-6
_MOVED_BYTES_PER_S = 10e9
_CHECKED_BYTES_PER_S = 0.3e9  # filled and compared on the processor
_ALLOCATED_S = 0.005
_FEWEST_SAMPLES, _FEWEST_WARMUP = 8, 4
_PARTS = 3  # whole, submit, wait
_FIRST_USE_BLOCKS = 17  # parts of a first use


def _blocks(p: Mapping[str, str]) -> tuple[int, int]:
    """(allocations, samples)."""
    return (1 if p.get("pattern") == "first_use" else int(p["allocations"])), int(p["samples"])


def nccl_seconds(p: Mapping[str, str], ranks: int) -> float:
    """What one cell takes in one launch, roughly, seconds.

    A communicator in use is made once a launch, not once a cell: it counts where each cell makes one.
    """
    allocations, samples = _blocks(p)
    length = int(p["message_bytes"]) * (1 if p["operation"] in ("send", "allreduce", "bcast") else ranks)
    call = _CALL_S + length / _MOVED_BYTES_PER_S
    steady = max(_FEWEST_SAMPLES * call, min(float(p["time_limit_s"]), samples * call))
    warmup = max(_FEWEST_WARMUP * call, float(p["warmup_s"]))
    checked = 2 * (allocations + 1) * length / _CHECKED_BYTES_PER_S if p["validate"] == "on" else 0.0
    opened = _OPEN_S if p.get("pattern") == "first_use" and p["library"] == "nccl" else 0.0
    return _CELL_S + opened + allocations * (_ALLOCATED_S + call) + warmup + steady + checked


def nccl_recorded_bytes(p: Mapping[str, str], ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    allocations, samples = _blocks(p)
    later = 2 * _PARTS * BLOCK_BYTES + 2 * _PARTS * max(samples, 1024) * SAMPLE_BYTES
    first = max(_FIRST_USE_BLOCKS, _PARTS * allocations) * (BLOCK_BYTES + SAMPLE_BYTES)
    return 2 * EVENT_BYTES + ranks * (first + later + EVENT_BYTES)


_CALLS = (
    Metric(
        "gpu_call_s",
        "s",
        "lower",
        "one call on the slowest rank, from the call to the end of the work that it left on the stream",
        bandwidth=True,
    ),
    Metric("gpu_submit_s", "s", "lower", "inside the library's call, on the slowest rank"),
    Metric("gpu_wait_s", "s", "lower", "from the call's return to the end of the stream's work, on the slowest rank"),
)
STEP_MEANINGS = {
    "load": "the library is opened and its functions are found, once a process",
    "unique_id": "rank 0 makes the id of the communicator; where kernels are loaded at once, NCCL loads them here",
    "share_id": "the ranks agree that all have the library, and MPI_Bcast of the id",
    "runtime": "NCCL's own CUDA runtime starts on every rank, and all wait for the last one",
    "init": "ncclCommInitRank; NVSHMEM: nvshmemx_hostlib_init_attr; MPI: MPI_Comm_dup of the world",
    "buffers": "NVSHMEM: buffers in its symmetric heap, and the data is copied there",
    "one_element": "the first call, with one element of a small buffer: what the library connects and loads when it is "
    "first used",
    "first_call": "the first call with the message and its buffers",
    "init_kernels": "inside init, as NCCL reports it in steps of 10 ms: kernels",
    "init_alloc": "inside init, as NCCL reports it: allocations",
    "init_bootstrap": "inside init, as NCCL reports it: the ranks find each other",
    "init_allgathers": "inside init, as NCCL reports it: the ranks exchange what they are",
    "init_topo": "inside init, as NCCL reports it: the topology is found",
    "init_graphs": "inside init, as NCCL reports it: rings and trees are searched",
    "init_connections": "inside init, as NCCL reports it: the ranks connect",
    "init_rest": "inside init, as NCCL reports it: what it has no word for",
}
_FIRST_USE = (
    Metric(
        "gpu_first_use_s",
        "s",
        "lower",
        "all named steps of a first use together: from before the library is opened to the end of the first call with "
        "the message",
    ),
    *(Metric(f"gpu_{name}_s", "s", "lower", meaning) for name, meaning in STEP_MEANINGS.items()),
    Metric(
        "gpu_named_ratio",
        "1",
        "higher",
        "the part of a first use that has a name: all steps, and of NCCL's init what NCCL itself names",
    ),
    Metric("gpu_later_call_s", "s", "lower", "a call after the first one, on the slowest rank"),
)

NCCL = Experiment(
    name="nccl",
    patterns=(Pattern("calls", calls, _CALLS), Pattern("first_use", first_use, _FIRST_USE)),
    roles={
        "pattern": "setting",
        "library": "setting",
        "operation": "setting",
        "message_bytes": "covariate",
        "buffer_bytes": "covariate",
        "overalloc_bytes": "covariate",
        "allocations": "effort",
        "samples": "effort",
        "time_limit_s": "effort",
        "warmup_s": "effort",
        "validate": "effort",
    },
    seconds=nccl_seconds,
    recorded_bytes=nccl_recorded_bytes,
    views=("nccl",),
    brief={"samples": "40", "time_limit_s": "0.01", "warmup_s": "0.003"},
)


WHOLE, SUBMIT, WAIT = 0, 1, 2

# Of a first use, one after the other without a gap: name -> number.
STEPS = {
    "load": 3,
    "unique_id": 4,
    "share_id": 5,
    "runtime": 9,
    "init": 6,
    "buffers": 10,
    "one_element": 7,
    "first_call": 8,
}
INIT = STEPS["init"]

# Inside init, as NCCL's line "Init timings" has them, in its steps of 10 ms.
INIT_PARTS = {
    "init_kernels": 16,
    "init_alloc": 17,
    "init_bootstrap": 18,
    "init_allgathers": 19,
    "init_topo": 20,
    "init_graphs": 21,
    "init_connections": 22,
    "init_rest": 23,
}
REST = INIT_PARTS["init_rest"]  # NCCL's own word for what it has no word for
TOTAL = 24  # from NCCL's first clock inside init to its last
STEP_NS = 10_000_000  # of what NCCL reports
