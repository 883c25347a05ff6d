# SPDX-License-Identifier: Apache-2.0
"""The same calls of a collective on all its ranks: entries and exits, and which calls a rank came late to. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.core.units import whole_number
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, NS, Absent, Order, SampleBlock, chosen, order_of
from slowpath.stats.inputs import Floats

CALL, LATE = 0, 1  # parts: the call itself; how long after its deadline the rank entered it
COMPUTATION, BOTH = 2, 3  # parts of pattern=overlap: computing alone, and between start and wait

LATE_NS = 200  # leaving a loop that reads the clock takes up to this long
LATE_RATIO = 0.1  # of the typical span: so much of a skew says nothing about the call

_NO_MATCH = "the blocks of the ranks do not match"
_NO_BEGINS = "no entries were recorded, only how long each rank took"
_OTHER_NODES = "the ranks are on several nodes, whose clocks are not compared"


@dataclass(frozen=True)
class Calls:
    """duration_ns: of each rank's call, int64, shape (ranks, calls), in the order of the calls.

    entry_ns: on one clock, same shape; or why there is none.  late_ns: how long after its deadline each rank entered,
    same shape; None: not recorded.  order: where the calls stand in their launch, by the first rank's begin.
    """

    duration_ns: NDArray[np.int64]
    entry_ns: NDArray[np.int64] | Absent
    late_ns: NDArray[np.int64] | None
    order: Order | None

    @property
    def own_s(self) -> Floats:
        """T_own of the slowest rank, shape (calls,)."""
        own_s: Floats = self.duration_ns.max(axis=0) * NS
        return own_s

    @property
    def span_s(self) -> Floats | Absent:
        """T_span: last exit - first entry, shape (calls,)."""
        if isinstance(self.entry_ns, Absent):
            return self.entry_ns
        span_s: Floats = ((self.entry_ns + self.duration_ns).max(axis=0) - self.entry_ns.min(axis=0)) * NS
        return span_s

    @property
    def work_s(self) -> Floats | Absent:
        """T_work: last exit - last entry, shape (calls,)."""
        if isinstance(self.entry_ns, Absent):
            return self.entry_ns
        work_s: Floats = ((self.entry_ns + self.duration_ns).max(axis=0) - self.entry_ns.max(axis=0)) * NS
        return work_s

    @property
    def clean(self) -> NDArray[np.bool_] | None:
        """Calls to which no rank came late, shape (calls,); None: not recorded."""
        if self.late_ns is None:
            return None
        allowed = max(LATE_NS, LATE_RATIO * float(np.median(self.own_s)) / NS)
        in_time: NDArray[np.bool_] = self.late_ns.max(axis=0) <= allowed
        return in_time


def callers(p: Mapping[str, str], ranks: int) -> int:
    """How many ranks call the collective of a cell: the first ones of the job."""
    members = p.get("members", "all")
    return ranks if members == "all" else min(ranks, whole_number(members) or ranks)


def calls(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext, phase: str) -> Calls | Absent:
    """One phase of a cell in a launch: the calls of all ranks matched by communicator and number."""
    size = callers(p, job.size)
    ranks = [_of_part(chosen(blocks, rank, phase), CALL) for rank in range(size)]
    if not any(ranks):
        return NO_SAMPLES
    if len({_shape(rank) for rank in ranks}) > 1:
        return Absent(_NO_MATCH)
    return Calls(
        np.array([_durations(rank) for rank in ranks]),
        _entries(ranks, job, size),
        _late([_of_part(chosen(blocks, rank, phase), LATE) for rank in range(size)], _shape(ranks[0])),
        order_of(ranks[0]),
    )


def _of_part(blocks: Sequence[SampleBlock], part: int) -> list[SampleBlock]:
    return [block for block in blocks if block.part == part]


def _shape(blocks: Sequence[SampleBlock]) -> tuple[tuple[int, int, int], ...]:
    return tuple((block.allocation, block.seq0, block.duration_ns.size) for block in blocks)


def _durations(blocks: Sequence[SampleBlock]) -> NDArray[np.int64]:
    return np.concatenate([block.duration_ns for block in blocks])


def _entries(ranks: Sequence[Sequence[SampleBlock]], job: LaunchContext, size: int) -> NDArray[np.int64] | Absent:
    if not (job.shares_clock or _on_one_node(job, size)):
        return Absent(_OTHER_NODES)
    begins = [[block.start_ns for block in rank if block.start_ns is not None] for rank in ranks]
    if any(len(got) != len(rank) for got, rank in zip(begins, ranks, strict=True)):
        return Absent(_NO_BEGINS)
    return np.array([np.concatenate(got) for got in begins])


def _on_one_node(job: LaunchContext, size: int) -> bool:
    """The ranks that call share a node, even where others do not."""
    if len(job.hosts) != job.size:
        return job.one_node
    return len(set(job.hosts[:size])) == 1


def _late(ranks: Sequence[Sequence[SampleBlock]], shape: tuple[tuple[int, int, int], ...]) -> NDArray[np.int64] | None:
    if any(_shape(rank) != shape for rank in ranks):
        return None
    return np.array([_durations(rank) for rank in ranks])
