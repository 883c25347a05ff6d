# SPDX-License-Identifier: Apache-2.0
"""Events of a launch as a whole (docs/internals/record.md).

Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.
"""

from __future__ import annotations

import msgspec

from slowpath.core.limits import Name, Number, Text, Whole
from slowpath.core.plan import CellNumber, Count, Ranks
from slowpath.record.events_ranks import NodeRanks, Rank, ranks_of


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
