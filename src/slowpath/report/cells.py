# SPDX-License-Identifier: Apache-2.0
"""Cells and contrasts of a run as figures and tables: contrasts, first messages, sizes, distributions, node pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from slowpath.analyse.reference import identity
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.result import Interval
from slowpath.core.results import ContrastResult, NodePair, NodePairs, Results
from slowpath.core.units import format_ratio
from slowpath.experiments.coll import COLL
from slowpath.report import format as fmt
from slowpath.report.cards import anchor
from slowpath.report.figure import (
    MOST_SERIES,
    Axis,
    Block,
    Cell,
    Copied,
    Facts,
    Figure,
    Fold,
    Group,
    Mark,
    Matrix,
    Plot,
    Point,
    Quantity,
    Row,
    Rows,
    Section,
    Series,
    Shown,
    Square,
    Table,
    Text,
    grouped,
    heading,
    numbers,
    times,
)
from slowpath.stats.contrast import benjamini_hochberg, judge, paired
from slowpath.stats.estimate import T_LAUNCHES, estimate_of

# ---- Contrasts

_MOST_UNMEASURED = 3  # of a group with a row each; more of them are one line for each reason
_WORDS = ("slower", "faster", "same", "undecided", "not measured")
_CONTRASTS_LEAD = "A ratio above 1 means that the first side is slower."


def interval_words(contrast: ContrastResult) -> str:
    """Return the interval, such as `[2.55, 2.90], signed-rank 95 %`, or why there is none."""
    shown = fmt.ratio_interval(contrast.ratio, contrast.interval)
    return fmt.with_kind(shown, contrast.interval_kind or contrast.reason)


def word(contrast: ContrastResult) -> str:
    """Return the verdict, or that there is none."""
    return contrast.verdict or "not measured"


def title(contrast: ContrastResult) -> str:
    """Return the comparison, such as `small against huge`; numbers get the name of their parameter."""
    axis = contrast.axis.replace("_", " ")
    values = [side.value for side in (contrast.b, contrast.a)]
    return " against ".join(f"{axis} {value}" if value.isdecimal() else value for value in values)


def common(contrast: ContrastResult) -> str:
    """Return what both sides share, or their labels if nothing is recorded and the title does not name them."""
    a, b = contrast.a, contrast.b
    labels = list(dict.fromkeys(side.label for side in (b, a) if side.label != side.value))
    first = ["first message"] if a.phase == b.phase == "first" else []
    return ", ".join([words for words in [contrast.where or " / ".join(labels)] if words] + first)


def questions(contrasts: Sequence[ContrastResult]) -> list[str]:
    """Return the distinct questions of a group. A single one is its heading; several stand at their contrasts."""
    return list(dict.fromkeys(contrast.question for contrast in contrasts))


def contrasts_with_row(results: Results) -> set[str]:
    """Return the ids of the contrasts that have a row in the page."""
    groups = grouped(results.contrasts, lambda contrast: contrast.group).values()
    left = {contrast.id for group in groups for contrast in _unmeasured(group)}
    return {contrast.id for contrast in results.contrasts} - left


def contrasts_section(results: Results, most: int) -> list[Section]:
    """Return the section of all contrasts, by the campaign's groups.  Args: most: rows that open to their pairs."""
    if not results.contrasts:
        return []
    cells = {cell.cell: cell for cell in results.cells}
    opened = {line.contrast for line in results.verdict.lines if line.level == "slow"}
    # Rows that open: those of verdict and findings, then decided ones, then others.
    named = {line.contrast for line in results.verdict.lines}
    named |= {contrast for finding in results.findings for contrast in finding.contrasts}
    order = sorted(results.contrasts, key=lambda c: (c.id not in named, c.verdict not in ("slower", "faster")))
    full = {contrast.id for contrast in order[:most]}
    blocks: list[Block] = []
    for name, contrasts in grouped(results.contrasts, lambda contrast: contrast.group).items():
        blocks += _contrast_group(name, contrasts, cells, opened, full)
    return [Section("contrasts", "Contrasts", "Contrasts", blocks, _CONTRASTS_LEAD)]


def _unmeasured(contrasts: Sequence[ContrastResult]) -> list[ContrastResult]:
    """Return the contrasts without a verdict, if they are too many for a row each."""
    left = [contrast for contrast in contrasts if contrast.verdict is None]
    return left if len(left) > _MOST_UNMEASURED else []


