# SPDX-License-Identifier: Apache-2.0
"""A launch's repetitions of one cell: what every rank did when, part by part. Pure.

A block's field `part` says what its samples span (docs/internals/record.md); each repetition has the same number of
intervals of a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, NS, Absent, SampleBlock
from slowpath.stats.inputs import Floats

TOTAL, DGEMM, GENERATE = 0, 1, 10
# Number in the record -> name; engine/studies/cannon/timeline.hpp.
PARTS: dict[int, str] = {
    TOTAL: "total",
    DGEMM: "dgemm",
    2: "issue",
    3: "test",
    4: "wait",
    5: "copy",
    6: "synchronise",
    7: "skew",
    8: "distribute",
    9: "gather",
    GENERATE: "generate",
}
Table = NDArray[np.int64]


@dataclass(frozen=True)
class Runs:
    """The steady repetitions of one cell and launch.

    begin_ns, duration_ns: (rank, part) -> shape (repetitions, intervals of one), int64; begin_ns on the rank's clock.
    """

    count: int
    size: int
    begin_ns: Mapping[tuple[int, int], Table]
    duration_ns: Mapping[tuple[int, int], Table]

    @property
    def stamps(self) -> float:
        """Intervals of one repetition inside the multiplication, mean over ranks."""
        inside: int = sum(table.shape[1] for (_, part), table in self.duration_ns.items() if part != GENERATE)
        return inside / self.size

    def spent_s(self, rank: int, part: int) -> Floats:
        """One rank's time in a part, shape (repetitions,), seconds; 0 where the rank has no interval of it."""
        spent = self.duration_ns.get((rank, part))
        seconds: Floats = np.zeros(self.count) if spent is None else spent.sum(axis=1) * NS
        return seconds

    def mean_s(self, part: int) -> Floats | None:
        """Mean over ranks of the time in a part, shape (repetitions,), seconds; None where no rank has it."""
        if not any((rank, part) in self.duration_ns for rank in range(self.size)):
            return None
        mean: Floats = np.mean([self.spent_s(rank, part) for rank in range(self.size)], axis=0)
        return mean

    def length_s(self, one_clock: bool) -> Floats:
        """From the first rank's start to the last rank's end, shape (repetitions,), seconds.

        Args: one_clock: of all ranks; without it, the longest rank's time.
        """
        begins = np.array([self.begin_ns[rank, TOTAL][:, 0] for rank in range(self.size)])
        spent = np.array([self.duration_ns[rank, TOTAL][:, 0] for rank in range(self.size)])
        length_ns = (begins + spent).max(axis=0) - begins.min(axis=0) if one_clock else spent.max(axis=0)
        seconds: Floats = length_ns * NS
        return seconds


def read_runs(blocks: Sequence[SampleBlock], job: LaunchContext) -> Runs | Absent:
    """The steady blocks of all ranks, or why they can't be used."""
    steady = [block for block in blocks if block.phase == "steady"]
    if not steady:
        return NO_SAMPLES
    totals = {block.rank: block for block in steady if block.part == TOTAL}
    if lacking := sorted(set(range(job.size)) - totals.keys()):
        return Absent(f"rank {lacking[0]} has no block of the whole multiplication")
    counts = {len(block.duration_ns) for block in totals.values()}
    count = counts.pop()
    if counts or count == 0:
        return Absent("the ranks' blocks do not hold equally many repetitions")
    begin_ns: dict[tuple[int, int], Table] = {}
    duration_ns: dict[tuple[int, int], Table] = {}
    for block in steady:
        name = f"part {PARTS.get(block.part, block.part)} of rank {block.rank}"
        if block.start_ns is None or len(block.duration_ns) % count:
            return Absent(f"{name}: has no start times, or not equally many intervals in each of {count} repetitions")
        if (block.rank, block.part) in begin_ns:
            return Absent(f"{name}: has two blocks")
        begin_ns[block.rank, block.part] = block.start_ns.reshape(count, -1)
        duration_ns[block.rank, block.part] = block.duration_ns.reshape(count, -1)
    return Runs(count, job.size, begin_ns, duration_ns)
