# SPDX-License-Identifier: Apache-2.0
"""Groups of cells that vary many parameters at once, and what each of them does by itself (stats.screening). Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.units import side_values
from slowpath.findings.difference import CLEAR_RATIO, Difference, Ratio
from slowpath.findings.facts import Facts, once
from slowpath.findings.words import OF_MESSAGES, is_switched_out
from slowpath.stats.estimate import Floats
from slowpath.stats.screening import FactorEffect, Levels, decided, effects


@dataclass(frozen=True, kw_only=True)
class Screened(Difference):
    """One of several parameters that were varied at once: times are means over all runs at either of its levels.

    parameter: of the cells.  side: sender or receiver, where it is that side's alone; None: it has no sides.
    slow_value, fast_value: its levels.  slow, fast: cells at these levels that differ least in other things.  factors:
    varied at once, this one among them.  cells: all runs.
    """

    parameter: str
    side: str | None
    slow_value: str
    fast_value: str
    factors: int
    cells: tuple[CellResult, ...]


FEWEST_FACTORS = 2
MOST_LOST = 0.25  # of the cells at either level of a factor, whose ranks lost their processors to others

_SIDES = ("sender", "receiver")


@dataclass(frozen=True)
class Factor:
    """A parameter, or a side's part of it, that has two values in a group of cells."""

    parameter: str
    side: int | None
    lower: str
    upper: str

    def value(self, cell: CellResult) -> str:
        """Of a cell."""
        return (
            side_values(cell.parameters[self.parameter])[self.side or 0]
            if self.side is not None
            else (cell.parameters[self.parameter])
        )


def screened(cells: Iterable[CellResult], minimum_effect: float) -> Iterator[Screened]:
    """All effects of all such groups, in the order of the cells; `ratio.beyond` is that it is decided."""
    for group in _groups(cells).values():
        factors = factors_of(group)
        if len(factors) < FEWEST_FACTORS or len(group) >= 2 ** len(factors):
            continue  # every combination is there: contrasts speak of it
        yield from _of_group(group, factors, minimum_effect)


def factors_of(cells: Sequence[CellResult]) -> list[Factor]:
    """What varies between cells: the lower value is that of the first cell."""
    found: list[Factor] = []
    first = cells[0].parameters
    for name in first:
        values = list(dict.fromkeys(cell.parameters.get(name, "") for cell in cells))
        if len(values) == 1:
            continue
        sides = [list(dict.fromkeys(side_values(value)[side] for value in values)) for side in (0, 1)]
        if len(values) == 2 and not any(":" in value for value in values):
            found.append(Factor(name, None, *values))
        else:
            found += [Factor(name, i, *values) for i, values in enumerate(sides) if len(values) == 2]
    return found


def _groups(cells: Iterable[CellResult]) -> Mapping[tuple[object, ...], list[CellResult]]:
    """Cells of one group of the campaign in one place, those that were not measured among them."""
    groups: dict[tuple[object, ...], list[CellResult]] = defaultdict(list)
    for cell in cells:
        length = cell.parameters.get("message_bytes")
        groups[cell.group, cell.experiment, cell.mpi, cell.environment, cell.placement, cell.copy, length].append(cell)
    return groups


def _of_group(group: Sequence[CellResult], factors: Sequence[Factor], minimum_effect: float) -> Iterator[Screened]:
    metric = next((one for one in OF_MESSAGES if any(one in cell.metrics for cell in group)), None)
    if metric is None:
        return
    there, times = _measured(group, metric)
    if not there:
        return
    levels: Levels = np.array(
        [[1 if factor.value(cell) == factor.upper else -1 for factor in factors] for cell in there]
    )
    found = effects(levels, times)
    if found is None:
        return
    lost = np.array([is_switched_out(cell) for cell in there])
    for column, (effect, factor, held) in enumerate(zip(found, factors, decided(found, minimum_effect), strict=True)):
        # Others would take processors whatever the factor. At one of its levels alone: what is slow gives them away.
        disturbed = min(lost[levels[:, column] == side].mean() for side in (-1, 1)) > MOST_LOST
        yield _fact(effect, factor, held and not disturbed, there, times, metric, len(factors))


def _measured(group: Sequence[CellResult], metric: str) -> tuple[list[CellResult], Floats]:
    """Cells that all launches measured, and their times, shape (launches, cells), seconds."""
    found = [(cell, one.launch_values) for cell in group if (one := cell.estimate(metric, "steady")) is not None]
    launches = max((len(values) for _, values in found), default=0)
    kept = [(cell, values) for cell, values in found if len(values) == launches]
    return [cell for cell, _ in kept], np.array([values for _, values in kept], dtype=np.float64).T


def _fact(
    effect: FactorEffect,
    factor: Factor,
    held: bool,
    cells: Sequence[CellResult],
    times: Floats,
    metric: str,
    factors: int,
) -> Screened:
    ratio, interval = effect.ratio, effect.interval
    slow_value, fast_value = factor.upper, factor.lower
    if ratio < 1:
        ratio, slow_value, fast_value = 1 / ratio, fast_value, slow_value
        interval = (1 / interval[1], 1 / interval[0]) if interval else None
    logs = np.median(np.log(times), axis=0)
    slow = [i for i, cell in enumerate(cells) if factor.value(cell) == slow_value]
    fast = [i for i, cell in enumerate(cells) if factor.value(cell) == fast_value]
    one, other = _nearest(cells, slow, fast)
    fast_s = float(np.exp(logs[fast].mean()))
    return Screened(
        slow=one,
        fast=other,
        metric=metric,
        slow_s=fast_s * ratio,
        fast_s=fast_s,
        ratio=Ratio(ratio, interval, held and not effect.with_factors),
        parameter=factor.parameter,
        side=None if factor.side is None else _SIDES[factor.side],
        slow_value=slow_value,
        fast_value=fast_value,
        factors=factors,
        cells=tuple(cells),
    )


def _nearest(cells: Sequence[CellResult], slow: Sequence[int], fast: Sequence[int]) -> tuple[CellResult, CellResult]:
    """A cell of each level, of those that share most parameters the first."""
    pairs = [(cells[i], cells[j]) for i in slow for j in fast]
    return min(pairs, key=lambda pair: len(pair[0].parameters.items() ^ pair[1].parameters.items()))


@once
def _decided(facts: Facts) -> tuple[Screened, ...]:
    return tuple(effect for effect in screened(facts.every_cell, facts.minimum_effect) if effect.ratio.beyond)


def screened_effects(facts: Facts, *parameters: str) -> list[Screened]:
    """Return what these parameters do where many were varied at once, where that is decided and clear."""
    decided = _decided(facts)
    return [effect for effect in decided if effect.parameter in parameters and effect.ratio.least > CLEAR_RATIO]