def _contrast_group(
    name: str,
    contrasts: Sequence[ContrastResult],
    cells: Mapping[int, CellResult],
    opened: Collection[str | None],
    full: Collection[str],
) -> Iterator[Block]:
    left, asked = _unmeasured(contrasts), questions(contrasts)
    question = asked[0] if len(asked) == 1 else name
    rows = [
        _contrast_row(contrast, cells, contrast.id in opened, contrast.id in full, question)
        for contrast in contrasts
        if contrast not in left
    ]
    counts = Counter(map(word, contrasts))
    counted = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _WORDS if counts[verdict])
    caption = counted if name == question else f"{name}: {counted}"
    axis = Axis("time of the first named over that of the other", "×", ends=(1.0,), least=1.6)
    yield Rows(question, caption, axis, rows, head="ratio and interval")
    for why, some in grouped(left, lambda contrast: contrast.reason or "not recorded").items():
        names = "; ".join(f"{title(contrast)}: {common(contrast)}" for contrast in some)
        yield Fold(f"{len(some)} not measured: {why}", [Text(names, "sub")])


def _contrast_row(
    contrast: ContrastResult, cells: Mapping[int, CellResult], opened: bool, full: bool, question: str
) -> Row:
    ratio, verdict = contrast.ratio, word(contrast)
    sides = [_side_quantity(contrast, side, cells) for side in ("b", "a")]
    arrow = f"{sides[1].text} → {sides[0].text}" if any(side.value is not None for side in sides) else ""
    least = contrast.minimum_effect
    marks = [Mark("band", "", (max(1 - least, 1e-9), 1 + least))]
    marks += [Mark("line", verdict, contrast.interval)] if contrast.interval else []
    marks += [Mark("dot", verdict, (ratio,))] if ratio is not None else []
    shown = fmt.ratio(ratio, contrast.interval)
    words = f"{verdict}, ratio {shown}, {interval_words(contrast)}"
    note = f"{interval_words(contrast)}{f'; {arrow}' if arrow else ''}"
    blocks = _contrast_blocks(contrast, sides, question) if full else ()
    return Row(title(contrast), marks, shown, note, common(contrast), words, verdict, anchor(contrast.id),
               blocks=blocks, opened=opened and full)  # fmt: skip


def _side_quantity(contrast: ContrastResult, name: str, cells: Mapping[int, CellResult]) -> Quantity:
    """Return the time of a side, rounded to the interval of its own estimate."""
    side, value_s = (contrast.b, contrast.b_value_s) if name == "b" else (contrast.a, contrast.a_value_s)
    cell = cells.get(side.cell)
    estimate = cell.estimate(contrast.metric, side.phase) if cell else None
    return Quantity(value_s, "s", estimate.interval if estimate else None)


def _contrast_blocks(contrast: ContrastResult, times_s: Sequence[Quantity], question: str) -> list[Block]:
    a, b = contrast.a, contrast.b
    blocks: list[Block] = [] if contrast.question == question else [Text(contrast.question)]
    rows = [[side.value, side.label, side.phase, time.text] for side, time in zip((b, a), times_s, strict=True)]
    blocks += [Table("", ["Side", "Cell", "Phase", "Median"], rows, wide=True), Facts(_facts(contrast))]
    blocks += [Text(f"Doubtful: {'; '.join(contrast.suspect)}", "warn")] if contrast.suspect else []
    blocks += [Copied(contrast.remedy, "Remedy to try")] if contrast.remedy else []
    if not contrast.pairs:
        return [*blocks, Text("No launch pairs: nothing to draw.", "sub")]
    sides = ((b.value, "plain", 1, times_s[0]), (a.value, "soft", 0, times_s[1]))
    drawn = [times(style, value, [pair[place] for pair in contrast.pairs], Quantity(time.value))
             for value, style, place, time in sides]  # fmt: skip
    pairs = [[fmt.time(x), fmt.time(y)] for x, y in contrast.pairs]
    longer = sum(y > x for x, y in contrast.pairs)
    caption = f"{fmt.plural(len(pairs), 'launch pair')}; {b.value} longer in {longer}"
    axis = Axis(fmt.metric_name(contrast.metric), least=1.15)
    return [*blocks, Rows("", caption, axis, drawn, numbers([a.value, b.value], pairs), name="pairs")]


