# SPDX-License-Identifier: Apache-2.0
"""How far one launch came: its cells, from what the engine wrote in events.jsonl."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from slowpath.record.events import CellBegin, read_events


@dataclass(frozen=True)
class Ended:
    """cell_end of one cell: status ok, skipped or failed, with its reason."""

    status: str
    reason: str | None


@dataclass(frozen=True)
class Account:
    """Cells that began, cells that ended, and whether the engine came to its own end."""

    begun: tuple[int, ...] = ()
    ended: dict[int, Ended] = field(default_factory=dict)
    complete: bool = False
    running: int | None = None  # the cell in which the job died or hung; None if it did so outside of any


def read_account(events: Path) -> Account:
    """Account of a launch. A missing file means that nothing began; a half-written last line is left out."""
    if not events.exists():
        return Account()
    seen = read_events(events)
    begun = tuple(event.cell for event in seen.of(CellBegin))
    ended = {cell: Ended(end.status, end.reason) for cell, end in seen.cell_ends.items()}
    return Account(begun, ended, seen.end is not None, seen.open_cell)
