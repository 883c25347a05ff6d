# SPDX-License-Identifier: Apache-2.0
"""Strong and weak scaling: time and parallel efficiency over the number of ranks, a curve for each style."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cannon_results import CannonScaling, ScalingPoint
from slowpath.report import format as fmt
from slowpath.report.cannon.curves import value_words
from slowpath.report.cannon.words import variant_name
from slowpath.report.figure import Figure, Table
from slowpath.report.svg import over_n
from slowpath.report.svg.over_n import RANKS, Axes, Mark, Series

HEAD = ["Style", "Ranks", "n", "Time", "Interval", "Speed-up", "Interval", "Efficiency", "Interval"]


def scaling_figures(found: Sequence[CannonScaling]) -> list[Figure]:
    """Two panels for each n (strong) or block (weak): time, and efficiency where ranks have cores of their own."""
    panels: dict[tuple[str, str], list[CannonScaling]] = {}
    for one in found:
        panels.setdefault((_title(one), _where(one, found)), []).append(one)
    made = []
    for (title, where), curves in panels.items():
        for start in range(0, len(curves), over_n.MOST):
            some = curves[start : start + over_n.MOST]
            made += [_times(some, title, where), _efficiency(some, title, where)]
    return [figure for figure in made if figure]


def scaling_note(found: Sequence[CannonScaling]) -> str:
    """What was compared, and which numbers of ranks claim nothing."""
    if not found:
        return ""
    over = sorted({point.ranks for one in found for point in one.points if point.oversubscribed})
    words = "Each style with several numbers of ranks, round by round. Efficiency is the rate of a rank over that with "
    words += f"{fmt.plural(found[0].base_ranks, 'rank')}. Weak: a rank's block of the matrices keeps its size."
    if over:
        words += (
            f" Oversubscribed with {_either(over)} ranks, which share cores: times stand, no efficiency is claimed."
        )
    return words


def _either(counts: Sequence[int]) -> str:
    *most, last = map(str, counts)
    return f"{', '.join(most)} and {last}" if most else last


def _title(one: CannonScaling) -> str:
    return f"Strong scaling, n = {one.n}" if one.kind == "strong" else f"Weak scaling, blocks of {one.block}"


def _where(one: CannonScaling, found: Sequence[CannonScaling]) -> str:
    """What sets a curve apart from others of the same title: MPI, environment, placement, parameters that vary."""
    about = ("mpi", "environment", "placement")
    words = [str(getattr(one, name)) for name in about if len({getattr(c, name) for c in found}) > 1]
    names = [name for name in one.parameters if len({c.parameters.get(name) for c in found}) > 1]
    return ", ".join(words + [f"{name}={one.parameters[name]}" for name in names])


def _times(curves: Sequence[CannonScaling], title: str, where: str) -> Figure | None:
    series = [
        Series(_name(one), tuple((p.ranks, p.multiply_s.value, p.multiply_s.interval) for p in one.points))
        for one in curves
    ]
    over = [point.ranks for one in curves for point in one.points if point.oversubscribed]
    marks = [Mark("oversubscribed from here", min(over), None)] if over else []
    picture = over_n.chart(series, Axes("time of one multiplication", "s", RANKS), title, marks)
    return Figure(title, where, _table(curves), picture=picture) if picture else None


def _efficiency(curves: Sequence[CannonScaling], title: str, where: str) -> Figure | None:
    series = []
    for one in curves:
        known = [(p.ranks, p.efficiency) for p in one.points if p.efficiency]
        if len(known) > 1:
            series.append(Series(_name(one), tuple((ranks, v.value, v.interval) for ranks, v in known)))
    name = f"{title}: efficiency"
    picture = over_n.chart(series, Axes("efficiency of a rank", "%", RANKS), name, (), 1.0)
    return Figure(name, where, Table([], []), picture=picture) if picture else None


def _name(one: CannonScaling) -> str:
    return variant_name(one.variant)


def _table(curves: Sequence[CannonScaling]) -> Table:
    rows = [
        [
            _name(one),
            f"{p.ranks}, oversubscribed" if p.oversubscribed else str(p.ranks),
            str(p.n),
            *value_words(p.multiply_s, "s", None),
            *value_words(p.speed_up, "×", p.reason),
            *value_words(p.efficiency, "%", p.reason),
        ]
        for one in curves
        for p in one.points
    ]
    return Table(list(HEAD), rows)


def scaling_lines(found: Sequence[CannonScaling]) -> list[str]:
    """For a terminal: a line for each curve, `1 -> 2 ranks`, with what is not claimed."""
    lines = [f"Cannon's algorithm over the number of ranks. {scaling_note(found)}"] if found else []
    for one in found:
        each = [f"{p.ranks}: {value_words(p.multiply_s, 's', '')[0]}{_claimed(p, one.base_ranks)}" for p in one.points]
        lines.append(f"  {_title(one)}, {one.variant}: {', '.join(each)}")
    return lines


def _claimed(point: ScalingPoint, base_ranks: int) -> str:
    """Efficiency with its interval, what it is compared with, or why there is none."""
    if point.oversubscribed:
        return " (oversubscribed)"
    if point.efficiency is None:
        return f" ({point.reason})"
    if point.ranks == base_ranks:
        return ""
    ends = point.efficiency.interval
    shown = f"[{fmt.percent(ends[0])}, {fmt.percent(ends[1])}]" if ends else point.efficiency.interval_kind
    return f" (efficiency {fmt.percent(point.efficiency.value)} {shown})"
