# SPDX-License-Identifier: Apache-2.0
"""events.jsonl: what the engine says. Read as far as it goes: the job may have died in the middle of a
line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypeAlias, TypeVar

import msgspec

from slowpath.core.decoding import DAMAGE, why
from slowpath.core.errors import RecordError
from slowpath.core.files import open_regular
from slowpath.core.limits import FILE_BYTES, LONGEST_LINE_BYTES
from slowpath.record.events_launch import (
    Allocation,
    Blas,
    CellBegin,
    CellEnd,
    CountedFunction,
    FixedWork,
    Grid,
    Instructions,
    Intervals,
    LaunchBegin,
    LaunchEnd,
    Note,
    ProcessorTime,
    ProgressMade,
    Release,
    Repetitions,
    SocketMessages,
    ThreadLevel,
    WitnessedCallCount,
    WitnessedCalls,
    Yardstick,
)
from slowpath.record.events_ranks import Clock, Rank

__all__ = [
    "Allocation",
    "Blas",
    "CellBegin",
    "CellEnd",
    "Clock",
    "CountedFunction",
    "Event",
    "FixedWork",
    "Grid",
    "Instructions",
    "Intervals",
    "LaunchBegin",
    "LaunchEnd",
    "LaunchEvents",
    "Note",
    "ProcessorTime",
    "ProgressMade",
    "Rank",
    "Release",
    "Repetitions",
    "SocketMessages",
    "ThreadLevel",
    "WitnessedCallCount",
    "WitnessedCalls",
    "Yardstick",
    "read_events",
]

MOST_NOTES = 20  # on lines of one file; a spoilt file has one on each line
_ADVICE = "restore the file from a copy"

Event: TypeAlias = (
    LaunchBegin
    | CellBegin
    | Allocation
    | Instructions
    | WitnessedCalls
    | SocketMessages
    | Intervals
    | Repetitions
    | Release
    | CellEnd
    | Note
    | ProgressMade
    | FixedWork
    | ProcessorTime
    | Yardstick
    | LaunchEnd
)
_Kind = TypeVar(
    "_Kind",
    LaunchBegin,
    CellBegin,
    Allocation,
    Instructions,
    WitnessedCalls,
    SocketMessages,
    Intervals,
    Repetitions,
    Release,
    CellEnd,
    Note,
    ProgressMade,
    FixedWork,
    ProcessorTime,
    Yardstick,
    LaunchEnd,
)


@dataclass(frozen=True)
class LaunchEvents:
    """The events of one launch in file order, and a line on each thing that could not be read."""

    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """Return all events of one kind."""
        return [event for event in self._by_kind.get(kind, ()) if isinstance(event, kind)]

    @cached_property
    def _by_kind(self) -> dict[type[Event], list[Event]]:
        """Once for all cells: a launch of many cells has many events of a few kinds each."""
        found: dict[type[Event], list[Event]] = {}
        for event in self.events:
            found.setdefault(type(event), []).append(event)
        return found

    @cached_property
    def _by_cell(self) -> dict[tuple[type[Event], int], list[Event]]:
        """Return the events that belong to one cell each, by type and cell."""
        found: dict[tuple[type[Event], int], list[Event]] = {}
        for event in self.events:
            if isinstance(
                event, (Allocation, Instructions, WitnessedCalls, SocketMessages, Intervals, Repetitions, Release)
            ):
                found.setdefault((type(event), event.cell), []).append(event)
        return found

    def _of_cell(self, kind: type[_Kind], cell: int) -> list[_Kind]:
        return [event for event in self._by_cell.get((kind, cell), ()) if isinstance(event, kind)]

    @cached_property
    def begin(self) -> LaunchBegin | None:
        """Return the event of the launch's begin; None: the engine never got as far."""
        return next(iter(self.of(LaunchBegin)), None)

    @cached_property
    def end(self) -> LaunchEnd | None:
        """Return the event of the launch's end; None: the launch did not end by itself."""
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
        return self._of_cell(Allocation, cell)

    def instructions(self, cell: int) -> list[Instructions]:
        """Counts of one cell, all ranks and regions."""
        return self._of_cell(Instructions, cell)

    def calls(self, cell: int) -> list[WitnessedCalls]:
        """Return what the ranks of a witnessed launch called in one cell, all ranks and phases."""
        return self._of_cell(WitnessedCalls, cell)

    def messages(self, cell: int) -> list[SocketMessages]:
        """Return what went through the sockets of the ranks of a witnessed launch in one cell's marked calls."""
        return self._of_cell(SocketMessages, cell)

    def intervals(self, cell: int) -> list[Intervals]:
        """Steps of the intervals of one cell, all ranks and parts."""
        return self._of_cell(Intervals, cell)

    def repetitions(self, cell: int) -> list[Repetitions]:
        """Disturbances of one cell's repetitions, all ranks."""
        return self._of_cell(Repetitions, cell)

    @cached_property
    def cell_ends(self) -> dict[int, CellEnd]:
        """Return how each cell that ended did so; the last word counts."""
        return {event.cell: event for event in self.of(CellEnd)}

    @property
    def open_cell(self) -> int | None:
        """The cell in which the job died or hung: of those begun that never ended the one that ran last."""
        ended = self.cell_ends
        begun = [event.cell for event in self.of(CellBegin) if event.cell not in ended]
        ran = [event.cell for event in self.of(ProgressMade) if event.cell in begun]
        return next(iter([*ran[-1:], *begun[-1:]]), None)


def read_events(path: str | os.PathLike[str]) -> LaunchEvents:
    """Read events.jsonl as far as it can be read.

    Returns: a line that is damaged, of an unknown kind or cut short is left out and noted.
    Raises:  RecordError: no such file, it cannot be opened, or it is beyond the limits.
    """
    path = Path(path)
    decoder = msgspec.json.Decoder(Event)
    events: list[Event] = []
    notes: list[str] = []
    with os.fdopen(open_regular(path, FILE_BYTES["events.jsonl"], within=path.parent), "rb") as file:
        for number, line in enumerate(_lines(file, path), start=1):
            if not line.strip():
                continue
            if len(line) > LONGEST_LINE_BYTES:
                raise RecordError(f"{path}: line {number} has more than {LONGEST_LINE_BYTES} bytes; {_ADVICE}")
            try:
                events.append(decoder.decode(line))
            except DAMAGE as error:
                unfinished = not line.endswith(b"\n")
                said = "is unfinished (was the job killed?)" if unfinished else f"cannot be read: {why(error)}"
                notes.append(f"{path.name}: line {number} {said}; left out")
    if len(notes) > MOST_NOTES:
        more = f"{path.name}: {len(notes) - MOST_NOTES} more lines cannot be read; left out"
        notes = [*notes[:MOST_NOTES], more]
    return LaunchEvents(tuple(events), tuple(notes))


def _lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Lines with their ends, as far as one may be long.  Raises: RecordError: the disk refuses."""
    try:
        while line := file.readline(LONGEST_LINE_BYTES + 1):
            yield line
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}; {_ADVICE}") from error
