# SPDX-License-Identifier: Apache-2.0
"""The uses of a cell in one launch, matched over its ranks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, NS, Absent, SampleBlock, chosen
from slowpath.stats.inputs import Floats

_NO_MATCH = Absent("the blocks of the ranks do not match")


@dataclass(frozen=True)
class Spans:
    """One part of the uses of one phase. duration_ns: shape (ranks, uses). begin_ns: the same, on one clock; None: the
    ranks have several nodes' clocks, or begins were not recorded.
    """

    duration_ns: NDArray[np.int64]
    begin_ns: NDArray[np.int64] | None

    @property
    def longest_s(self) -> Floats:
        """Of each use the time of the rank that took longest, shape (uses,)."""
        found: Floats = self.duration_ns.max(axis=0) * NS
        return found

    @property
    def together_s(self) -> Floats:
        """Of each use the time from the last rank's begin to the last rank's end: no rank's wait for a late one is in
        it. Without a common clock the longest of a rank.
        """
        if self.begin_ns is None:
            return self.longest_s
        found: Floats = ((self.begin_ns + self.duration_ns).max(axis=0) - self.begin_ns.max(axis=0)) * NS
        return found


def spans(blocks: Sequence[SampleBlock], job: LaunchContext, phase: str, part: int) -> Spans | Absent:
    """One part of a cell's uses in one phase: every rank has as many."""
    ranks = [[b for b in chosen(blocks, rank, phase) if b.part == part] for rank in range(job.size)]
    if not any(ranks):
        return NO_SAMPLES
    if len({tuple((b.seq0, b.duration_ns.size) for b in rank) for rank in ranks}) > 1:
        return _NO_MATCH
    durations = np.array([np.concatenate([b.duration_ns for b in rank]) for rank in ranks])
    begins = [[b.start_ns for b in rank if b.start_ns is not None] for rank in ranks]
    reported = job.one_node and all(len(got) == len(rank) for got, rank in zip(begins, ranks, strict=True))
    return Spans(durations, np.array([np.concatenate(got) for got in begins]) if reported else None)