def _facts(contrast: ContrastResult) -> list[tuple[str, str]]:
    together = "in the same launches" if contrast.within_launch else "in launches of their own"
    mixed = "interleaved in random order" if contrast.interleaved else "not interleaved: includes drift over time"
    launches = f"{contrast.launches}; both sides {together}, {mixed}" if contrast.launches else "none"
    facts = [
        ("Metric", fmt.metric_name(contrast.metric)),
        ("Differs in", contrast.axis.replace("_", " ")),
        ("Launch pairs", launches),
    ]
    if contrast.p is not None:
        adjusted = f"{contrast.p_adjusted:.2g}" if contrast.p_adjusted is not None else fmt.MISSING
        family = f"{contrast.family_size or fmt.MISSING} contrasts ({contrast.family or 'no family'})"
        facts.append(("p", f"{contrast.p:.2g}; adjusted {adjusted} over {family}"))
    facts.append(("Called same", f"within {fmt.percent(contrast.minimum_effect, 0)}"))
    facts += [("Why", contrast.reason)] if contrast.reason else []
    if contrast.more_pairs:
        facts.append(("To decide", f"about {fmt.plural(contrast.more_pairs, 'more launch pair')}"))
    return facts + ([("Control", "both sides are the same; expected: same")] if contrast.control else [])


# ---- Two MPIs in one run

_LEAST_APART = 0.03  # from which an MPI counts as faster


def _launch_times(cell: CellResult) -> list[float]:
    """Return the seconds of each launch in a cell's main metric, [] where it has none."""
    estimate = cell.estimate(main_metric(cell) or "", "steady")
    return list(estimate.launch_values) if estimate else []


def libraries_answer(results: Results) -> list[str]:
    """Return which of two MPIs is faster over the cells that both measured; [] for another number of MPIs."""
    by_mpi = grouped((cell for cell in results.cells if cell.mpi and cell.copy == 1), lambda cell: cell.mpi or "")
    if len(by_mpi) != 2:
        return []
    (first, mine), (second, theirs) = by_mpi.items()
    sides = [{(identity(cell), cell.label.removeprefix(f"{cell.mpi}, ")): _launch_times(cell) for cell in side}
             for side in (mine, theirs)]  # fmt: skip
    pairs = [(sides[0][key], sides[1][key]) for key in sides[0] if sides[0][key] and sides[1].get(key)]
    rounds = max((min(len(a), len(b)) for a, b in pairs), default=0)
    pairs = [(a, b) for a, b in pairs if len(a) == len(b) == rounds]
    if rounds < T_LAUNCHES:
        return []
    by_round = [median([math.log(b[i] / a[i]) for a, b in pairs]) for i in range(rounds)]
    over_all = estimate_of(by_round, of=("round", "rounds")).exp()
    estimates = [paired(a, b, _LEAST_APART) for a, b in pairs]
    adjusted = benjamini_hochberg([1.0 if estimate.p is None else estimate.p for estimate in estimates])
    words = Counter(judge(estimate, float(p)).word for estimate, p in zip(estimates, adjusted, strict=True))
    slow, fast, ratio, interval = second, first, over_all.value, over_all.interval
    if ratio < 1:
        slow, fast, ratio = first, second, 1 / ratio
        interval = interval and (1 / interval[1], 1 / interval[0])
    is_clear = ratio > 1 + _LEAST_APART and interval is not None and interval[0] > 1
    shown = fmt.beside(fmt.ratio(ratio, interval), fmt.ratio_interval(ratio, interval))
    head = f"{fast} is faster than {slow}" if is_clear else f"Neither {first} nor {second} is faster"
    counts = f"{first} {words['slower']}, {second} {words['faster']} of {fmt.plural(len(pairs), 'cell')}"
    return [f"{head}: {slow} takes {shown} the time over {fmt.plural(rounds, 'round')} ({counts})."]


# ---- Over message size

BANDWIDTH = "bandwidth_bytes_per_s"
_FEWEST_SIZES = 3


@dataclass(frozen=True, slots=True)
class _Steady:
    """The steady-state estimate of a cell's metric. `value` is in `unit`, or None without such a phase."""

    unit: str
    value: float | None
    interval: Interval | None
    estimate: MetricEstimate | None


def _steady(cell: CellResult) -> dict[str, _Steady]:
    """Return the steady estimates by metric. The bandwidth of a time is a metric of its own, with its own panel."""
    by_metric = {}
    for name, metric in cell.metrics.items():
        estimate = metric.phases.get("steady")
        value, interval = (estimate.value, estimate.interval) if estimate else (None, None)
        by_metric[name] = _Steady(metric.unit, value, interval, estimate)
    for metric in cell.metrics.values():
        estimate = metric.phases.get("steady")
        if BANDWIDTH not in by_metric and any(phase.bandwidth_bytes_per_s for phase in metric.phases.values()):
            value, interval = (
                (estimate.bandwidth_bytes_per_s, estimate.bandwidth_interval) if estimate else (None, None)
            )
            by_metric[BANDWIDTH] = _Steady("B/s", value, interval, estimate if value else None)
    return by_metric


