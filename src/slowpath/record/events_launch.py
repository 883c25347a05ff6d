# SPDX-License-Identifier: Apache-2.0
"""Events of a launch as a whole (docs/internals/record.md).

Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.
"""

from __future__ import annotations

import msgspec

from slowpath.record.events_ranks import NodeRanks, Rank, ranks_of


class ThreadLevel(msgspec.Struct, frozen=True):
    """MPI's support for threads: single, funneled, serialized or multiple. asked: null where MPI_Init was called."""

    asked: str | None = None
    provided: str | None = None


class LaunchBegin(msgspec.Struct, frozen=True, tag_field="event", tag="launch_begin"):
    """First line of a launch. ranks: written one by one by slowpath-ipc and older engines; else made of `nodes`."""

    t_ns: int
    launch: int
    size: int
    seed: int | None = None
    engine: str | None = None
    mpi_library: str | None = None
    mpi_standard: str | None = None
    thread_level: ThreadLevel | None = None
    ranks: tuple[Rank, ...] = ()
    witnessed: bool = False  # libslowpath-witness.so was there: its times stand for nothing
    nodes: tuple[NodeRanks, ...] = ()

    def __post_init__(self) -> None:
        if self.nodes:
            msgspec.structs.force_setattr(self, "ranks", ranks_of(self.nodes, self.size))


class Blas(msgspec.Struct, frozen=True):
    """The library that multiplies."""

    name: str
    core: str | None = None  # what it took the processor for
    threads: int | None = None
    file: str | None = None
    compiled_for: str | None = None  # flags of the engine's own code around it


class Grid(msgspec.Struct, frozen=True):
    """How the ranks lie on the matrices."""

    rows: int
    columns: int
    steps: int


class Note(msgspec.Struct, frozen=True, tag_field="event", tag="note"):
    """Something that a reader should know."""

    t_ns: int
    text: str
    cell: int | None = None
    blas: Blas | None = None
    grid: Grid | None = None
    interval_ns: float | None = None
    remark: str | None = None


class ProgressMade(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """What runs now, of several cells that run in turns."""

    t_ns: int
    cell: int


class LaunchEnd(msgspec.Struct, frozen=True, tag_field="event", tag="launch_end"):
    """Last line of a launch that ended by itself."""

    t_ns: int
    cells_ok: int
    cells_skipped: int
    cells_failed: int
