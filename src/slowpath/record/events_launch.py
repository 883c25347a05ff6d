# SPDX-License-Identifier: Apache-2.0
"""Events of a launch as a whole (docs/internals/record.md).

Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slowpath.core.limits import Name, Number, Text, Whole
from slowpath.core.plan import CellNumber, Count, RankNumber, Ranks
from slowpath.record.events_ranks import NodeRanks, Rank, ranks_of

# Events of what a launch measured without MPI (docs/internals/record.md).

MOST_OF_OTHER = 0.2  # of a stretch that may be booked as the other kind: interrupts, the calls' own entry and exit


class FixedWork(msgspec.Struct, frozen=True, tag_field="event", tag="fixed_work"):
    """The same counted work, timed on one rank before, between and after the cells. Every sample is there.

    visits: samples of each time that the rank came to it: before the first cell, after each cell or group of cells.
    begins_ns: of each sample, on the rank's CLOCK_MONOTONIC, from t0_ns on.
    """

    t_ns: Whole
    rank: RankNumber
    steps: Count
    t0_ns: Whole
    visits: tuple[Count, ...]
    begins_ns: tuple[Count, ...]
    durations_ns: tuple[Count, ...]

    def __post_init__(self) -> None:
        if not len(self.begins_ns) == len(self.durations_ns) == sum(self.visits):
            raise ValueError("begins_ns, durations_ns and visits do not agree on how many samples there are")


class Yardstick(msgspec.Struct, frozen=True, tag_field="event", tag="yardstick"):
    """What moving bytes from one rank to another costs without MPI, by one way (docs/internals/yardsticks.md).

    samples_ns: each spans `operations` of them. bytes: 0 where the way has no length. reason: why there are no samples.
    """

    t_ns: Whole
    rank: RankNumber
    peer: RankNumber
    name: Name
    bytes: Count
    operations: Annotated[int, Meta(ge=1, le=2**62)]
    samples_ns: tuple[Count, ...] = ()
    reason: Text | None = None


class ProcessorTime(msgspec.Struct, frozen=True, tag_field="event", tag="processor_time"):
    """What getrusage(2) said of two stretches of known work on one rank, ns: arithmetic alone, the kernel's work alone.

    A kernel that samples at timer ticks shares both out alike: its user and system times of a block mean nothing.
    """

    t_ns: Whole
    rank: RankNumber
    user_work_user_ns: Count
    user_work_system_ns: Count
    kernel_work_user_ns: Count
    kernel_work_system_ns: Count

    @property
    def is_distinguished(self) -> bool:
        """Whether nearly all of each stretch was booked as what it was."""
        return self.user_work_system_ns <= MOST_OF_OTHER * (
            self.user_work_user_ns + self.user_work_system_ns
        ) and self.kernel_work_user_ns <= MOST_OF_OTHER * (self.kernel_work_user_ns + self.kernel_work_system_ns)


class ThreadLevel(msgspec.Struct, frozen=True):
    """MPI's support for threads: single, funneled, serialized or multiple. asked: null where MPI_Init was called."""

    asked: Text | None = None
    provided: Text | None = None


class LaunchBegin(msgspec.Struct, frozen=True, tag_field="event", tag="launch_begin"):
    """First line of a launch. ranks: written one by one by slowpath-ipc and older engines; else made of `nodes`."""

    t_ns: Whole
    launch: Count
    size: Ranks
    seed: Whole | None = None
    engine: Text | None = None
    mpi_library: Text | None = None
    mpi_standard: Text | None = None
    thread_level: ThreadLevel | None = None
    ranks: tuple[Rank, ...] = ()
    witnessed: bool = False  # libslowpath-witness.so was there: its times stand for nothing
    nodes: tuple[NodeRanks, ...] = ()

    def __post_init__(self) -> None:
        if self.nodes:
            msgspec.structs.force_setattr(self, "ranks", ranks_of(self.nodes, self.size))
        elif len({rank.rank for rank in self.ranks if rank.rank < self.size}) < len(self.ranks):
            raise ValueError(f"ranks names one twice, or one that is not below {self.size}")


class Blas(msgspec.Struct, frozen=True):
    """The library that multiplies."""

    name: Name
    core: Text | None = None  # what it took the processor for
    threads: Count | None = None
    file: Text | None = None
    compiled_for: Text | None = None  # flags of the engine's own code around it


class Grid(msgspec.Struct, frozen=True):
    """How the ranks lie on the matrices."""

    rows: Count
    columns: Count
    steps: Count


class Note(msgspec.Struct, frozen=True, tag_field="event", tag="note"):
    """Something that a reader should know."""

    t_ns: Whole
    text: Text
    cell: CellNumber | None = None
    blas: Blas | None = None
    grid: Grid | None = None
    interval_ns: Number | None = None
    remark: Text | None = None


class ProgressMade(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """What runs now, of several cells that run in turns."""

    t_ns: Whole
    cell: CellNumber


class LaunchEnd(msgspec.Struct, frozen=True, tag_field="event", tag="launch_end"):
    """Last line of a launch that ended by itself."""

    t_ns: Whole
    cells_ok: Count
    cells_skipped: Count
    cells_failed: Count
