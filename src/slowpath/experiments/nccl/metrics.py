# SPDX-License-Identifier: Apache-2.0
"""Metrics of the experiment nccl. Definitions: docs/reference/metrics.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.experiments.measured.launch_context import LaunchContext
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
from slowpath.experiments.nccl.parts import INIT, INIT_PARTS, REST, STEPS, SUBMIT, TOTAL, WAIT, WHOLE

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