def size_figures(results: Results) -> list[Figure]:
    """Return figures of each metric over message size, for groups with at least three sizes, without collectives."""
    figures: list[Figure] = []
    for group, cells in grouped((c for c in results.cells if c.experiment != COLL.name), lambda c: c.group).items():
        shown = {cell.cell: _steady(cell) for cell in cells}
        for name in dict.fromkeys(name for metrics in shown.values() for name in metrics):
            having = [cell for cell in cells if name in shown[cell.cell]]
            figures += _size_panels(group, name, having, {cell.cell: shown[cell.cell][name] for cell in having})
    return figures


def _condition(cell: CellResult) -> dict[str, str]:
    """Return all settings of a cell except its message size."""
    settings = {**cell.parameters, "environment": cell.environment, "placement": cell.placement}
    settings.pop("message_bytes", None)
    return settings


def _size_panels(group: str, metric: str, cells: Sequence[CellResult], shown: Mapping[int, _Steady]) -> Iterator[Plot]:
    def sizes(rows: Sequence[CellResult]) -> int:
        return len({cell.parameters.get("message_bytes") for cell in rows})

    lines = list(grouped(cells, lambda cell: tuple(sorted(_condition(cell).items()))).values())
    lines = [rows for rows in lines if sizes(rows) >= _FEWEST_SIZES]
    if not lines:
        return
    unit = shown[lines[0][0].cell].unit
    axes, labels = differences([_condition(rows[0]) for rows in lines])
    name = heading(metric, *([f"by {axes}"] if axes else []))
    for start in range(0, len(lines), MOST_SERIES):
        some = lines[start : start + MOST_SERIES]
        series = [
            Series(label, points)
            for label, rows in zip(labels[start : start + MOST_SERIES], some, strict=True)
            if len(points := _size_points(rows, shown)) >= _FEWEST_SIZES
        ]
        table: list[list[Cell]] = [
            [cell.label, Quantity(steady.value, steady.unit, steady.interval, steady.estimate.interval_kind),
             str(steady.estimate.launches)]
            for line in some for cell in line if (steady := shown[cell.cell]).estimate is not None
        ]  # fmt: skip
        if series:
            x, y = Axis("length of the message", "B"), Axis(fmt.metric_name(metric), unit, least=3.0)
            yield Plot(name, group, x, y, series, table=numbers(["Cell", "Median", "Launches"], table))


def _size_points(cells: Sequence[CellResult], shown: Mapping[int, _Steady]) -> list[Point]:
    points = []
    for cell in cells:
        steady, size = shown[cell.cell], int(cell.parameters.get("message_bytes", 0))
        if steady.value and size > 0:
            points.append(Point(size, steady.value, steady.interval))
    return sorted(points, key=lambda point: point.x)


def differences(conditions: Sequence[Mapping[str, str]]) -> tuple[str, list[str]]:
    """Return the settings in which several conditions differ, and a label for each condition."""
    keys = dict.fromkeys(key for condition in conditions for key in condition)
    differing = [key for key in keys if len({condition.get(key) for condition in conditions}) > 1]
    labels = [", ".join(str(c[key]) for key in differing if c.get(key) is not None) for c in conditions]
    return " and ".join(key.replace("_", " ") for key in differing), labels


# ---- Distributions

SPREAD_LEAD = "A dot is the median of a launch; the line reaches over all samples, with ticks at 90 and 99 %."


def main_metric(cell: CellResult) -> str | None:
    """Return the metric that represents a cell in overviews: its first one in seconds."""
    return next((name for name, metric in cell.metrics.items() if metric.unit == "s"), None)


def distribution_figures(results: Results) -> list[Figure]:
    """Return figures of launch medians and quantiles, one for each group and metric."""
    figures: list[Figure] = []
    for (group, metric), cells in grouped(results.cells, lambda c: (c.group, main_metric(c))).items():
        if metric is None:
            continue
        phase = "steady" if any(cell.estimate(metric, "steady") for cell in cells) else "first"
        estimates = [(cell, estimate) for cell in cells if (estimate := cell.estimate(metric, phase))]
        if estimates:
            name = heading(metric, "later messages" if phase == "steady" else "first messages")
            rows = [_spread_row(cell, metric, estimate) for cell, estimate in estimates]
            axis = Axis("time over the cell's median", "×", ends=(1.0,), least=2.0)
            figures.append(Rows(name, group, axis, rows, head="median and tail"))
    return figures


