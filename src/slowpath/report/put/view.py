# SPDX-License-Identifier: Apache-2.0
"""The cost of a put as the page shows it: the table, the study's two charts, and the instructions by function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from slowpath.core.cell_results import CellResult
from slowpath.core.put_results import PutSplit
from slowpath.core.results import Results
from slowpath.experiments.put.table import puts, steady
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.put.rows import KINDS, WORDINGS, DesignRow, design_words, inside, rows_of, where
from slowpath.report.put.study_table import (
    MILLION,
    SOURCE,
    STUDY,
    WHAT_IT_IS,
    count_words,
    millions,
    millions_interval,
    nanoseconds,
    nanoseconds_interval,
    study_rows,
)
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LinearScale, LogScale, spanning
from slowpath.report.svg.size_curves import STYLES


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a row.

    Args: series: index into the legend, which gives the colour; None is history, drawn hollow. value: None draws the
          extension only. beyond: end of a lighter extension. spread: a range or interval.
    """

    series: int | None
    value: float | None
    spread: tuple[float, float] | None = None
    beyond: float | None = None


def bars_scale(rows: Sequence[Sequence[Bar]]) -> LogScale:
    """Return an axis for all bars that begins well below the shortest one, so that it is visible."""
    values = [v for row in rows for bar in row for v in (bar.value, bar.beyond, *(bar.spread or ()))]
    low, high = spanning(values, least=4.0, margin=1.06) or (1.0, 10.0)
    return LogScale(low / 1.8, high)


def bars_axis(scale: LogScale, grid: str, label: Callable[[float], str], title: str) -> Markup:
    """Return tick labels, and the lines that the tracks use, under the id `grid`."""
    ticks = scale.ticks(7)
    content = marks.defined(grid, marks.gridlines(scale, ticks))
    content += marks.axis(scale, [(tick, label(tick)) for tick in ticks]) + marks.axis_title(title)
    words = f"Logarithmic, from {label(scale.low)} to {label(scale.high)}."
    return picture(content, title, words, height=marks.AXIS_HEIGHT, class_="axis")


