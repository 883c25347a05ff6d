# SPDX-License-Identifier: Apache-2.0
"""Timelines of chosen variants: one repetition, a row for each rank, and who waits for whom."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from slowpath.core.cannon_results import CannonBest, CannonGroup, CannonTimeline
from slowpath.report import format as fmt
from slowpath.report.cannon.parts import shown_orders
from slowpath.report.cannon.words import INSIDE, PARTS, variant_name
from slowpath.report.figure import Figure, Table
from slowpath.report.svg import timeline
from slowpath.report.svg.timeline import Link, Piece

MOST_RANKS = 36  # rows of a picture


def timeline_figures(group: CannonGroup) -> list[Figure]:
    """The reference, the best and the best that works across nodes, for the largest order and one in the middle."""
    return [_figure(one) for one in _chosen(group)]


def other_timeline_figures(group: CannonGroup) -> list[Figure]:
    """All other styles, for the largest order."""
    chosen = {(one.variant, one.n) for one in _chosen(group)}
    largest = shown_orders(group)[0]
    others = [one for one in group.timelines if one.n == largest and (one.variant, one.n) not in chosen]
    return [replace(_figure(one), table=Table([], [])) for one in others]


def _chosen(group: CannonGroup) -> list[CannonTimeline]:
    by_key = {(one.variant, one.n): one for one in group.timelines}
    chosen = []
    for n in shown_orders(group):
        names = [group.reference, _best(group.best, n), _best(group.best_across_nodes, n)]
        chosen += [by_key[name, n] for name in dict.fromkeys(names) if name and (name, n) in by_key]
    return chosen


def _best(found: list[CannonBest], n: int) -> str | None:
    return next((one.variant for one in found if one.n == n), None)


def _figure(one: CannonTimeline) -> Figure:
    ranks = sorted({interval.rank for interval in one.intervals})
    title = f"{variant_name(one.variant)}, n = {one.n}"
    where = f"launch {one.launch}, repetition {one.repetition + 1}, {fmt.time(one.multiply_s)}"
    if one.clock_hz is not None:
        where += f", the slowest rank at {fmt.quantity(one.clock_hz / 1e9, 'GHz')}"
    if not one.one_clock:
        where += "; the nodes' clocks are not one: each rank's times begin at its own start"
    rows = [[f"rank {rank}", *(fmt.time(_spent(one, rank, part)) for part in INSIDE)] for rank in ranks]
    table = Table(["Rank", *INSIDE], rows)
    if one.reason or len(ranks) > MOST_RANKS:
        why = one.reason or f"{len(ranks)} ranks are too many for a picture; slowpath trace writes them all"
        return Figure(title, f"{where}; {fmt.MISSING} {why}", table)
    return Figure(title, where, table, picture=_picture(one, ranks, title))


def _spent(one: CannonTimeline, rank: int, part: str) -> float:
    return float(sum(i.end_s - i.begin_s for i in one.intervals if (i.rank, i.part) == (rank, part)))


def _picture(one: CannonTimeline, ranks: list[int], title: str) -> Markup:
    row = {rank: place for place, rank in enumerate(ranks)}
    inside = [i for i in one.intervals if i.part in PARTS and i.part != "generate"]
    pieces = [Piece(row[i.rank], f"p-{i.part}", i.step, i.begin_s, i.end_s) for i in inside]
    links = [Link(row[wait.last], row[wait.rank], wait.until_s) for wait in one.waits]
    end_s = max((i.end_s for i in one.intervals), default=0.0)
    longest = "; ".join(f"rank {w.rank} waited {fmt.time(w.until_s - w.begin_s)} for rank {w.last} in step {w.step}"
                     for w in sorted(one.waits, key=lambda w: w.begin_s - w.until_s)[:3])  # fmt: skip
    description = f"{fmt.plural(len(ranks), 'rank')}. {longest or 'No rank waited long for another one.'}"
    return timeline.chart([str(rank) for rank in ranks], pieces, links, 0.0, end_s, title, description)
