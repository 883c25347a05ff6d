# SPDX-License-Identifier: Apache-2.0
"""How often the gate is wrong on this machine, from the launches of one recorded run. Pure.

The launches of a run are all of the same thing. Dealt out at random to two sides of equal size they are two runs that
do not differ, and a gate between them that fails is a false alarm. With the launch values of one cell of one side
multiplied by 1 + slowdown they are two runs that differ in that one cell, and the gate has to name it. Nothing else is
changed: noise, its shape, and what the cells of a launch have in common, are those of the record.

Splits share launches, so the interval of a rate is that of drawing splits from this record, not of recording anew. The
gates between neighbouring halves of consecutive blocks share none, and hold the drift of the machine; they are few.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from slowpath.compare.chosen import chosen_metrics
from slowpath.compare.comparable import ACCEPTABLE
from slowpath.compare.comparison import SCHEMA
from slowpath.compare.gate import LAUNCHES, MINIMUM_EFFECT, Gate, gate
from slowpath.compare.launches_needed import launches_needed
from slowpath.compare.read import Source
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import UsageError
from slowpath.stats.modes import wilson

CELLS = 50
SLOWDOWN = 0.08
TRIALS = 400
FALSE_AT_MOST, CAUGHT_AT_LEAST = 0.04, 0.90


class Rate(msgspec.Struct, frozen=True):
    """`count` of `of` gates; interval: Wilson, 95 %. None where there was no gate."""

    count: int
    of: int
    share: float | None
    interval: tuple[float, float] | None


class SelfTest(msgspec.Struct, frozen=True):
    """What `slowpath gate --self-test` reports; its JSON is this, field by field.

    false_alarms: gates between equal sides that end with regression; undecided: that end so.
    caught: gates with one planted slowdown that name its cell.  in_order: false alarms between neighbouring blocks.
    between_ratio: median over cells of the standard deviation of log launch values.  met: both rates meet their goal.
    launches_needed: a side, about, to catch the slowdown at this spread; None: it is not above the minimum effect.
    """

    schema: int
    kind: str
    run: str
    cells: int
    left_out: int
    launches: int
    launches_each: int
    slowdown: float
    minimum_effect: float
    seed: int
    between_ratio: float
    launches_needed: int | None
    false_alarms: Rate
    undecided: Rate
    caught: Rate
    in_order: Rate
    met: bool


def self_test(
    source: Source,
    launches_each: int = LAUNCHES,
    slowdown: float = SLOWDOWN,
    trials: int = TRIALS,
    minimum_effect: float = MINIMUM_EFFECT,
    seed: int = 1,
) -> SelfTest:
    """Rates of false alarms and of slowdowns caught.

    Args:   launches_each: on each side of a gate.  slowdown: of one cell, relative.  trials: gates of each kind.
    Raises: UsageError: the run has fewer than 2 launches_each launches, or no cell that all of them measured.
    """
    cells, launches = _whole(source)
    if launches < 2 * launches_each:
        raise UsageError(
            f"{source.path}: {launches} launches of each cell; two sides of {launches_each} need {2 * launches_each}: "
            f"run it with --rounds {2 * launches_each} or more, or lower --launches"
        )
    rng = np.random.default_rng(seed)
    equal, caught = [], 0
    for _ in range(trials):
        order: list[int] = rng.permutation(launches)[: 2 * launches_each].tolist()
        chosen = _some(cells, rng)
        slow = chosen[int(rng.integers(len(chosen)))].cell
        sides = _sides(source, chosen, order[:launches_each], order[launches_each:])
        equal.append(_gate(sides[1], sides[0], minimum_effect).outcome)
        planted = _gate(_slowed(sides[1], slow, 1.0 + slowdown), sides[0], minimum_effect)
        caught += _names(planted, slow)
    in_order = [_gate(b, a, minimum_effect).outcome for a, b in _blocks(source, cells, launches, launches_each)]
    false_alarms, found = _rate(equal.count("regression"), trials), _rate(caught, trials)
    spread, size = statistics.median(_spread(cell) for cell in cells), min(len(cells), CELLS)
    return SelfTest(
        schema=SCHEMA,
        kind="gate self-test",
        run=str(source.path),
        cells=size,
        left_out=len(source.results.cells) - len(cells),
        launches=launches,
        launches_each=launches_each,
        slowdown=slowdown,
        minimum_effect=minimum_effect,
        seed=seed,
        between_ratio=spread,
        launches_needed=launches_needed(spread, slowdown, minimum_effect, size),
        false_alarms=false_alarms,
        undecided=_rate(equal.count("undecided"), trials),
        caught=found,
        in_order=_rate(in_order.count("regression"), len(in_order)),
        met=(false_alarms.share or 0.0) <= FALSE_AT_MOST and (found.share or 0.0) >= CAUGHT_AT_LEAST,
    )


def _gate(run: Source, baseline: Source, minimum_effect: float) -> Gate:
    """Both sides are one run, so that nothing but launches can differ, and launches that it lacks are on neither."""
    return gate(run, baseline, minimum_effect, accept=ACCEPTABLE)


def _whole(source: Source) -> tuple[list[CellResult], int]:
    """Cells that every launch measured, each with the metric that a gate takes; how many launches."""
    known = [cell for cell in source.results.cells if cell.status == "ok" and _steady(cell) is not None]
    launches = max((len(found.launch_values) for cell in known if (found := _steady(cell))), default=0)
    whole = [cell for cell in known if (found := _steady(cell)) and len(found.launch_values) == launches]
    if not whole:
        raise UsageError(f"{source.path}: has no cell with values of later messages; name a finished run")
    return whole, launches


def _steady(cell: CellResult) -> MetricEstimate | None:
    names = chosen_metrics([cell], ())
    return cell.metrics[names[0]].phases.get("steady") if names else None


def _some(cells: Sequence[CellResult], rng: np.random.Generator) -> list[CellResult]:
    """CELLS of them, other ones in each trial; all where there are no more."""
    if len(cells) <= CELLS:
        return list(cells)
    return [cells[int(i)] for i in sorted(rng.choice(len(cells), CELLS, replace=False))]


def _sides(source: Source, cells: Sequence[CellResult], a: Sequence[int], b: Sequence[int]) -> tuple[Source, Source]:
    """Two runs of these launches. A copy stands for itself: equal keys would pair it with its twin."""
    return _side(source, "a", [_of(cell, a) for cell in cells]), _side(source, "b", [_of(cell, b) for cell in cells])


def _side(source: Source, name: str, cells: list[CellResult]) -> Source:
    run = replace(source.run, id=f"{source.run.id}/{name}")  # else it would be a copy of the other side
    return Source(source.path / name, replace(source.results, cells=cells, run=run))


def _of(cell: CellResult, launches: Sequence[int]) -> CellResult:
    found = _steady(cell)
    assert found is not None  # _whole left no other cell
    return _with(cell, [found.launch_values[int(i)] for i in launches])


def _with(cell: CellResult, values: list[float]) -> CellResult:
    """The cell with these launch values of its metric, and a key of its own."""
    name = chosen_metrics([cell], ())[0]
    metric = cell.metrics[name]
    whole, middle = metric.phases["steady"], statistics.median(values)
    found = replace(whole, value=middle, launches=len(values), launch_values=values, interval=None)
    return replace(cell, key=str(cell.cell), metrics={name: replace(metric, phases={"steady": found})})


def _slowed(side: Source, slow: int, factor: float) -> Source:
    """The side with the values of one cell multiplied; divided, where more is better."""
    cells = []
    for cell in side.results.cells:
        found = _steady(cell)
        if cell.cell == slow and found is not None:
            better = cell.metrics[chosen_metrics([cell], ())[0]].better
            worse = factor if better == "lower" else 1.0 / factor
            cells.append(_with(cell, [value * worse for value in found.launch_values]))
        else:
            cells.append(cell)
    return Source(side.path, replace(side.results, cells=cells))


def _blocks(source: Source, cells: Sequence[CellResult], launches: int, each: int) -> Iterator[tuple[Source, Source]]:
    """Neighbouring halves of consecutive blocks of 2 x each launches, in the order in which they ran."""
    for first in range(0, launches - 2 * each + 1, 2 * each):
        yield _sides(source, cells[:CELLS], range(first, first + each), range(first + each, first + 2 * each))


def _names(found: Gate, cell: int) -> bool:
    """Whether the gate fails and names this cell."""
    return any(one.outcome == "regression" and one.row.b_cell == cell for one in found.rows)


def _spread(cell: CellResult) -> float:
    found = _steady(cell)
    values = found.launch_values if found else []
    return float(np.std(np.log(values), ddof=1)) if len(values) > 1 else 0.0


def _rate(count: int, of: int) -> Rate:
    if of == 0:
        return Rate(0, 0, None, None)
    interval = wilson(count, of)
    return Rate(count, of, count / of, (interval.low, interval.high))
