# SPDX-License-Identifier: Apache-2.0
"""Lines: sweeps of one quantity with the cells of their points, and the law that each follows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.roles import Roles
from slowpath.findings.difference import LAW_RATIO, Ratio, Slowdown, ratio_of
from slowpath.findings.facts import Facts, once
from slowpath.findings.laws import fitted, named
from slowpath.findings.sweeps import along, sweeps
from slowpath.stats.contrast import SIGNIFICANCE
from slowpath.stats.estimate import Floats, mean
from slowpath.stats.laws.choose import Choice, choose
from slowpath.stats.laws.known import LAWS
from slowpath.stats.laws.law import FittedLaw, Law, Sweep

FEWEST_POINTS = 3

FEWEST_EXCESSES = 0.5  # share of the launches in which a point must take longer to be one of an excess


@dataclass(frozen=True)
class Line:
    """A sweep and the cells of its points, in their order."""

    sweep: Sweep
    cells: tuple[CellResult, ...]
    minimum_effect: float

    @cached_property
    def choice(self) -> Choice:
        return choose(self.sweep, LAWS, self.minimum_effect)

    @cached_property
    def law(self) -> FittedLaw:
        return fitted(self.choice, self.sweep, self._choose_again(LAWS))

    def among(self, laws: Sequence[Law]) -> FittedLaw:
        """The law among some: where a rule's question leaves no others."""
        return fitted(self.choose(laws), self.sweep, self._choose_again(laws))

    def _choose_again(self, laws: Sequence[Law]) -> Callable[[Sweep], Choice]:
        return lambda sweep: choose(sweep, laws, self.minimum_effect)

    def choose(self, laws: Sequence[Law]) -> Choice:
        """What can be concluded about these laws alone."""
        return choose(self.sweep, laws, self.minimum_effect)

    @cached_property
    def centre_s(self) -> Floats:
        """Median over launches at each point, shape (points,)."""
        centre: Floats = np.nanmedian(self.sweep.launch_s, axis=0)
        return centre

    @property
    def slowest(self) -> int:
        return int(np.argmax(self.centre_s))

    @property
    def fastest(self) -> int:
        return int(np.argmin(self.centre_s))

    def ratio(self, slow: int, fast: int) -> Ratio:
        """Of two points, over the launches that measured both."""
        times = self.sweep.launch_s[:, [slow, fast]]
        both = times[np.isfinite(times).all(axis=1)]
        if not both.size:
            return Ratio(float(self.centre_s[slow] / self.centre_s[fast]), None, False)
        return ratio_of(both[:, 0], both[:, 1], self.minimum_effect)

    def picked_ratio(self, slow: int, fast: int) -> Ratio:
        """As `ratio`, of two points that were picked because they lie apart, which among many points some always do:
        `beyond` only where its end at 95 % for all points together (Bonferroni) is LAW_RATIO or more, too.
        """
        found = self.ratio(slow, fast)
        times = np.log(self.sweep.launch_s[:, [slow, fast]])
        both = times[np.isfinite(times).all(axis=1)]
        if found.interval is None or not both.size:
            return found
        wide = mean(both[:, 0] - both[:, 1]).interval(1 - SIGNIFICANCE / self.sweep.points)
        return replace(found, beyond=found.beyond and wide is not None and wide.low >= np.log(LAW_RATIO))

    def is_fixed(self, covariate: str) -> bool:
        return covariate not in self.sweep.covariates or bool(np.ptp(self.sweep.covariates[covariate]) == 0)


