# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm as the page and a terminal show it: advice, curves over n, parts of the time, timelines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from slowpath.core.cannon_results import (
    CannonBest,
    CannonBlas,
    CannonDistribution,
    CannonGroup,
    CannonPoint,
    CannonTimeline,
)
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.cannon.curves import (
    curve_figures,
    scaling_answer,
    scaling_figures,
    scaling_lines,
    scaling_note,
    value_words,
)
from slowpath.report.cannon.tables import (
    clock_lines,
    computation_table,
    critical_answer,
    critical_lines,
    critical_table,
    kernel_lines,
    kernels_table,
    kernels_title,
)
from slowpath.report.cannon.words import INSIDE, PARTS, moving_words, points, variant_name
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.svg import stack, timeline
from slowpath.report.svg.scale import LinearScale
from slowpath.report.svg.timeline import Link, TimelinePiece

MOST_RANKS = 36  # rows of a picture


def timeline_figures(group: CannonGroup) -> list[Figure]:
    """Return timelines of the reference, the best and the best across nodes, for the largest order and a middle one."""
    return [_timeline_figure(shown) for shown in _chosen_timelines(group)]


def other_timeline_figures(group: CannonGroup) -> list[Figure]:
    """Return timelines of all other styles for the largest order."""
    chosen = {(shown.variant, shown.n) for shown in _chosen_timelines(group)}
    largest = shown_orders(group)[0]
    others = [shown for shown in group.timelines if shown.n == largest and (shown.variant, shown.n) not in chosen]
    return [replace(_timeline_figure(shown), table=FigureTable([], [])) for shown in others]


def _chosen_timelines(group: CannonGroup) -> list[CannonTimeline]:
    by_key = {(shown.variant, shown.n): shown for shown in group.timelines}
    chosen = []
    for n in shown_orders(group):
        names = [group.reference, _best_variant(group.best, n), _best_variant(group.best_across_nodes, n)]
        chosen += [by_key[name, n] for name in dict.fromkeys(names) if name and (name, n) in by_key]
    return chosen


def _best_variant(found: list[CannonBest], n: int) -> str | None:
    return next((best.variant for best in found if best.n == n), None)


def _timeline_figure(timeline: CannonTimeline) -> Figure:
    ranks = sorted({interval.rank for interval in timeline.intervals})
    title = f"{variant_name(timeline.variant)}, n = {timeline.n}"
    where = f"launch {timeline.launch}, repetition {timeline.repetition + 1}, {fmt.time(timeline.multiply_s)}"
    if timeline.clock_hz is not None:
        where += f", the slowest rank at {fmt.quantity(timeline.clock_hz / 1e9, 'GHz')}"
    if not timeline.one_clock:
        where += "; the nodes' clocks are not synchronised: each rank's times begin at its own start"
    rows = [[f"rank {rank}", *(fmt.time(_spent(timeline, rank, part)) for part in INSIDE)] for rank in ranks]
    table = FigureTable(["Rank", *INSIDE], rows)
    if timeline.reason or len(ranks) > MOST_RANKS:
        why = timeline.reason or f"{len(ranks)} ranks don't fit into a picture; slowpath trace writes them all"
        return Figure(title, f"{where}; {fmt.MISSING} {why}", table)
    return Figure(title, where, table, picture=_timeline_picture(timeline, ranks, title))


def _spent(timeline: CannonTimeline, rank: int, part: str) -> float:
    return float(sum(i.end_s - i.begin_s for i in timeline.intervals if (i.rank, i.part) == (rank, part)))


def _timeline_picture(found: CannonTimeline, ranks: list[int], title: str) -> Markup:
    row = {rank: place for place, rank in enumerate(ranks)}
    inside = [i for i in found.intervals if i.part in PARTS and i.part != "generate"]
    pieces = [TimelinePiece(row[i.rank], f"p-{i.part}", i.step, i.begin_s, i.end_s) for i in inside]
    links = [Link(row[wait.last], row[wait.rank], wait.until_s) for wait in found.waits]
    end_s = max((i.end_s for i in found.intervals), default=0.0)
    longest = "; ".join(f"rank {w.rank} waited {fmt.time(w.until_s - w.begin_s)} for rank {w.last} in step {w.step}"
                     for w in sorted(found.waits, key=lambda w: w.begin_s - w.until_s)[:3])  # fmt: skip
    description = f"{fmt.plural(len(ranks), 'rank')}. {longest or 'No rank waited long for another one.'}"
    return timeline.chart([str(rank) for rank in ranks], pieces, links, 0.0, end_s, title, description)


