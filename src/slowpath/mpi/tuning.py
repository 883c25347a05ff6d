# SPDX-License-Identifier: Apache-2.0
"""tuning.json: ranges in which a mock-up was proven faster than the library's own collective; and who read it.

libslowpath-coll.so reads it (SLOWPATH_COLL), and reports which calls it replaced (SLOWPATH_COLL_REPORT).
engine/replace/table.cpp has the other side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from slowpath.core.decoding import DAMAGE

SCHEMA = 1
FILE_VARIABLE = "SLOWPATH_COLL"  # a path, or the text itself, which begins with {
REPORT_VARIABLE = "SLOWPATH_COLL_REPORT"
REPLACED_CALLS = "replaced.json"  # what that names in the folder of a launch
Kind = Literal["algorithm", "mockup"]


class TuningRow(msgspec.Struct, frozen=True):
    """collective: as in MPI_Name, in lower case.  ranks, bytes: first and last of the range."""

    collective: str
    ranks: tuple[int, int]
    bytes: tuple[int, int]
    mockup: str


class TuningFile(msgspec.Struct, frozen=True):
    """mpi: library and version that the rows were proven for."""

    mpi: str
    rows: tuple[TuningRow, ...]
    schema: int = SCHEMA


class ReplacedRow(msgspec.Struct, frozen=True):
    """Calls that were made in another way, by a row of the table."""

    calls: int
    collective: str = ""
    mockup: str = ""


class ReplacedCalls(msgspec.Struct, frozen=True):
    """What libslowpath-coll.so reports when the program ends. problem: why it replaced nothing."""

    rows: tuple[ReplacedRow, ...]
    problem: str | None = None

    @property
    def calls(self) -> int:
        """All that were replaced."""
        return sum(row.calls for row in self.rows)


def read_replaced(path: Path) -> ReplacedCalls | None:
    """Read a report of libslowpath-coll.so; None: there is none, or it is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReplacedCalls)
    except (OSError, *DAMAGE):
        return None


@dataclass(frozen=True, order=True)
class Pick:
    """What one cell takes in place of the library's choice.

    bytes: of the message, as `message_bytes` of the experiment coll.  kind: algorithm: one of the library's own, by the
    name that its settings have; mockup: other calls.
    """

    collective: str
    ranks: int
    bytes: int
    kind: Kind
    name: str


Measured = Mapping[tuple[str, int], Sequence[int]]  # collective, ranks -> all lengths that were measured


@dataclass(frozen=True)
class Range:
    """Neighbouring measured lengths that take the same; both ends were proven.

    measured: all of them; lengths between two of these are taken to be like them.
    """

    collective: str
    ranks: int
    first: int
    last: int
    name: str
    measured: tuple[int, ...] = ()


def ranges(picks: Sequence[Pick], kind: Kind, measured: Measured, *, classes: bool = False) -> list[Range]:
    """Picks of one kind with lengths next to each other among the measured ones put together; none outside of them.

    Args: classes: a length stands for all of its class, from a power of two to below the next one.
    """
    found: list[Range] = []
    places = {where: {length: at for at, length in enumerate(sorted(set(all_)))} for where, all_ in measured.items()}
    for pick in sorted(candidate for candidate in picks if candidate.kind == kind):
        last, place = found[-1] if found else None, places[pick.collective, pick.ranks]
        if (
            last is not None
            and (last.collective, last.ranks, last.name) == (pick.collective, pick.ranks, pick.name)
            and place[pick.bytes] == place[last.last] + 1
        ):
            found[-1] = replace(last, last=pick.bytes, measured=(*last.measured, pick.bytes))
        else:
            found.append(Range(pick.collective, pick.ranks, pick.bytes, pick.bytes, pick.name, (pick.bytes,)))
    return [_of_classes(one) for one in found] if classes else found


def _of_classes(one: Range) -> Range:
    if one.last == 0:
        return one
    return replace(one, first=1 << max(0, one.first.bit_length() - 1), last=(1 << one.last.bit_length()) - 1)


def tuning_text(mpi: str, picks: Sequence[Pick], measured: Measured, *, classes: bool = False) -> str:
    """tuning.json of the mock-ups among `picks`.  Args: as `ranges`."""
    rows = [
        TuningRow(picked.collective, (picked.ranks, picked.ranks), (picked.first, picked.last), picked.name)
        for picked in ranges(picks, "mockup", measured, classes=classes)
    ]
    text = msgspec.json.format(msgspec.json.encode(TuningFile(mpi, tuple(rows))), indent=1)
    return text.decode() + "\n"