def _spread_row(cell: CellResult, metric: str, estimate: MetricEstimate) -> Row:
    median = estimate.value
    quantiles = [value for value in (estimate.p90, estimate.p99, estimate.p999) if value is not None]
    marks = [Mark("band", "reach later", [end / median for end in estimate.interval])] if estimate.interval else []
    marks += [Mark("join", "", (estimate.min / median, estimate.max / median))]
    marks += [Mark("tick", "other", [value / median for value in quantiles])] if quantiles else []
    marks += [Mark("dots", "later", [value / median for value in estimate.launch_values]), Mark("tick", "", (1.0,))]
    parts = [fmt.time(median, estimate.interval)]
    over = cell.over_floor
    if over is not None and over.metric == metric and estimate is cell.estimate(metric, "steady"):
        parts.append(f"{fmt.ratio(over.ratio, over.interval)} the floor")
    parts += [f"99 % {fmt.time(estimate.p99)}"] if estimate.p99 is not None else []
    known = [("50", estimate.p50), ("90", estimate.p90), ("99", estimate.p99), ("99.9", estimate.p999)]
    words = ", ".join(f"{name} %: {fmt.time(value)}" for name, value in known if value is not None)
    return Row(cell.label, marks, ", ".join([*parts, f"max {fmt.time(estimate.max)}"]), _remarks(estimate),
               words=f"{fmt.plural(len(estimate.launch_values), 'launch')}. {words}")  # fmt: skip


def _remarks(estimate: MetricEstimate) -> str:
    """Return the facts that a reader must know before trusting the median."""
    remarks = ["one launch"] if estimate.launches == 1 else []
    if estimate.steady_class in ("slowdown", "no steady state"):
        remarks.append(str(estimate.steady_class))
    if (estimate.quantum_ratio or 0) > 0.01:
        remarks.append(f"clock step {fmt.percent(estimate.quantum_ratio)} of a sample")
    return "; ".join(remarks)


# ---- Pairs of nodes

_FULL = 4.0  # the ratio that is drawn darkest
_PAIRS_LEAD = "A frame marks links that are proven to be slower than the other pairs."


def node_pairs_section(results: Results) -> list[Section]:
    """Return a matrix for each entry of the results' `node_pairs`."""
    matrices = [pairs_matrix(pairs) for pairs in results.node_pairs]
    panels = [Group("panels", matrices)]
    return [Section("node-pairs", "Every pair of nodes", "Nodes", panels, _PAIRS_LEAD)] if matrices else []


def pairs_matrix(pairs: NodePairs) -> Matrix:
    """Return the matrix, with both halves, because readers look along a row."""
    name = heading(pairs.metric, "over the other pairs") if pairs.metric else "Pairs of nodes: not measured"
    place = {node: number for number, node in enumerate(pairs.nodes)}
    squares = {}
    for pair in pairs.pairs:
        square = _square(pair)
        squares[place[pair.a], place[pair.b]] = squares[place[pair.b], place[pair.a]] = square
    rows: list[list[Cell]] = []
    for pair in sorted(pairs.pairs, key=lambda pair: -(pair.ratio or 0.0)):
        time, ratio = Quantity(pair.value_s, interval=pair.interval), Quantity(pair.ratio, "×", pair.ratio_interval)
        shown = fmt.with_kind(ratio.ends, pair.interval_kind) if ratio.ends else pair.reason or ""
        rows.append([f"{pair.a} and {pair.b}", time.text, Shown(ratio.text, shown), pair.verdict or fmt.MISSING])
    slow = [f"{pair.a} and {pair.b}" for pair in pairs.pairs if pair.verdict == "slower"]
    words = f"{len(pairs.nodes)} nodes. Slow: {', '.join(slow) or 'none'}."
    table = numbers(["Nodes", "Time", "Over the other pairs", "Verdict"], rows)
    return Matrix(name, pairs.label, pairs.nodes, squares, words, "slower", table)


def _square(pair: NodePair) -> Square:
    shade = 0.0 if pair.ratio is None else min(1.0, max(0.0, math.log(pair.ratio) / math.log(_FULL)))
    words = f"{format_ratio(pair.ratio)}×" if pair.ratio is not None else fmt.time(pair.value_s)
    return Square(0.75 * shade, words, pair.verdict == "slower")
