# SPDX-License-Identifier: Apache-2.0
"""Histories as text and as an SVG picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from slowpath.compare.comparison_text import difference, plain, wrap
from slowpath.compare.history import History, HistorySeries, HistoryShift
from slowpath.core.clean import cleaned, line
from slowpath.report import format as fmt
from slowpath.report.svg.element import as_file, element, picture, text

_BARS, MOST_BARS = "_.-=+*#", 24  # low to high


@cleaned
def render_history(found: History) -> str:
    """Return the text that `slowpath history` prints: changes, newest first, then a line for each series."""
    judged = sum(series.reason is None for series in found.series)
    head = (
        f"{fmt.plural(found.runs, 'run')}, {len(found.series)} series, {judged} with enough runs to look for changes; "
        f"changes below {100 * found.minimum_effect:g} % don't count."
    )
    shifts = [(series, shift) for series in found.series for shift in series.shifts]
    machines = {tuple(series.machine) for series in found.series}
    if len(machines) > 1:
        head += f" There are {len(machines)} kinds of machine, each with its own series."
    shifts.sort(key=lambda dated: (dated[1].started, dated[0].label), reverse=True)
    changes = [line for series, shift in shifts for line in _shift(series, shift)] or ["No change of level."]
    table = [wrap(line, "  ") if len(line) > 160 else f"  {line}" for line in _table(found)]
    parts = ["\n".join([wrap(head), *(wrap(why, "  left out: ") for why in found.left_out)]), "\n".join(changes)]
    return "\n\n".join([*parts, "\n".join(table)]) + "\n"


def title(series: HistorySeries, machine: bool = False) -> str:
    """Return the title of a series.  Args: machine: whether to name the machine, because there are several."""
    where = f" [{', '.join(fact for fact in series.machine[:3] if fact) or 'machine not stated'}]" if machine else ""
    return f"{series.label}: {fmt.metric_name(series.metric)}, {series.phase}{where}"


def shift_words(series: HistorySeries, shift: HistoryShift) -> str:
    """Return a shift as text, such as `1.10x worse from 2026-01-05 on (run), 10.0 us before, 11.0 us after`."""
    factor = max(shift.ratio, 1.0 / shift.ratio)
    word = "worse" if shift.worse else "better"
    values = f"{fmt.quantity(shift.before, series.unit)} before, {fmt.quantity(shift.after, series.unit)} after"
    return f"{fmt.ratio(factor)} {word} from {shift.started[:16]} on ({shift.run}), {values}"


def _shift(series: HistorySeries, shift: HistoryShift) -> list[str]:
    sure = "" if shift.state == "change" else ": only the last run shows it; the next run decides"
    lines = [wrap(f"{title(series)}: {shift_words(series, shift)}{sure}", f"{shift.state:<10} ")]
    return lines + [wrap(difference(differing), "             ") for differing in shift.differences]


def _table(found: History) -> list[str]:
    rows = [("runs", "last", "noise", "history", "series")]
    several = len({tuple(series.machine) for series in found.series}) > 1
    for series in found.series:
        noise = fmt.percent(series.noise_ratio) if series.noise_ratio is not None else "?"
        last = series.points[-1]
        rows.append(
            (
                str(len(series.points)),
                fmt.quantity(last.value, series.unit, last.interval),
                noise,
                spark(series),
                title(series, several),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return [plain("  ".join([*(w.ljust(n) for w, n in zip(row, widths, strict=False)), row[4]])) for row in rows]


def spark(series: HistorySeries) -> str:
    """Return the last points as a line of characters. The line is flat if all points lie within 3 %."""
    values = [point.value for point in series.points[-MOST_BARS:]]
    low, high = min(values), max(values)
    if high / low < 1.03:
        return _BARS[2] * len(values)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


SVG_WIDTH, ROW, LEFT, RIGHT = 900, 44, 420, 110
_STYLE = (
    "text{font:12px sans-serif;fill:#1a1a1a}.n{fill:#666}polyline{fill:none;stroke:#4a6fa5;stroke-width:1.5}"
    ".i{stroke:#4a6fa5;stroke-opacity:.35}.w{fill:#b3261e}.b{fill:#2e7d32}.p{fill:#4a6fa5}.o{fill:none;stroke:#666}"
    "rect.g{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#eee}.n{fill:#aaa}rect.g{fill:#121212}}"
)


def render_svg(found: History) -> str:
    """Return the history as an SVG file: a small curve for each series, with series that changed first."""
    ordered = sorted(found.series, key=lambda series: not series.shifts)
    height = ROW * len(ordered) + 8
    content = element("style", _STYLE) + element("rect", width=SVG_WIDTH, height=height, class_="g")
    content += "".join(_svg_row(series, ROW * i) for i, series in enumerate(ordered))
    changed = sum(bool(series.shifts) for series in ordered)
    described = f"{fmt.plural(found.runs, 'run')}, {len(ordered)} series, {changed} with changes of level"
    drawn = picture(content, f"History of {found.folder}", described, height=height, width=SVG_WIDTH)
    return as_file(drawn)


def _svg_row(series: HistorySeries, top: int) -> str:
    last = series.points[-1]
    shown = series.reason or "; ".join(shift_words(series, shift) for shift in series.shifts) or "no change of level"
    parts = element("title", _safe(f"{title(series)}: {shown}"))
    parts += text(fmt.shortened(title(series), 66), 8, top + 20)
    parts += text(fmt.shortened(shown, 72), 8, top + 36, class_="n")
    parts += text(fmt.quantity(last.value, series.unit, last.interval), SVG_WIDTH - 8, top + 26, anchor="end")
    return element("g", parts + _curve(series, top))


def _curve(series: HistorySeries, top: int) -> str:
    points = series.points
    ends = [end for point in points for end in (point.value, *(point.interval or ())) if end > 0]
    low, high = math.log(min(ends)), math.log(max(ends))
    room = max(high - low, math.log(1.05))  # a flat series is drawn flat
    middle = (low + high) / 2

    def y(value: float) -> float:
        return top + ROW / 2 - (math.log(value) - middle) / room * (ROW - 14)

    step = (SVG_WIDTH - LEFT - RIGHT) / max(len(points) - 1, 1)
    xs = [LEFT + step * i for i in range(len(points))]
    bars = [(x, p.interval) for x, p in zip(xs, points, strict=True) if p.interval and min(p.interval) > 0]
    drawn = "".join(element("line", x1=x, x2=x, y1=y(i[0]), y2=y(i[1]), class_="i") for x, i in bars)
    path = " ".join(f"{x:.1f},{y(p.value):.1f}" for x, p in zip(xs, points, strict=True) if not p.outlier)
    drawn += element("polyline", points=path)
    drawn += "".join(_mark(series, i, xs, y(point.value)) for i, point in enumerate(points))
    return drawn


def _mark(series: HistorySeries, i: int, xs: Sequence[float], y: float) -> str:
    here = next((shift for shift in series.shifts if shift.position == i), None)
    kind = "p" if here is None else "w" if here.worse else "b"
    point = series.points[i]
    shown = f"{point.started[:16]} {point.run}: {fmt.quantity(point.value, series.unit, point.interval)}"
    return element(
        "circle",
        element("title", _safe(shown)),
        cx=xs[i],
        cy=y,
        r=2.0 if here is None else 4.5,
        class_="o" if point.outlier else kind,
    )


def _safe(words: str) -> str:
    return escape(line(words))