def bars_track(bars: Sequence[Bar], scale: LogScale, grid: str, words: str) -> Markup:
    """Return the bars of a row below each other, each from the axis' left end."""
    height = min(12, (marks.TRACK_HEIGHT - 4) // max(1, len(bars)))
    top = (marks.TRACK_HEIGHT - height * len(bars)) // 2
    content = marks.used(grid)
    for place, bar in enumerate(bars):
        content += _bar(bar, scale, top + place * height, height)
    return picture(content, words, "Length on a logarithmic axis.", height=marks.TRACK_HEIGHT, class_="track")


def _bar(bar: Bar, scale: LogScale, y: int, height: int) -> str:
    style = "history" if bar.series is None else f"point {STYLES[bar.series % len(STYLES)]}"
    thick = max(3, height - 2)
    content = ""
    if bar.beyond is not None:
        content += element("rect", x=0, width=marks.percent(scale(bar.beyond)), y=y + 1, height=thick,
                           class_=f"{style} beyond")  # fmt: skip
    if bar.value is not None:
        content += element("rect", x=0, width=marks.percent(scale(bar.value)), y=y + 1, height=thick, class_=style)
    if bar.spread:
        low, high = (marks.percent(scale(end)) for end in bar.spread)
        content += element("line", x1=low, x2=high, y1=y + 1 + thick / 2, y2=y + 1 + thick / 2, class_="spread-line")
    return content


Numbers = tuple[str, str]  # a value, and what stands below it in small print
NOT_COUNTED = f"{fmt.MISSING} not counted"


@dataclass(frozen=True, slots=True)
class PutView:
    """The section of the page. `legend` has the MPIs in the order of their colours; `kinds`: kinds of intervals."""

    legend: list[str]
    kinds: list[str]
    kinds_of_ratios: list[str]
    layers: list[tuple[str, str]]
    head: list[str]
    rows: list[list[Numbers]]
    figures: list[Figure]
    split: list[Figure]
    study: FigureTable
    meanings: list[tuple[str, str]]
    then: str
    others: FigureTable | None


def put_view(results: Results) -> PutView | None:
    """Return the section, or None in a run without measured cells of the experiment put."""
    found = results.put
    if found is None:
        return None
    cells = [results.cell(number) for number in found.cells]
    mpis = list(dict.fromkeys(cell.mpi or "" for cell in cells))
    tables = [(where(condition), rows_of(condition, results)) for condition in found.conditions]
    charts = [figure for place, (words, rows) in enumerate(tables) for figure in _charts(place, words, rows, mpis)]
    first = tables[0][1] if tables else []
    kinds = list(dict.fromkeys(row.estimate.interval_kind for row in first if row.estimate))
    shares = [row.found.of_empty for row in first]
    of_ratios = {share.interval_kind for share in shares if share and share.interval}
    return PutView(
        [mpi or "this MPI" for mpi in mpis],
        kinds,
        sorted(of_ratios),
        [(wording.words, wording.meaning) for wording in WORDINGS.values() if wording.meaning],
        _HEAD,
        [_numbers(row, len(kinds) > 1, len(of_ratios) > 1) for row in first],
        charts,
        [_split_figure(f"grid-put-s{place}", split) for place, split in enumerate(found.splits)],
        _study(results),
        [(variant.design, variant.meaning) for variant in STUDY],
        f"{WHAT_IT_IS}; {SOURCE}",
        _others(cells, {row.cell.cell for row in first}),
    )


_STUDY_HEAD = ["Design", "Measured as", "Instructions of a put", "Million puts/s"]
_STUDY_HEAD += ["Then: instructions", "Then: million puts/s"]
_HEAD = ["Who puts", "Instructions in the call", "With call site and loop", "Time of a put, ns", "Million puts/s"]
_HEAD += ["Rate over empty call's", "Synchronisation of a burst, ns"]


def _numbers(row: DesignRow, with_kind: bool, with_kind_of_ratio: bool) -> list[Numbers]:
    launches = "" if row.kind == "library" or not row.mpi else f"in launches of {row.mpi}"
    share = _share(row, with_kind_of_ratio)
    costs = _costs(row.cell, with_kind)
    return [(row.name, launches), _inside(row.cell), _whole(row), *costs, share, _synchronisation(row.cell)]


def _whole(row: DesignRow) -> Numbers:
    """Return the instructions of a put with its call site and loop."""
    if row.calls is None:
        return NOT_COUNTED, ""
    whole = row.found.instructions_with_loop
    return (f"{fmt.MISSING} not reported" if whole is None else f"{whole:.1f}"), ""


def _costs(cell: CellResult, with_kind: bool = True) -> tuple[Numbers, Numbers]:
    """Return time and rate with their intervals."""
    estimate = steady(cell)
    if estimate is None:
        return (fmt.MISSING, "no interval"), (fmt.MISSING, "no interval")
    rate, ends = estimate.message_rate_per_s, estimate.message_rate_interval
    own = nanoseconds_interval(estimate.value, estimate.interval)
    turned = millions_interval(rate, ends) or "no interval"
    shown = own if own and not with_kind else fmt.with_kind(own, estimate.interval_kind)
    return (nanoseconds(estimate.value, estimate.interval), shown), (millions(rate, ends), turned)


def _inside(cell: CellResult) -> Numbers:
    """Return median and range of the instructions inside a call, or why there are none."""
    counted, distribution = puts(cell), inside(cell)
    if counted is None:
        return NOT_COUNTED, ""
    if distribution is None:
        return f"{fmt.MISSING} nothing is called", ""
    calls = fmt.plural(counted.calls, "call")
    return (
        f"{distribution.median:g}",
        f"{distribution.min} to {distribution.max} in {calls}"
        if distribution.min != distribution.max
        else f"all {calls}",
    )


def _synchronisation(cell: CellResult) -> Numbers:
    """Return time and instructions of the call that ends a burst, without the puts."""
    estimate = cell.estimate("synchronisation_s", "steady")
    counted = cell.instructions.synchronisation if cell.instructions else None
    shown = nanoseconds(estimate.value, estimate.interval) if estimate else f"{fmt.MISSING} not timed apart"
    return shown, f"{counted.total.stepped:g} instructions" if counted else "not counted"


def _share(row: DesignRow, with_kind: bool) -> Numbers:
    share = row.found.of_empty
    if share is None:
        is_empty = row.found.design.startswith("empty_call")
        return fmt.MISSING, "it is the empty call" if is_empty else "no empty call was measured"
    ends = fmt.ratio_interval(share.ratio, share.interval)
    shown = ends if ends and not with_kind else fmt.with_kind(ends, share.interval_kind)
    return fmt.ratio(share.ratio, share.interval), shown


def _charts(place: int, words: str, rows: Sequence[DesignRow], mpis: Sequence[str]) -> list[Figure]:
    kinds = {row.kind for row in rows}
    title = ", ".join(KINDS[kind].lower() for kind in KINDS if kind in kinds)
    caption = f"{title}; {words or 'the usual put'}"
    made = []
    if any(row.calls for row in rows):
        made.append(_instructions(f"grid-put-i{place}", rows, mpis, caption, history=place == 0))
    if any(row.estimate for row in rows):
        made.append(_rates(f"grid-put-r{place}", rows, mpis, caption))
    return made


def _by_words(rows: Sequence[DesignRow]) -> list[list[DesignRow]]:
    """Group rows that the chart draws together: a design in the launches of several MPIs. Libraries stay separate."""

    def key(row: DesignRow) -> tuple[str, str]:
        return row.words, row.mpi if row.kind == "library" else ""

    return [list(group) for _, group in groupby(rows, key)]


def _rows(
    groups: list[list[DesignRow]], tracks: Sequence[Markup], text_of: Callable[[DesignRow], str]
) -> list[TrackRow]:
    made = []
    for group, track in zip(groups, tracks, strict=True):
        texts = list(dict.fromkeys(text_of(row) for row in group))
        values = texts[0] if len(texts) == 1 else "; ".join(f"{row.mpi} {text_of(row)}" for row in group)
        made.append(TrackRow(group[0].name, group[0].cell.cell, track, values))
    return made


def _instructions(grid: str, rows: Sequence[DesignRow], mpis: Sequence[str], where: str, history: bool) -> Figure:
    groups = _by_words([row for row in rows if row.calls])
    drawn = [[_count_bar(row, mpis) for row in group] for group in groups]
    old = [[Bar(None, float(variant.instructions))] for variant in STUDY] if history else []
    scale = bars_scale([*drawn, *old])
    tracks = [bars_track(bar, scale, grid, f"{group[0].name}: {_count_words(group[0])} instructions")
              for bar, group in zip(drawn, groups, strict=True)]  # fmt: skip
    shown = _rows(groups, tracks, _count_words)
    for known, bar in zip(STUDY, old, strict=False):
        words = f"{known.instructions} instructions, in the earlier study"
        shown.append(
            TrackRow(f"History: {known.design}", -1, bars_track(bar, scale, grid, words), f"{known.instructions}")
        )
    axis = bars_axis(scale, grid, lambda tick: f"{tick:g}", "Instructions axis, logarithmic")
    numbers = [[row.name, row.mpi, _count_words(row)] for group in groups for row in group]
    table = FigureTable(["Who puts", "In launches of", "Instructions"], numbers)
    return Figure("Instructions of a put", where, table, axis, shown)


def _count_words(row: DesignRow) -> str:
    """Return the chart's text: instructions inside the call, and in total."""
    known, distribution = row.found.instructions_with_loop, row.inside
    whole = "its loop was not counted" if known is None else f"{known:.1f} with its loop"
    if distribution is None:
        return f"all inlined; {whole}"
    spread = f", {distribution.min} to {distribution.max}" if distribution.min != distribution.max else ""
    return f"{distribution.median:g}{spread}; {whole}"


def _count_bar(row: DesignRow, mpis: Sequence[str]) -> Bar:
    distribution = row.inside
    spread = (
        (float(distribution.min), float(distribution.max))
        if distribution and distribution.min != distribution.max
        else None
    )
    return Bar(
        mpis.index(row.mpi), distribution.median if distribution else None, spread, row.found.instructions_with_loop
    )


def _rates(grid: str, rows: Sequence[DesignRow], mpis: Sequence[str], where: str) -> Figure:
    groups = _by_words([row for row in rows if row.estimate])
    drawn = [[_rate_bar(row, mpis) for row in group] for group in groups]
    scale = bars_scale(drawn)
    tracks = [bars_track(bar, scale, grid, f"{group[0].name}: {_rate_words(group[0])}")
              for bar, group in zip(drawn, groups, strict=True)]  # fmt: skip
    axis = bars_axis(scale, grid, _rate_tick, "Rate axis, puts per second, logarithmic")
    numbers = [[row.name, row.mpi, " ".join(_costs(row.cell)[1])] for group in groups for row in group]
    table = FigureTable(["Who puts", "In launches of", "Puts per second"], numbers)
    return Figure("Rate of puts", where, table, axis, _rows(groups, tracks, _rate_words))


def _rate_tick(tick: float) -> str:
    shown, _, unit = fmt.quantity(tick, "1/s").partition(" ")
    return f"{float(shown):g} {unit}"


def _rate_words(row: DesignRow) -> str:
    estimate = row.estimate
    return fmt.quantity(estimate.message_rate_per_s, "1/s", estimate.message_rate_interval) if estimate else fmt.MISSING


def _rate_bar(row: DesignRow, mpis: Sequence[str]) -> Bar:
    estimate = row.estimate
    return Bar(
        mpis.index(row.mpi),
        estimate.message_rate_per_s if estimate else None,
        estimate.message_rate_interval if estimate else None,
    )


def _study(results: Results) -> FigureTable:
    """Return the earlier study's table, today and then."""
    rows = []
    for row in study_rows(results):
        launches = f", in launches of {row.mpi}" if row.mpi and row.then else ""
        missing = f"{fmt.MISSING} {row.reason}" if row.reason else fmt.MISSING
        count = missing if row.instructions is None else count_words(row.instructions)
        rate = missing if row.rate_per_s is None else millions(row.rate_per_s, row.rate_interval)
        then = [str(row.then.instructions), f"{row.then.rate_per_s / MILLION:.2f}"] if row.then else [fmt.MISSING] * 2
        rows.append([row.name, f"{row.measured_as}{launches}", count, rate, *then])
    return FigureTable(_STUDY_HEAD, rows)


def _others(cells: Sequence[CellResult], shown: set[int]) -> FigureTable | None:
    """Return everything that the first table leaves out: windows, info keys, synchronisations, datatypes, sizes."""
    rows = []
    for cell in cells:
        if cell.cell not in shown:
            numbers = [_inside(cell), *_costs(cell), _synchronisation(cell)]
            rows.append([cell.label, *("; ".join(part for part in cells if part) for cells in numbers)])
    return FigureTable(["Cell", _HEAD[1], _HEAD[3], _HEAD[4], _HEAD[6]], rows) if rows else None


SHOWN_FUNCTIONS = 8  # the rest is one row, and the table has them all


def _split_figure(grid: str, split: PutSplit) -> Figure:
    """Return the functions in which a library's put spends its instructions."""
    entries = [(part.function, part.library, part.per_call, part.ratio) for part in split.parts[:SHOWN_FUNCTIONS]]
    if rest := split.parts[SHOWN_FUNCTIONS:]:
        shares = sum(part.ratio or 0.0 for part in rest)
        entries.append((fmt.plural(len(rest), "other function"), "", sum(part.per_call for part in rest), shares))
    scale = LinearScale(0.0, max((per_call for _, _, per_call, _ in entries), default=1.0) * 1.04 or 1.0)
    rows = []
    for function, library, per_call, ratio in entries:
        shown = f"{per_call:.1f}, {fmt.percent(ratio, 0)}"
        bar = element("rect", x=0, width=marks.percent(max(scale(per_call), 0.3)), y=(marks.TRACK_HEIGHT - 12) // 2 + 1,
                      height=10, class_=f"point {STYLES[0]}")  # fmt: skip
        track = picture(marks.used(grid) + bar, f"{function}: {shown}", "Length on a linear axis.",
                        height=marks.TRACK_HEIGHT, class_="track")  # fmt: skip
        rows.append(TrackRow(function, -1, track, shown, library))
    numbers = [[part.function, part.library, f"{part.per_call:.2f}", fmt.percent(part.ratio)] for part in split.parts]
    words = design_words(split.design)
    name = f"{words} of {split.mpi}" if split.mpi else words
    table = FigureTable(["Function", "Library", "Instructions of a call", "Share"], numbers)
    where = "mean over the counted calls; a function without a name in its library's table is shown by its place"
    lines, labels = marks.linear_ticks(scale, "{:g}".format, marks.AXIS_HEIGHT - 7)
    title = "Instructions of a call"
    axis = picture(marks.defined(grid, lines) + marks.axis_title(title) + labels, title,
                   f"Linear, from 0 to {scale.high:g}.", height=marks.AXIS_HEIGHT, class_="axis")  # fmt: skip
    return Figure(f"{name}: where the instructions go", where, table, axis, rows)
