# SPDX-License-Identifier: Apache-2.0
"""What a cell is promised to gain in further launches, in the worst of all ways in which people time a collective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.errors import RecordError, UsageError
from slowpath.core.files import Versioned, decoded, json_bytes, read_bytes
from slowpath.core.result import AtLeastOne, Count, Name
from slowpath.diagnose.tune.campaigns import mockups_of
from slowpath.diagnose.tune.choose import CollectiveCell
from slowpath.diagnose.tune.factors import CellFactor
from slowpath.mpi.tuning import ALGORITHMS, Kind, Measured, Pick

FILE = "promises.json"
SCHEMA = 1
# High over low end of an interval of times faster. Four cells whose launches disagreed by factors of 11 to 50 were
# promised 1.7 to 6.1 times, and OSU and IMB obtained 0.7 to 2.6 (docs/results/collectives.md).
MOST_SPAN = 4.0


@dataclass(frozen=True)
class Promise:
    """A verified cell. factors: one a view, at least one.  pick: what it takes; None: the library's own choice."""

    cell: CollectiveCell
    factors: tuple[CellFactor, ...]
    pick: Pick | None

    @property
    def times_faster(self) -> float | None:
        """What further launches obtain at least, in the worst view; None: too few launches, or they disagree."""
        ends = [factor.at_least if _agree(factor) else None for factor in self.factors]
        known = [end for end in ends if end is not None]
        return min(known) if len(known) == len(ends) else None

    @property
    def holds(self) -> bool:
        """Every bound lies above 1: whoever measures finds a gain."""
        return self.times_faster is not None and self.times_faster > 1

    def seen(self, view: str) -> CellFactor | None:
        """The cell in one view."""
        return next((factor for factor in self.factors if factor.view == view), None)


def _agree(factor: CellFactor) -> bool:
    """Whether the launches of a view are of one kind: what takes 2 us in some and 100 us in others may take either
    where the program runs."""
    return factor.interval is not None and factor.interval[1] <= MOST_SPAN * factor.interval[0]


def promises(factors: Sequence[CellFactor]) -> list[Promise]:
    """The views of each cell together."""
    cells: dict[CollectiveCell, list[CellFactor]] = {}
    for factor in factors:
        cells.setdefault(factor.cell, []).append(factor)
    return [Promise(cell, tuple(found), found[0].pick) for cell, found in sorted(cells.items())]


def broken(factors: Sequence[CellFactor]) -> set[Pick]:
    """Picks whose cells can't be promised anything."""
    return {one.pick for one in promises(factors) if one.pick is not None and not one.holds}


class PromisedView(msgspec.Struct, frozen=True):
    """A cell in one view; interval: 95 %, of times_faster."""

    default_s: float
    tuned_s: float
    times_faster: float
    interval: tuple[float, float] | None
    launches: int


class PromisedRow(msgspec.Struct, frozen=True):
    """A verified cell. kind, by: of its pick; null: the library's own choice."""

    collective: Name
    ranks: AtLeastOne
    bytes: Count
    kind: Kind | None
    by: Name | None
    promised: float | None
    views: dict[str, PromisedView]


class Promised(msgspec.Struct, frozen=True):
    """promises.json: every verified cell of a library with its version.

    classes: each cell stands for a class of lengths.  load: of the machine in the minute before; null: not known.
    """

    library: Name
    mpi: Name
    rows: list[PromisedRow]
    classes: bool = False
    load: float | None = None
    schema: int = SCHEMA

    @property
    def measured(self) -> Measured:
        """All lengths that were verified."""
        found: dict[tuple[str, int], list[int]] = {}
        for row in self.rows:
            found.setdefault((row.collective, row.ranks), []).append(row.bytes)
        return found

    @property
    def picks(self) -> list[Pick]:
        """What is promised to be faster."""
        return [
            Pick(row.collective, row.ranks, row.bytes, row.kind, row.by)
            for row in self.rows
            if row.kind is not None and row.by is not None and (row.promised or 0) > 1
        ]


def promises_text(
    library: str, mpi: str, found: Sequence[Promise], load: float | None = None, *, classes: bool = False
) -> bytes:
    """promises.json: every verified cell, what was promised, and what each view measured."""
    return json_bytes(Promised(library, mpi, [_row(one) for one in found], classes, load))


def read_promises(folder: Path) -> Promised:
    """Of a folder that anybody may have made: of its words those alone are taken that this Slowpath knows.

    Raises: UsageError: there is none.  RecordError: it is damaged, or names what no tuning chooses.
    """
    file = folder / FILE
    if not file.is_file():
        raise UsageError(f"{folder}: no {FILE}; name a folder that slowpath tune has finished")
    content, advice = read_bytes(file), "tune anew"
    if decoded(content, Versioned, file, advice, "holds no promises").schema != SCHEMA:
        raise UsageError(f"{file}: by another version of slowpath; tune anew")
    found = decoded(content, Promised, file, advice)
    known = ALGORITHMS.get(found.library, {})
    for one in found.picks:
        names = known.get(one.collective, ()) if one.kind == "algorithm" else mockups_of(one.collective)
        if one.name not in names:
            raise RecordError(f"{file}: '{one.name}' is no {one.kind} of {one.collective}; {advice}")
    return found


def _row(one: Promise) -> PromisedRow:
    return PromisedRow(
        one.cell.collective,
        one.cell.ranks,
        one.cell.bytes,
        one.pick.kind if one.pick else None,
        one.pick.name if one.pick else None,
        one.times_faster if one.pick else None,
        {factor.view: _seen(factor) for factor in one.factors},
    )


def _seen(one: CellFactor) -> PromisedView:
    interval = None if one.interval is None else (1 / one.interval[1], 1 / one.interval[0])
    return PromisedView(one.default_s, one.tuned_s, one.times_faster, interval, len(one.pairs))