class Lines:
    """All lines of a set of cells.

    Args: roles: of their parameters.
          pooled: the cells are imported logs, each a launch and a condition of its own, which say nothing of that
          condition: their points may stand in one sweep, which has then one launch.
    """

    def __init__(
        self,
        cells: Sequence[CellResult],
        minimum_effect: float,
        roles: Roles,
        *,
        pooled: bool = False,
    ) -> None:
        self._cells = [_plain(_pooled(cell) if pooled else cell) for cell in cells]
        self._originals = {cell.cell: cell for cell in cells}
        self._minimum_effect = minimum_effect
        self._roles = roles
        self._along: dict[tuple[tuple[str, ...], str], list[Line]] = {}

    def along(self, covariates: Sequence[str], phase: str) -> list[Line]:
        """Lines on which one of the covariates varies, in the order of the cells."""
        key = (tuple(covariates), phase)
        if key not in self._along:
            self._along[key] = [
                self._line(part)
                for sweep in self._sweeps
                if sweep.phase == phase
                for name in covariates
                if name in sweep.varied()
                for part in along(sweep, name, FEWEST_POINTS)
            ]
        return self._along[key]

    @cached_property
    def _sweeps(self) -> list[Sweep]:
        return sweeps(self._cells, self._roles, FEWEST_POINTS)

    def _line(self, sweep: Sweep) -> Line:
        return Line(sweep, tuple(self._originals[number] for number in sweep.cells), self._minimum_effect)


def _plain(cell: CellResult) -> CellResult:
    """Without the length of a block where their number is there: one follows from the other and the message."""
    if "blocks" not in cell.parameters or "block_bytes" not in cell.parameters:
        return cell
    rest = {name: value for name, value in cell.parameters.items() if name != "block_bytes"}
    return msgspec.structs.replace(cell, parameters=rest)


def _pooled(cell: CellResult) -> CellResult:
    return msgspec.structs.replace(cell, environment="", placement="", group="")


def excess(line: Line, fast: Sequence[CellResult], phase: str) -> Line | None:
    """The line less what each point takes otherwise: in another phase, or in another cell of the same launches.

    Args:    fast: one cell for each point; phase: of these.
    Returns: the points that take longer in most launches, less those launches in which they do not; None when fewer
             than three are left, or launches don't match.
    """
    times, kept = [], []
    for point, cell in enumerate(fast):
        estimate = cell.estimate(line.sweep.metric, phase)
        if estimate is None or len(estimate.launch_values) != line.sweep.launches:
            continue
        more = line.sweep.launch_s[:, point] - np.array(estimate.launch_values, dtype=np.float64)
        more[more <= 0] = np.nan
        if np.isfinite(more).mean() > FEWEST_EXCESSES:
            times.append(more)
            kept.append(point)
    if len(kept) < FEWEST_POINTS:
        return None
    mask = np.zeros(line.sweep.points, dtype=np.bool_)
    mask[kept] = True
    own = list(fast) == list(line.cells)
    sweep = replace(line.sweep.take(mask), launch_s=np.array(times).T, less_phase=phase if own else "")
    sweep = sweep if own else replace(sweep, cells=())
    measured = np.isfinite(sweep.launch_s).any(axis=1)
    sweep = replace(sweep, launch_s=sweep.launch_s[measured])
    return replace(line, sweep=sweep, cells=tuple(line.cells[point] for point in kept))


@once
def _lines(facts: Facts) -> Lines:
    return Lines(facts.every_cell, facts.minimum_effect, facts.roles, pooled=facts.imported)


def lines_along(facts: Facts, *covariates: str, phase: str, metrics: Iterable[str]) -> list[Line]:
    """Return the lines in which one of these covariates varies and nothing else that does not follow from it."""
    wanted = set(metrics)
    return [line for line in _lines(facts).along(covariates, phase) if line.sweep.metric in wanted]


def law_over(facts: Facts, covariate: str, slowdown: Slowdown, names: Sequence[str]) -> FittedLaw | None:
    """Return which of these laws the line through the slow cell follows; None: it lies on no such line."""
    lines = lines_along(facts, covariate, phase=slowdown.slow_phase, metrics=(slowdown.metric,))
    through = (line for line in lines if any(cell is slowdown.slow for cell in line.cells))
    line = next(through, None)
    return line.among(named(names)) if line is not None else None
