# SPDX-License-Identifier: Apache-2.0
"""One sentence: which style to use from which block size on. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from slowpath.core.cannon_results import CannonBest, CannonGrid, CannonPoint, Value
from slowpath.core.units import format_ratio
from slowpath.experiments.cannon.variants import CEILING, REFERENCE, YARDSTICKS

Best = Sequence[CannonBest]  # entries of `best` (docs/reference/results.md), ascending n
Points = Mapping[tuple[str, int], CannonPoint]  # (variant, n) -> POINT
Grid = CannonGrid | None

NEEDED = 3  # launches: fewer give no interval, and nothing can be distinguished


def advice(
    best: Best, across: Best, points: Points, grid: Grid, shared_cores: str | None = None
) -> tuple[str | None, str | None]:
    """The sentence, or why there is none.

    Args: best, across: of all variants; of those that run with ranks on several nodes.
          shared_cores: why not every rank has a core of its own; None: each has.
    """
    if grid is not None and grid.steps == 1:
        return None, "one rank: nothing moves, and every style is the local multiplication alone"
    if shared_cores is not None:
        return None, f"ranks share cores, so times are the scheduler's and no style is advised: {shared_cores}"
    chosen = _chosen(best, points)
    if chosen is None:
        return None, "no communicating variant was measured at the largest n"
    styles = {name for name, _ in points if name not in YARDSTICKS}
    if styles == {REFERENCE}:
        return None, f"{REFERENCE} alone was measured, so there is nothing to choose from"
    variant, start = chosen
    sizes = [entry.n for entry in best if entry.n >= start]
    launches = points[variant, sizes[-1]].multiply_s.launches
    if launches < NEEDED:
        return None, f"{launches} launch{'es' * (launches > 1)}: variants can be distinguished from {NEEDED} rounds on"
    smallest = ", the smallest measured" if start == best[0].n else ""
    from_there = f"n = {start} on{_blocks(start, grid)}{smallest}"
    gain = _gain(points, variant, sizes)
    if gain is None:
        return f"No style is decidedly faster than {REFERENCE} from {from_there}{_below(best, start)}.", None
    parts = [f"Take {variant} from {from_there}: {gain}", _at_the_end(best[-1], points[variant, sizes[-1]], variant)]
    return "".join([*parts, _below(best, start), _across(across, points, variant)]) + ".", None


def _equal(entry: CannonBest) -> list[str]:
    """The best variant at one n and those that can't be distinguished from it, the fastest first."""
    return [entry.variant, *entry.same] if entry.variant else []


def _chosen(best: Best, points: Points) -> tuple[str, int] | None:
    """The variant that is best, or not distinguishable from it, over the longest range of n up to the largest, and
    where that range begins; of several the one that is fastest over it.
    """
    if not best or not _equal(best[-1]):
        return None
    reach = {variant: _start(best, variant) for variant in _equal(best[-1])}
    start = min(reach.values())
    sizes = [entry.n for entry in best if entry.n >= start]

    def time(variant: str) -> float:
        return sum(math.log(points[variant, n].multiply_s.value) for n in sizes)

    return min((variant for variant, n in reach.items() if n == start), key=time), start


def _start(best: Best, variant: str) -> int:
    """The smallest n from which on the variant is among the best without a gap."""
    start = best[-1].n
    for entry in reversed(best):
        if variant not in _equal(entry):
            break
        start = entry.n
    return int(start)


def _blocks(n: int, grid: Grid) -> str:
    return f" (blocks of {n // grid.rows} x {n // grid.columns})" if grid else ""


def _value(ratio: Value) -> str:
    """`1.12 [1.10, 1.14]`."""
    interval = ratio.interval
    half = (interval[1] - interval[0]) / 2 if interval else None
    ends = f" [{format_ratio(interval[0], half)}, {format_ratio(interval[1], half)}]" if interval else ""
    return format_ratio(ratio.value, half) + ends


def _gain(points: Points, variant: str, sizes: Sequence[int]) -> str | None:
    """How much faster than the reference, where it gains most and at the largest n; None where it nowhere is."""
    ratios = {n: points[variant, n].speed_up for n in sizes}
    decided = {n: r.value for n, r in ratios.items() if r and r.level and r.interval and r.interval[0] > 1}
    if variant == REFERENCE or (any(ratios.values()) and not decided):
        return None
    if not decided:
        return f"it is the fastest of those measured, {REFERENCE} was not among them"
    most = max(decided, key=lambda n: decided[n])
    shown = [(n, ratio) for n in dict.fromkeys((most, sizes[-1])) if (ratio := ratios[n])]
    first, *more = [f"{_value(ratio)} times%s at n = {n}" for n, ratio in shown]
    return "it is " + " and ".join([first % f" as fast as {REFERENCE}", *(other % "" for other in more)])


def _at_the_end(last: CannonBest, point: CannonPoint, variant: str) -> str:
    """At the largest n: how far from the ceiling, and what can't be distinguished from it."""
    parts = []
    if point.over_compute:
        parts.append(f"takes {_value(point.over_compute)} times as long as {CEILING}")
    if others := [name for name in _equal(last) if name != variant]:
        parts.append(f"can't be distinguished from {', '.join(others)}")
    return f", where it {' and '.join(parts)}" if parts else ""


def _below(best: Best, start: int) -> str:
    below = [f"{entry.variant} at n = {entry.n}" for entry in best if entry.n < start and entry.variant]
    return f"; below, {', '.join(below)}" if below else ""


def _across(across: Best, points: Points, variant: str) -> str:
    """Another one, where the variant needs all ranks on one node."""
    other = _chosen(across, points)
    if other is None or any(variant in _equal(entry) for entry in across):
        return ""
    point = points[other[0], across[-1].n]
    gain = f" ({_value(point.speed_up)} times at n = {point.n})" if point.speed_up else ""
    return f"; of those that also run with ranks on several nodes, {other[0]} from n = {other[1]} on{gain}"
