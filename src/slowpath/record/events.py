# SPDX-License-Identifier: Apache-2.0
"""events.jsonl: what the engine says. Read as far as it goes: the job may have died in the middle of a
line.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from slowpath.errors import RecordError

# Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.


class Clock(msgspec.Struct, frozen=True):
    """Calibration of one rank's clock."""

    quantum_ns: float | None = None
    overhead_ns: float | None = None
    max_gap_ns: float | None = None
    getres_ns: float | None = None
    wtick_s: float | None = None
    source: str | None = None


class Rank(msgspec.Struct, frozen=True):
    """Where one rank ran."""

    rank: int
    host: str
    pid: int | None = None
    cpus_allowed: str | None = None  # kernel list format, "0-1"
    cpu: int | None = None
    numa_node: int | None = None
    clock: Clock | None = None


class LaunchBegin(msgspec.Struct, frozen=True, tag_field="event", tag="launch_begin"):
    """First line of a launch."""

    t_ns: int
    launch: int
    size: int
    seed: int | None = None
    engine: str | None = None
    mpi_library: str | None = None
    mpi_standard: str | None = None
    ranks: tuple[Rank, ...] = ()


class CellBegin(msgspec.Struct, frozen=True, tag_field="event", tag="cell_begin"):
    """The engine starts a cell."""

    t_ns: int
    cell: int


class Allocation(msgspec.Struct, frozen=True, tag_field="event", tag="allocation"):
    """A fresh allocation of one rank: what was asked for and what the kernel gave."""

    t_ns: int
    cell: int
    rank: int
    index: int
    role: str | None = None
    memory: str | None = None
    mpi_memory_kind: str | None = None
    pages_asked: str | None = None
    pages_observed: str | None = None
    huge_bytes: int | None = None
    page_bytes: int | None = None
    base: int | str | None = None
    address: int | str | None = None
    allocation_bytes: int | None = None
    offset_bytes: int | None = None
    reused_address: bool | None = None
    device: int | None = None


class CellEnd(msgspec.Struct, frozen=True, tag_field="event", tag="cell_end"):
    """The engine is done with a cell."""

    t_ns: int
    cell: int
    status: str
    reason: str | None = None
    batch: int | None = None
    steady_samples: int | None = None
    stopped_because: str | None = None
    validated_bytes: int | None = None
    wrong_bytes: int | None = None


class Note(msgspec.Struct, frozen=True, tag_field="event", tag="note"):
    """Something that a reader should know."""

    t_ns: int
    text: str
    cell: int | None = None


class LaunchEnd(msgspec.Struct, frozen=True, tag_field="event", tag="launch_end"):
    """Last line of a launch that ended by itself."""

    t_ns: int
    cells_ok: int
    cells_skipped: int
    cells_failed: int


Event: TypeAlias = LaunchBegin | CellBegin | Allocation | CellEnd | Note | LaunchEnd
_Kind = TypeVar("_Kind", LaunchBegin, CellBegin, Allocation, CellEnd, Note, LaunchEnd)


@dataclass(frozen=True)
class LaunchEvents:
    """The events of one launch in file order, and a line on each thing that could not be read."""

    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """All events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def begin(self) -> LaunchBegin | None:
        """None: the engine never got as far."""
        return next(iter(self.of(LaunchBegin)), None)

    @property
    def end(self) -> LaunchEnd | None:
        """None: the launch did not end by itself."""
        return next(iter(self.of(LaunchEnd)), None)

    @property
    def ranks(self) -> tuple[Rank, ...]:
        return () if self.begin is None else self.begin.ranks

    @property
    def size(self) -> int | None:
        """Ranks in MPI_COMM_WORLD."""
        return None if self.begin is None else self.begin.size

    def allocations(self, cell: int) -> list[Allocation]:
        """Allocations of one cell, all ranks."""
        return [event for event in self.of(Allocation) if event.cell == cell]

    @property
    def cell_ends(self) -> dict[int, CellEnd]:
        """How each cell that ended did so; the last word counts."""
        return {event.cell: event for event in self.of(CellEnd)}

    @property
    def open_cell(self) -> int | None:
        """The cell in which the job died or hung: the last one begun, if it never ended."""
        begun = self.of(CellBegin)
        return begun[-1].cell if begun and begun[-1].cell not in self.cell_ends else None


def read_events(path: str | os.PathLike[str]) -> LaunchEvents:
    """Read events.jsonl as far as it can be read.

    Returns: a line that is damaged, of an unknown kind or cut short is left out and noted.
    Raises:  RecordError: no such file, or it cannot be opened.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}; did the engine start?") from None
    decoder = msgspec.json.Decoder(Event)
    events: list[Event] = []
    notes: list[str] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            events.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            unfinished = number == len(lines)
            why = "is unfinished (was the job killed?)" if unfinished else f"cannot be read: {error}"
            notes.append(f"{path.name}: line {number} {why}; left out")
    return LaunchEvents(tuple(events), tuple(notes))
