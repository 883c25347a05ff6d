# SPDX-License-Identifier: Apache-2.0
"""What tuned files do to each cell, in launches that chose nothing: what is proven, and what has to go. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from slowpath.diagnose.tune.choose import CollectiveCell
from slowpath.mpi.tuning import Pick
from slowpath.stats.contrast import ContrastEstimate, paired
from slowpath.stats.estimate import mean

WORSE_RATIO: Final = 1.02  # no cell may be worse by more
_LEVEL: Final = 0.95


@dataclass(frozen=True)
class CellFactor:
    """Tuned over default of a cell.

    pairs: default and tuned, seconds, of launches next to each other; at least one.  pick: what the cell takes; None:
    the library's own choice.  view: how the cell was timed, by name.
    """

    cell: CollectiveCell
    pairs: tuple[tuple[float, float], ...]
    pick: Pick | None = None
    view: str = "together"

    @cached_property
    def _found(self) -> ContrastEstimate:
        return self._at(_LEVEL)

    def _at(self, level: float) -> ContrastEstimate:
        times = np.array(self.pairs, dtype=np.float64)
        return paired(times[:, 0], times[:, 1], WORSE_RATIO - 1, level=level)

    @property
    def default_s(self) -> float:
        """Median over launches."""
        return float(np.median([one for one, _ in self.pairs]))

    @property
    def tuned_s(self) -> float:
        """Median over launches."""
        return float(np.median([other for _, other in self.pairs]))

    @property
    def ratio(self) -> float:
        """Above 1, tuned takes longer."""
        return self._found.ratio

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %; None: too few launches."""
        return self._found.interval if self._found.level is not None else None

    @property
    def faster(self) -> bool:
        """The whole interval lies below 1, and not by a trifle."""
        return self.interval is not None and self.interval[1] < 1 and self.ratio < 1 / WORSE_RATIO

    @property
    def worse(self) -> bool:
        """The whole interval lies above 1, and the time is more than 2 % longer."""
        return self.worse_at(_LEVEL)

    def worse_at(self, level: float) -> bool:
        """The same for an interval of another level."""
        found = self._at(level)
        return found.level is not None and found.low is not None and found.low > 1 and found.ratio > WORSE_RATIO

    @property
    def times_faster(self) -> float:
        """Default over tuned; above 1, tuned is faster."""
        return 1 / self.ratio

    @property
    def at_least(self) -> float | None:
        """What 19 of 20 further pairs of launches obtain at least, of times_faster; None: too few launches.

        A promise is about the launches of somebody else. The lower end of the interval of the mean was kept by 81 % of
        137 figures of OSU and IMB, this bound by 97 % of 107 (docs/results/collectives.md).
        """
        if self.interval is None:
            return None
        times = np.array(self.pairs, dtype=np.float64)
        bound = mean(np.log(times[:, 0] / times[:, 1])).further_above(_LEVEL)
        return None if bound is None else math.exp(bound)

    @property
    def promising(self) -> bool:
        """Worth further launches: neither proven to be faster nor the same."""
        return not self.faster and not self.worse and self.ratio < 1 / WORSE_RATIO


@dataclass(frozen=True)
class Mean:
    """Default over tuned, geometric, above 1: tuned is faster. interval: 95 % over launches; None: too few."""

    ratio: float
    interval: tuple[float, float] | None


def pooled(runs: Iterable[Sequence[CellFactor]]) -> list[CellFactor]:
    """Factors of several runs of the same files: the pairs of each cell and view together."""
    found: dict[tuple[CollectiveCell, str], CellFactor] = {}
    for one in (one for run in runs for one in run):
        before = found.get((one.cell, one.view))
        found[one.cell, one.view] = one if before is None else replace(before, pairs=before.pairs + one.pairs)
    return [found[place] for place in sorted(found, key=lambda place: place[0])]


def with_picks(factors: Sequence[CellFactor], chosen: Sequence[Pick]) -> list[CellFactor]:
    """Each factor with what its cell takes."""
    by_cell = {CollectiveCell(one.collective, one.ranks, one.bytes): one for one in chosen}
    return [replace(factor, pick=by_cell.get(factor.cell)) for factor in factors]


def proven(factors: Sequence[CellFactor]) -> list[Pick]:
    """Picks of cells that were faster."""
    return [factor.pick for factor in factors if factor.pick is not None and factor.faster]


def to_go(factors: Sequence[CellFactor]) -> set[Pick]:
    """Picks that a verification speaks against.

    One whose own cell gains nothing any more in any view; all of a collective with a cell that got worse, since a file,
    or a look into a table, reaches its other lengths too; the level is corrected for the views of the cell. A cell of a
    collective without any pick speaks against the library's file as a whole, which is read for all collectives; there
    are many such cells, so their level is corrected for that.
    """
    gone = {factor.pick for factor in factors if factor.pick is not None and factor.ratio > 1 / WORSE_RATIO}
    picks = {factor.pick for factor in factors if factor.pick is not None}
    reached = {(pick.collective, pick.ranks) for pick in picks}
    views = Counter(factor.cell for factor in factors)
    spoilt = {_group(one) for one in factors if one.worse_at(1 - (1 - _LEVEL) / views[one.cell])}
    gone |= {pick for pick in picks if (pick.collective, pick.ranks) in spoilt}
    untouched = [factor for factor in factors if _group(factor) not in reached]
    level = 1 - (1 - _LEVEL) / max(1, len(untouched))
    if any(one.worse_at(level) for one in untouched):
        gone |= {pick for pick in picks if pick.kind == "algorithm"}
    return gone


def geometric_mean(factors: Sequence[CellFactor]) -> Mean | None:
    """Over cells, launch by launch; the interval is over launches. None: no cell."""
    count = min((len(factor.pairs) for factor in factors), default=0)
    if count == 0:
        return None
    logs = np.log(np.array([factor.pairs[:count] for factor in factors], dtype=np.float64)).mean(axis=0)
    found = paired(np.exp(logs[:, 0]), np.exp(logs[:, 1]), WORSE_RATIO - 1)
    if found.interval is None or found.level is None:
        return Mean(1 / found.ratio, None)
    return Mean(1 / found.ratio, (1 / found.interval[1], 1 / found.interval[0]))


def counts(factors: Sequence[CellFactor]) -> Mapping[str, int]:
    """Cells whose whole interval says faster or slower, and all others."""
    better = sum(factor.faster for factor in factors)
    worse = sum(factor.worse for factor in factors)
    return {"better": better, "same": len(factors) - better - worse, "worse": worse}


def _group(one: CellFactor) -> tuple[str, int]:
    return one.cell.collective, one.cell.ranks