def shown_orders(group: CannonGroup) -> list[int]:
    """Return the largest order and one in the middle."""
    orders = sorted(group.n)
    return list(dict.fromkeys([orders[-1], orders[(len(orders) - 1) // 2]]))


def part_figures(group: CannonGroup, number: int) -> list[Figure]:
    """Return a figure for each shown order.  Args: number: number of the group, for ids."""
    return [_figure(group, n, f"grid-parts-{number}-{n}") for n in shown_orders(group)]


def _figure(group: CannonGroup, n: int, grid: str) -> Figure:
    found = [(variant.variant, point) for variant in group.variants for point in points(group, variant.variant)
             if point.n == n]  # fmt: skip
    longest = max((max(point.multiply_s.value, _inside_s(point)) for _, point in found), default=1e-9)
    scale = LinearScale(0.0, longest * 1.03)
    rows = []
    for variant, point in found:
        whole, ends = point.multiply_s.value, point.multiply_s.interval
        parts = [(f"p-{part}", point.parts_s[part]) for part in INSIDE if part in point.parts_s]
        notes = fmt.time(whole, ends)
        track = stack.track(parts, whole, ends, scale, grid, f"{variant_name(variant)}: {notes}")
        rows.append(TrackRow(variant_name(variant), point.cell, track, notes, _note(point)))
    where = "parts are means over ranks; the vertical tick is the total, from the first start to the last end"
    return Figure(
        f"Where the time goes, n = {n}",
        where,
        _table(group, found),
        stack.axis(scale, grid, "time, mean over ranks"),
        rows,
    )


def _table(group: CannonGroup, found: list[tuple[str, CannonPoint]]) -> FigureTable:
    head = ["Variant", "Time", "Interval"]
    for words in ("Speed-up", "Over the ceiling", "Of cores alone", "Exposed"):
        head += [words, "Interval"]
    head += [f"Hides of what {variant_name(group.reference)} exposes", "Rate", *INSIDE]
    rows = [
        [
            variant_name(variant),
            *value_words(point.multiply_s, "s", None),
            *value_words(point.speed_up, "×", point.speed_up_reason),
            *value_words(point.over_compute, "×", point.over_compute_reason),
            *value_words(point.of_cores, "%", point.of_cores_reason),
            *value_words(point.exposed_ratio, "%", point.exposed_ratio_reason),
            _hidden(point),
            fmt.quantity(point.rate_flops_per_s.value / 1e9, "Gflop/s"),
            *(fmt.time(point.parts_s.get(part)) for part in INSIDE),
        ]
        for variant, point in found
    ]
    return FigureTable(head, rows)


def _hidden(point: CannonPoint) -> str:
    if point.hidden_ratio is None:
        return f"{fmt.MISSING} {point.hidden_ratio_reason}"
    return fmt.percent(point.hidden_ratio, 0)


def _inside_s(point: CannonPoint) -> float:
    return sum(point.parts_s.get(part, 0.0) for part in INSIDE)


def _note(point: CannonPoint) -> str:
    notes = []
    if point.speed_up:
        notes.append(f"speed-up {value_words(point.speed_up, '×', None)[0]}")
    if point.over_compute:
        notes.append(f"{value_words(point.over_compute, '×', None)[0]} the ceiling")
    if point.exposed_ratio:
        notes.append(f"{value_words(point.exposed_ratio, '%', None)[0]} exposed")
    return ", ".join(notes)


# A page is smaller than 1 MB (docs/reference/report.md), and a run over many numbers of ranks has many timelines.
MOST_TIMELINE_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group of the results' `cannon`.

    Args: legend: class and name of each part that occurs. left_out: number of timelines for which the page has no room.
    """

    label: str
    advice: str
    facts: list[tuple[str, str]]
    best: FigureTable
    critical: FigureTable
    computation: FigureTable
    curves: list[Figure]
    parts: list[Figure]
    timelines: list[Figure]
    other_timelines: list[Figure]
    legend: list[tuple[str, str, str]]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class CannonView:
    """The section of the page. `scaling` has panels over the number of ranks, if the run has several."""

    groups: list[GroupView]
    kernels: list[FigureTable]
    kernel_titles: list[str]
    scaling: list[Figure]
    scaling_note: str


def cannon_view(results: Results) -> CannonView | None:
    """Return the section, or None in a run without cells of the experiment cannon."""
    if results.cannon is None:
        return None
    groups = [_group(group, number) for number, group in enumerate(results.cannon.groups)]
    groups = _within_the_page(groups)
    tables = [kernels_table(shown) for shown in results.cannon.kernels]
    titles = [kernels_title(shown) for shown in results.cannon.kernels]
    return CannonView(
        groups, tables, titles, scaling_figures(results.cannon.scaling), scaling_note(results.cannon.scaling)
    )


def _within_the_page(groups: list[GroupView]) -> list[GroupView]:
    """Keep as many timelines as the page has room for, the chosen ones of every group first."""
    left = MOST_TIMELINE_BYTES

    def fitting(figures: list[Figure]) -> list[Figure]:
        nonlocal left
        kept = []
        for figure in figures:
            if (size := len(figure.picture or "")) <= left:
                left -= size
                kept.append(figure)
        return kept

    chosen = [fitting(group.timelines) for group in groups]
    others = [fitting(group.other_timelines) for group in groups]
    return [
        replace(
            view,
            timelines=first,
            other_timelines=rest,
            left_out=len(view.timelines) + len(view.other_timelines) - len(first) - len(rest),
        )
        for view, first, rest in zip(groups, chosen, others, strict=True)
    ]


def _group(group: CannonGroup, number: int) -> GroupView:
    occurring = {part for variant in group.variants for point in variant.points for part in point.parts_s}
    legend = [(f"p-{part}", part, words) for part, words in PARTS.items() if part in occurring and part != "generate"]
    advice = group.advice or f"{fmt.MISSING} no advice: {group.advice_reason}"
    return GroupView(group.label, advice, _facts(group), _best(group), critical_table(group),
                       computation_table(group), curve_figures(group),
                       part_figures(group, number), timeline_figures(group), other_timeline_figures(group),
                       legend)  # fmt: skip


def _facts(group: CannonGroup) -> list[tuple[str, str]]:
    grid, blas = group.grid, group.blas
    why = group.setup_reason or "not recorded"
    facts = [("Ranks", str(group.ranks))]
    facts.append(("Grid", f"{grid.rows} × {grid.columns}, {fmt.plural(grid.steps, 'step')}" if grid
                  else f"{fmt.MISSING} {why}"))  # fmt: skip
    if grid and (words := moving_words(grid)):
        facts.append(("Moves", words))
    facts.append(("BLAS", _blas(blas) if blas else f"{fmt.MISSING} {why}"))
    own = "each rank has its own, so exposed shares count"
    facts.append(("Cores", own if group.ranks_have_cores else f"shared: {group.ranks_have_cores_reason}"))
    facts.append(("Repetitions", _disturbed(group)))
    facts.append(("Clock", _clock(group)))
    remarks = {
        variant.variant: point.remark for variant in group.variants for point in variant.points[-1:] if point.remark
    }
    facts += [(variant_name(name), words) for name, words in remarks.items()]
    return facts


def _blas(blas: CannonBlas) -> str:
    known = [
        blas.name,
        blas.core and f"for {blas.core}",
        blas.threads and fmt.plural(blas.threads, "thread"),
    ]
    return ", ".join(str(word) for word in [*known, blas.compiled_for] if word)


def _clock(group: CannonGroup) -> str:
    found = group.clock
    if found is None:
        return f"{fmt.MISSING} {group.clock_reason}"
    lowest, median, highest = (
        fmt.quantity(hz / 1e9, "GHz") for hz in (found.lowest_hz, found.median_hz, found.highest_hz)
    )
    how = "by a loop of counted additions" if found.source == "counted loop" else f"as {found.source} reports"
    return f"{median} after a repetition, from {lowest} to {highest}, {how}"


def _disturbed(group: CannonGroup) -> str:
    """Return how many repetitions were disturbed. They are counted, never dropped."""
    found = group.repetitions
    if found is None:
        return f"{fmt.MISSING} which were disturbed was not reported"
    disturbed = f"{found.all - found.clean} of {found.all} were disturbed"
    return f"{disturbed}; a launch stands for its clean ones where there are enough"


def _best(group: CannonGroup) -> FigureTable:
    rows = []
    across: Mapping[int, CannonBest] = {best.n: best for best in group.best_across_nodes}
    for best in group.best:
        rows.append([str(best.n), *_winner(best), *_winner(across.get(best.n))])
    head = ["n", "Best", "Tied with it", "Best across nodes", "Tied with it"]
    return FigureTable(head, rows)


def _winner(best: CannonBest | None) -> tuple[str, str]:
    if best is None:
        return f"{fmt.MISSING} not compared", ""
    if best.variant is None:
        return f"{fmt.MISSING} {best.reason}", ""
    return variant_name(best.variant), ", ".join(variant_name(name) for name in best.same) or "none"


TEXT_HEAD = ("variant", "time", "speed-up", "over ceiling", "of its cores", "exposed")
SOURCE_WORDS = {"root": "through rank 0", "file": "through files"}


def cannon_lines(results: Results) -> list[str]:
    """Return lines, not wrapped, [] in a run without cells of the experiment cannon."""
    groups = results.cannon.groups if results.cannon else []
    scaled = scaling_lines(results.cannon.scaling) if results.cannon else []
    kernels = [line for shown in results.cannon.kernels for line in kernel_lines(shown)] if results.cannon else []
    return [line for group in groups for line in _group_lines(group)] + kernels + scaled + distribution_lines(results)


def cannon_answers(results: Results) -> list[str]:
    """Return which style to take, from which n on the reference exposes little, and how the best style scales.

    Of the first group that has an advice, the first of all where none has.
    """
    if results.cannon is None:
        return []
    found = results.cannon.groups
    group = next((group for group in found if group.advice), found[0])
    where = f" On {fmt.plural(group.ranks, 'rank')}:" if len({each.ranks for each in found}) > 1 else ""
    style = group.advice or f"No style is advised: {group.advice_reason}."
    return [f"{where} {style}".strip(), *critical_answer(group), *scaling_answer(results.cannon.scaling)]


def distribution_lines(results: Results) -> list[str]:
    """Return a line for each n with the cost of inputs from rank 0 or a file."""
    found = results.cannon.distribution if results.cannon else []
    return [
        f"Inputs and product {SOURCE_WORDS.get(distribution.source, distribution.source)}: {_moved(distribution)}"
        for distribution in found
    ]


def _moved(distribution: CannonDistribution) -> str:
    share = (
        f"{fmt.percent(distribution.moved_ratio)} of the multiplication, "
        if distribution.moved_ratio is not None
        else ""
    )
    ratio, kind = value_words(distribution.over_in_place, "×", distribution.over_in_place_reason)
    where = f"{distribution.variant}, n = {distribution.n}, {fmt.plural(distribution.ranks, 'rank')}"
    return f"{share}{ratio} the time ({kind}); {where}."


def _group_lines(group: CannonGroup) -> list[str]:
    largest = max(group.n)
    ranks = fmt.plural(group.ranks, "rank")
    lines = [f"Cannon's algorithm, {group.label}{'' if group.label.endswith(ranks) else f', {ranks}'}:"]
    lines.append("  " + (group.advice or f"No advice: {group.advice_reason}"))
    if group.grid and (moves := moving_words(group.grid)):
        lines.append(f"  {moves}.")
    lines += critical_lines(group) + clock_lines(group)
    table: list[tuple[str, ...]] = [TEXT_HEAD]
    for variant in group.variants:
        table += [
            _variant_row(variant.variant, point) for point in points(group, variant.variant) if point.n == largest
        ]
    widths = [max(len(row[place]) for row in table) for place in range(len(TEXT_HEAD))]
    lines.append(f"  At n = {largest}, speed-up over {group.reference}, ceiling {group.ceiling}:")
    return lines + ["    " + "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in table]


def _variant_row(variant: str, point: CannonPoint) -> tuple[str, ...]:
    values = ((point.speed_up, "×"), (point.over_compute, "×"), (point.of_cores, "%"), (point.exposed_ratio, "%"))
    shown = [value_words(value, unit, "")[0] for value, unit in values]
    return variant, value_words(point.multiply_s, "s", "")[0], *shown
