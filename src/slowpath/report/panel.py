# SPDX-License-Identifier: Apache-2.0
"""The panel as a laboratory report shows it: the range of healthy runs as a band, this machine as a dot."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from slowpath.core.finding_results import PanelRow
from slowpath.report import format as fmt
from slowpath.report.figure import Axis, Block, Facts, Fold, Mark, Row, Rows, Section, numbers

WIDTH = 100  # characters of a terminal
_WIDEST = 46  # of a name there
MOST_ROWS = 40  # without a click, or all rows outside
_LEAST, _MOST = 0.5, 4.0  # times the healthy median: the axis shows them in any case
_KEY = {
    "inside": ("later", "this machine"),
    "slower": ("slower", "slower"),
    "undecided": ("undecided", "undecided"),
}
_HEAD = ["Kind of call", "Here", "Ratio", "Slowest cell", "Healthy runs", "Limit", "Cells outside"]


def panel_title(rows: Sequence[PanelRow]) -> str:
    """Return how many kinds of calls lie outside, as a sentence without a full stop."""
    slower, undecided = (sum(row.standing == word for row in rows) for word in ("slower", "undecided"))
    kinds = fmt.plural(len(rows), "kind of call", "kinds of calls")
    title = f"{slower or 'None'} of {kinds} {'are' if slower > 1 else 'is'} slower than in healthy runs"
    return f"{title}, {undecided} undecided" if undecided else title


def _lead(rows: Sequence[PanelRow]) -> str:
    """Return which healthy runs these are."""
    runs: dict[str, int] = {}
    for row in rows:
        runs[row.source] = max(runs.get(row.source, 0), row.runs)
    return " and ".join(f"{fmt.plural(count, 'healthy run')} of {source}" for source, count in runs.items())


def panel_section(rows: Sequence[PanelRow], no_reference: Mapping[str, int]) -> list[Section]:
    """Return the section, or [] where nothing was compared."""
    if not rows:
        return []
    standings = {row.standing for row in rows}
    key = [("band reach same", "healthy runs"), *(words for word, words in _KEY.items() if word in standings)]
    shown = max(MOST_ROWS, sum(row.standing != "inside" for row in rows))
    every = [_LEAST, _MOST, *(value for row in rows for mark in _row(row).marks for value in mark.values)]
    ends = min(every), max(every)
    axis = Axis("", "×", ends=ends)
    blocks: list[Block] = [_figure(axis, rows[:shown], key)]
    if rest := rows[shown:]:
        words = f"{len(rest)} more, none slower"
        blocks.append(Fold(words, [_figure(axis, rest)]))
    blocks.append(numbers(_HEAD, [_numbers(row) for row in rows]))
    if no_reference:
        words = f"{fmt.plural(len(no_reference), 'kind of call', 'kinds of calls')} without a reference"
        blocks.append(Fold(words, [Facts([(name, fmt.plural(n, "cell")) for name, n in no_reference.items()])]))
    lead = f"Time over the median of {_lead(rows)}; tick: limit."
    return [Section("panel", panel_title(rows), "Panel", blocks, lead)]


def _figure(axis: Axis, rows: Sequence[PanelRow], key: Sequence[tuple[str, str]] = ()) -> Rows:
    return Rows("", "", axis, [_row(row) for row in rows], key=key, name="reference", height=22)


def _row(row: PanelRow) -> Row:
    marks = [Mark("band", "reach same", (row.low_ratio, row.high_ratio)), Mark("tick", "other", (row.limit_ratio,))]
    value = f"{fmt.time(row.value_s)}, {_times(row.ratio)}"
    words = f"{value}; healthy runs {_range(row)}, limit {_times(row.limit_ratio)}"
    marks += [Mark("line", "slower", (row.ratio, row.worst_ratio))] if row.outside else []
    marks.append(Mark("dot", _KEY[row.standing][0], (row.ratio,)))
    cells = f"{row.outside} of {row.cells} cells" if row.outside else ""
    return Row(row.name, marks, value, cells, words=words, badge="" if row.standing == "inside" else row.standing)


def _times(ratio: float) -> str:
    """Return a ratio with as many digits as tell something of a ratio to a median of few runs."""
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.1f}x" if ratio < 100 else f"{ratio:.0f}x"


def _range(row: PanelRow) -> str:
    return f"{row.low_ratio:.2f} to {_times(row.high_ratio)}"


def _numbers(row: PanelRow) -> list[str]:
    cells = f"{row.outside} of {row.cells}"
    worst = _times(row.worst_ratio)
    runs = f"{_range(row)} ({row.runs})"
    return [row.name, fmt.time(row.value_s), _times(row.ratio), worst, runs, _times(row.limit_ratio), cells]


def panel_lines(rows: Sequence[PanelRow], no_reference: Mapping[str, int]) -> list[str]:
    """Return the panel as a table for a terminal of 100 columns."""
    if not rows:
        return ["No kind of call was compared with healthy runs."]
    cells = [
        (row.name, fmt.time(row.value_s), _times(row.ratio),
         _range(row), _times(row.limit_ratio),
         f"{row.outside} of {row.cells}" if row.outside else "undecided" if row.standing == "undecided" else "")
        for row in rows
    ]  # fmt: skip
    table = [("Kind of call", "here", "ratio", "healthy", "limit", "cells outside"), *cells]
    widths = [min(_WIDEST, max(len(line[column]) for line in table)) for column in range(5)]
    lines = [f"{panel_title(rows)}.", *textwrap.wrap(f"Ratio: to the median of {_lead(rows)}.", WIDTH), ""]
    for name, *others, outside in table:
        fields = (field.rjust(width) for field, width in zip(others, widths[1:], strict=True))
        *above, last = textwrap.wrap(name, _WIDEST, subsequent_indent="  ")
        lines += [*above, "  ".join((last.ljust(widths[0]), *fields, outside)).rstrip()]
    unknown = fmt.plural(len(no_reference), "kind of call", "kinds of calls")
    return [
        *lines,
        *(["", f"{unknown} without a reference: see the page."] if no_reference else []),
    ]
