# SPDX-License-Identifier: Apache-2.0
"""events.jsonl: what the engine says. Read as far as it goes: the job may have died in the middle of a
line.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from slowpath.core.errors import RecordError
from slowpath.record.events_cell import Allocation, CellBegin, CellEnd, Intervals, Repetitions
from slowpath.record.events_counted import CallCount, Calls, Instructions, Share
from slowpath.record.events_launch import Blas, Grid, LaunchBegin, LaunchEnd, Note, ProgressMade, ThreadLevel
from slowpath.record.events_ranks import Clock, Rank

__all__ = [
    "Allocation",
    "Blas",
    "CallCount",
    "Calls",
    "CellBegin",
    "CellEnd",
    "Clock",
    "Event",
    "Grid",
    "Instructions",
    "Intervals",
    "LaunchBegin",
    "LaunchEnd",
    "LaunchEvents",
    "Note",
    "ProgressMade",
    "Rank",
    "Repetitions",
    "Share",
    "ThreadLevel",
    "read_events",
]

Event: TypeAlias = (
    LaunchBegin
    | CellBegin
    | Allocation
    | Instructions
    | Calls
    | Intervals
    | Repetitions
    | CellEnd
    | Note
    | ProgressMade
    | LaunchEnd
)
_Kind = TypeVar(
    "_Kind",
    LaunchBegin,
    CellBegin,
    Allocation,
    Instructions,
    Calls,
    Intervals,
    Repetitions,
    CellEnd,
    Note,
    ProgressMade,
    LaunchEnd,
)


@dataclass(frozen=True)
class LaunchEvents:
    """The events of one launch in file order, and a line on each thing that could not be read."""

    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """All events of one kind."""
        return [event for event in self._by_kind.get(kind, ()) if isinstance(event, kind)]

    @cached_property
    def _by_kind(self) -> dict[type[Event], list[Event]]:
        """Once for all cells: a launch of many cells has many events of a few kinds each."""
        found: dict[type[Event], list[Event]] = {}
        for event in self.events:
            found.setdefault(type(event), []).append(event)
        return found

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

    def instructions(self, cell: int) -> list[Instructions]:
        """Counts of one cell, all ranks and regions."""
        return [event for event in self.of(Instructions) if event.cell == cell]

    def calls(self, cell: int) -> list[Calls]:
        """What the ranks of a witnessed launch called in one cell, all ranks and phases."""
        return [event for event in self.of(Calls) if event.cell == cell]

    def intervals(self, cell: int) -> list[Intervals]:
        """Steps of the intervals of one cell, all ranks and parts."""
        return [event for event in self.of(Intervals) if event.cell == cell]

    def repetitions(self, cell: int) -> list[Repetitions]:
        """Disturbances of one cell's repetitions, all ranks."""
        return [event for event in self.of(Repetitions) if event.cell == cell]

    @property
    def cell_ends(self) -> dict[int, CellEnd]:
        """How each cell that ended did so; the last word counts."""
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
