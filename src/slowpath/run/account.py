# SPDX-License-Identifier: Apache-2.0
"""How far one launch came: its cells, from what the engine wrote in events.jsonl."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec


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

    @property
    def running(self) -> int | None:
        """The cell in which the job died or hung; None if it did so outside of any."""
        open_cells = [cell for cell in self.begun if cell not in self.ended]
        return open_cells[-1] if open_cells else None


class _Event(msgspec.Struct):
    event: str
    cell: int | None = None
    status: str = "ok"
    reason: str | None = None


def read_account(events: Path) -> Account:
    """Account of a launch. A missing file means that nothing began; a half-written last line is left out."""
    try:
        lines = events.read_bytes().split(b"\n")
    except OSError:
        return Account()
    begun: list[int] = []
    ended: dict[int, Ended] = {}
    complete = False
    for line in lines:
        try:
            event = msgspec.json.decode(line, type=_Event)
        except msgspec.DecodeError:
            continue
        if event.event == "cell_begin" and event.cell is not None:
            begun.append(event.cell)
        elif event.event == "cell_end" and event.cell is not None:
            ended[event.cell] = Ended(event.status, event.reason)
        complete = complete or event.event == "launch_end"
    return Account(tuple(begun), ended, complete)
