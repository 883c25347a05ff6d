# SPDX-License-Identifier: Apache-2.0
"""What a cell is promised to gain: the least of all ways in which people time a collective. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from slowpath.diagnose.tune.choose import Cell
from slowpath.diagnose.tune.factors import Factor
from slowpath.mpi.tuning import Pick

FILE = "promises.json"
SCHEMA = 1


@dataclass(frozen=True)
class Promise:
    """A verified cell. factors: one a view, at least one.  pick: what it takes; None: the library's own choice."""

    cell: Cell
    factors: tuple[Factor, ...]
    pick: Pick | None

    @property
    def times_faster(self) -> float | None:
        """The least lower end of the intervals of all views; None: a view had too few launches."""
        ends = [factor.at_least for factor in self.factors]
        known = [end for end in ends if end is not None]
        return min(known) if len(known) == len(ends) else None

    @property
    def holds(self) -> bool:
        """Every interval lies above 1: whoever measures finds a gain."""
        return self.times_faster is not None and self.times_faster > 1

    def seen(self, view: str) -> Factor | None:
        """The cell in one view."""
        return next((factor for factor in self.factors if factor.view == view), None)


def promises(factors: Sequence[Factor]) -> list[Promise]:
    """The views of each cell together."""
    cells: dict[Cell, list[Factor]] = {}
    for factor in factors:
        cells.setdefault(factor.cell, []).append(factor)
    return [Promise(cell, tuple(found), found[0].pick) for cell, found in sorted(cells.items())]


def broken(factors: Sequence[Factor]) -> set[Pick]:
    """Picks whose cells can't be promised anything."""
    return {one.pick for one in promises(factors) if one.pick is not None and not one.holds}


class _Seen(msgspec.Struct, frozen=True):
    default_s: float
    tuned_s: float
    times_faster: float
    interval: tuple[float, float] | None
    launches: int


class _Row(msgspec.Struct, frozen=True):
    collective: str
    ranks: int
    bytes: int
    kind: str | None
    by: str | None
    promised: float | None
    views: dict[str, _Seen]


class _File(msgspec.Struct, frozen=True):
    mpi: str
    rows: list[_Row]
    schema: int = SCHEMA


def promises_text(mpi: str, found: Sequence[Promise]) -> bytes:
    """promises.json: every verified cell, what was promised, and what each view measured."""
    return msgspec.json.format(msgspec.json.encode(_File(mpi, [_row(one) for one in found])), indent=1) + b"\n"


def _row(one: Promise) -> _Row:
    return _Row(
        one.cell.collective,
        one.cell.ranks,
        one.cell.bytes,
        one.pick.kind if one.pick else None,
        one.pick.name if one.pick else None,
        one.times_faster if one.pick else None,
        {factor.view: _seen(factor) for factor in one.factors},
    )


def _seen(one: Factor) -> _Seen:
    interval = None if one.interval is None else (1 / one.interval[1], 1 / one.interval[0])
    return _Seen(one.default_s, one.tuned_s, one.times_faster, interval, len(one.pairs))
