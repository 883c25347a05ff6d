# SPDX-License-Identifier: Apache-2.0
"""The gate's self-test: how often the gate is wrong on this machine, from the launches of a recorded run. Pure.

All launches of a run measure the same. Split at random into two sides of equal size, they form two runs that do not
differ, and a gate between them that fails is a false alarm. If the launch values of one cell on one side are
multiplied by 1 + slowdown, the runs differ in that cell, and the gate must name it. Nothing else changes: noise, its
shape, and what the cells of a launch share are those of the record.

Splits share launches, so the interval of a rate describes splits of this record, not new records. Gates between
neighbouring halves of consecutive blocks share no launches and include the drift of the machine, but there are few.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from msgspec.structs import replace

from slowpath.compare.comparable import ACCEPTABLE
from slowpath.compare.comparison import SCHEMA
from slowpath.compare.comparison_text import wrap
from slowpath.compare.gate import LAUNCHES, MINIMUM_EFFECT, Gate, gate
from slowpath.compare.pairs import chosen_metrics
from slowpath.compare.read import RunSource
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.clean import cleaned
from slowpath.core.errors import UsageError
from slowpath.stats.modes import wilson

CHANCE = 0.90
LEVEL = 0.05


def launches_needed(between_ratio: float, slowdown: float, minimum_effect: float, cells: int) -> int | None:
    """Return the launches per side that a gate needs to catch one slow cell, by the normal approximation.

    The ratio of two sides of n launches has the standard error s sqrt(2 / n) on a log scale, with s that of one launch.
    To be caught it must, with a chance of CHANCE, lie above the minimum effect and be significant after correction for
    all cells. A slowdown that is not above the minimum effect is never caught, and gives None.

    Args: between_ratio: standard deviation of log launch values.  cells: number of cells in the gate.
    """
    if slowdown <= minimum_effect:
        return None
    normal = NormalDist()
    reserve = normal.inv_cdf(CHANCE)
    # Benjamini and Hochberg's threshold for the smallest of `cells` p values, two-sided.
    significant = normal.inv_cdf(1.0 - LEVEL / (2.0 * cells))
    above = (math.log1p(slowdown) - math.log1p(minimum_effect)) / reserve
    error = min(above, math.log1p(slowdown) / (significant + reserve))
    return math.ceil(2.0 * (between_ratio / error) ** 2)


CELLS = 50
SLOWDOWN = 0.08
TRIALS = 400
FALSE_AT_MOST, CAUGHT_AT_LEAST = 0.04, 0.90


class Rate(msgspec.Struct, frozen=True):
    """The share of gates with an outcome: `count` of `of`, with its Wilson interval at 95 %. None without gates."""

    count: int
    of: int
    share: float | None
    interval: tuple[float, float] | None


class SelfTest(msgspec.Struct, frozen=True):
    """The result of `slowpath gate --self-test`, and the format of its JSON.

    false_alarms: gates between equal sides that end with regression; undecided: that end so.
    caught: gates with one planted slowdown that name its cell.  in_order: false alarms between neighbouring blocks.
    between_ratio: median over cells of the standard deviation of log launch values.  met: both rates meet their goal.
    launches_needed: launches per side, about, to catch the slowdown; None if it is not above the minimum effect.
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
    source: RunSource,
    launches_each: int = LAUNCHES,
    slowdown: float = SLOWDOWN,
    trials: int = TRIALS,
    minimum_effect: float = MINIMUM_EFFECT,
    seed: int = 1,
) -> SelfTest:
    """Measure the rates of false alarms and of caught slowdowns.

    Args:   launches_each: on each side of a gate.  slowdown: of one cell, relative.  trials: gates of each kind.
    Raises: UsageError: the run has fewer than 2 launches_each launches, or no cell that all of them measured.
    """
    cells, launches = _whole(source)
    if launches < 2 * launches_each:
        raise UsageError(
            f"{source.path}: {launches} launches of each cell, but two sides of {launches_each} need "
            f"{2 * launches_each}: run it with --rounds {2 * launches_each} or more, or lower --launches"
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


def _gate(run: RunSource, baseline: RunSource, minimum_effect: float) -> Gate:
    """Judge one side against the other. Both are the same run, so only launches differ and no doubt applies."""
    return gate(run, baseline, minimum_effect, accept=ACCEPTABLE)


def _whole(source: RunSource) -> tuple[list[CellResult], int]:
    """Return the cells that every launch measured, and the number of launches."""
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
    """Return CELLS random cells, or all if there are no more."""
    if len(cells) <= CELLS:
        return list(cells)
    return [cells[int(i)] for i in sorted(rng.choice(len(cells), CELLS, replace=False))]


def _sides(
    source: RunSource, cells: Sequence[CellResult], a: Sequence[int], b: Sequence[int]
) -> tuple[RunSource, RunSource]:
    """Return two runs of these launches. Copies of a cell get keys of their own, so that they don't pair up."""
    return _side(source, "a", [_of(cell, a) for cell in cells]), _side(source, "b", [_of(cell, b) for cell in cells])


def _side(source: RunSource, name: str, cells: list[CellResult]) -> RunSource:
    run = replace(source.run, id=f"{source.run.id}/{name}")  # else it would be a copy of the other side
    return RunSource(source.path / name, replace(source.results, cells=cells, run=run))


def _of(cell: CellResult, launches: Sequence[int]) -> CellResult:
    found = _steady(cell)
    assert found is not None  # _whole left no other cell
    return _with(cell, [found.launch_values[int(i)] for i in launches])


def _with(cell: CellResult, values: list[float]) -> CellResult:
    """Return the cell with these launch values of its metric, and a key of its own."""
    name = chosen_metrics([cell], ())[0]
    metric = cell.metrics[name]
    whole, middle = metric.phases["steady"], statistics.median(values)
    found = replace(whole, value=middle, launches=len(values), launch_values=values, interval=None)
    return replace(cell, key=str(cell.cell), metrics={name: replace(metric, phases={"steady": found})})


def _slowed(side: RunSource, slow: int, factor: float) -> RunSource:
    """Return the side with the values of one cell made worse by `factor`."""
    cells = []
    for cell in side.results.cells:
        found = _steady(cell)
        if cell.cell == slow and found is not None:
            better = cell.metrics[chosen_metrics([cell], ())[0]].better
            worse = factor if better == "lower" else 1.0 / factor
            cells.append(_with(cell, [value * worse for value in found.launch_values]))
        else:
            cells.append(cell)
    return RunSource(side.path, replace(side.results, cells=cells))


def _blocks(
    source: RunSource, cells: Sequence[CellResult], launches: int, each: int
) -> Iterator[tuple[RunSource, RunSource]]:
    """Yield neighbouring halves of consecutive blocks of 2 x `each` launches, in the order in which they ran."""
    for first in range(0, launches - 2 * each + 1, 2 * each):
        yield _sides(source, cells[:CELLS], range(first, first + each), range(first + each, first + 2 * each))


def _names(found: Gate, cell: int) -> bool:
    """Return whether the gate fails and names this cell."""
    return any(judged.outcome == "regression" and judged.row.b_cell == cell for judged in found.rows)


def _spread(cell: CellResult) -> float:
    found = _steady(cell)
    values = found.launch_values if found else []
    return float(np.std(np.log(values), ddof=1)) if len(values) > 1 else 0.0


def _rate(count: int, of: int) -> Rate:
    if of == 0:
        return Rate(0, 0, None, None)
    interval = wilson(count, of)
    return Rate(count, of, count / of, (interval.low, interval.high))


@cleaned
def render_self_test(found: SelfTest) -> str:
    """Return the text that `slowpath gate --self-test` prints, with a newline at the end."""
    head = "MET" if found.met else "MISSED"
    left_out = f", {found.left_out} without a value of every launch left out" if found.left_out else ""
    lines = [
        wrap(
            f"{head}: gates of {found.cells} cells, {found.launches_each} launches a side, minimum effect "
            f"{100 * found.minimum_effect:g} %, drawn from {found.launches} launches of {found.run}{left_out}"
        ),
        _line("false alarms, nothing differs", found.false_alarms, f"at most {100 * FALSE_AT_MOST:g} %"),
        _line("undecided, nothing differs", found.undecided, ""),
        _line(
            f"caught, one cell {100 * found.slowdown:g} % slower", found.caught, f"at least {100 * CAUGHT_AT_LEAST:g} %"
        ),
        _line("false alarms, launches in order", found.in_order, "includes drift"),
        wrap(
            f"A cell varies by {100 * found.between_ratio:.2g} % between launches (standard deviation, median over "
            f"cells){_needed(found)}. The slowdown multiplies recorded launch values. Splits share launches: the "
            f"intervals (Wilson, 95 %) describe splits of this record. Seed {found.seed}."
        ),
    ]
    return "\n".join(lines) + "\n"


def _needed(found: SelfTest) -> str:
    if found.launches_needed is None:
        return ". A slowdown up to the minimum effect is never caught"
    return f". Catching the slowdown at this spread takes about {found.launches_needed} launches per side"


def _line(what: str, rate: Rate, goal: str) -> str:
    if rate.share is None or rate.interval is None:
        return f"  {what:<34} no gate"
    low, high = rate.interval
    shown = f"{rate.count} of {rate.of}, {100 * rate.share:.3g} % [{100 * low:.3g}, {100 * high:.3g}]"
    return f"  {what:<34} {shown:<34} {goal}".rstrip()
