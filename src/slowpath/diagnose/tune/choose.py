# SPDX-License-Identifier: Apache-2.0
"""Which way of a cell is taken on trial, which trial is proven, and what a file as a whole does. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from slowpath.mpi.tuning import Kind, Pick

WORTH_RATIO: Final = 0.95  # a way that saves less is not tried
OF_THE_LIBRARY_RATIO: Final = 1.03  # its own algorithm is taken, which needs no preload, unless other calls save more
WORSE_RATIO: Final = 1.02  # no cell may be worse by more


@dataclass(frozen=True, order=True)
class Cell:
    """One collective at one length with so many ranks."""

    collective: str
    ranks: int
    bytes: int


@dataclass(frozen=True)
class Trial:
    """A way of a cell and its time, s. kind: None: the library's own choice."""

    kind: Kind | None
    name: str
    time_s: float


@dataclass(frozen=True)
class Factor:
    """Tuned over default of a cell, in launches that chose nothing. interval: 95 %; None: too few launches.

    default_s, tuned_s: over those launches.  pick: what the cell takes; None: the library's own choice.
    """

    cell: Cell
    default_s: float
    tuned_s: float
    ratio: float
    interval: tuple[float, float] | None
    pick: Pick | None = None

    @property
    def faster(self) -> bool:
        """The whole interval lies below 1, and not by a trifle."""
        return self.interval is not None and self.interval[1] < 1 and self.ratio < 1 / WORSE_RATIO

    @property
    def worse(self) -> bool:
        """The whole interval lies above 1, and the time is more than 2 % longer."""
        return self.interval is not None and self.interval[0] > 1 and self.ratio > WORSE_RATIO


def picks(trials: Mapping[Cell, Sequence[Trial]]) -> list[Pick]:
    """For each cell the way to be proven; none where nothing saves 5 %."""
    found = []
    for cell, ways in sorted(trials.items()):
        default = next((one.time_s for one in ways if one.kind is None), None)
        others = sorted((one for one in ways if one.kind is not None), key=lambda one: one.time_s)
        if default is None or not others or others[0].time_s > WORTH_RATIO * default:
            continue
        best = others[0]
        own = next((one for one in others if one.kind == "algorithm"), None)
        if own is not None and own.time_s <= min(WORTH_RATIO * default, OF_THE_LIBRARY_RATIO * best.time_s):
            best = own
        if best.kind is not None:
            found.append(Pick(cell.collective, cell.ranks, cell.bytes, best.kind, best.name))
    return found


def proven(factors: Sequence[Factor]) -> list[Pick]:
    """Picks of cells that were faster; none of a collective with a cell that got worse under the same file."""
    spoilt = {(one.cell.collective, one.cell.ranks) for one in factors if one.worse and _by_file(one)}
    return [
        one.pick
        for one in factors
        if one.pick is not None
        and one.faster
        and not (one.pick.kind == "algorithm" and (one.cell.collective, one.cell.ranks) in spoilt)
    ]


def confirmed(factors: Sequence[Factor]) -> list[Pick]:
    """Picks that remain after the verification of the files: those that are not worse, as in `proven`."""
    spoilt = {(one.cell.collective, one.cell.ranks) for one in factors if one.worse}
    kept = (one for one in factors if one.pick is not None and one.faster)
    return [one.pick for one in kept if one.pick and (one.cell.collective, one.cell.ranks) not in spoilt]


def geometric_mean(factors: Sequence[Factor]) -> float | None:
    """Default over tuned, over all cells: above 1, tuned is faster; None: no cell."""
    logs = [-math.log(one.ratio) for one in factors if one.ratio > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def with_picks(factors: Sequence[Factor], chosen: Sequence[Pick]) -> list[Factor]:
    """Each factor with what its cell takes."""
    by_cell = {Cell(one.collective, one.ranks, one.bytes): one for one in chosen}
    return [replace(one, pick=by_cell.get(one.cell)) for one in factors]


def _by_file(one: Factor) -> bool:
    return one.pick is None or one.pick.kind == "algorithm"
