# SPDX-License-Identifier: Apache-2.0
"""Collectives as the page shows them: one small picture each, all ways and their envelope, and the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.coll.ways import LIBRARY, Panel, panels
from slowpath.report.figure import Figure, Table, shown_interval
from slowpath.report.svg import envelope
from slowpath.report.svg.envelope import Way

MOST_PICTURES = 60  # of one page; the table and the CSV file have all
OWN_WORDS = "the library's own"
NO_LENGTH = "no message"


@dataclass(frozen=True, slots=True)
class CollView:
    """The section. figures: one for each collective that has lengths.  table: all numbers.  left_out: pictures."""

    figures: list[Figure]
    table: Table
    left_out: int


def coll_view(results: Results) -> CollView | None:
    """None in a run that measured no collective in two ways."""
    found = panels(results)
    if not found:
        return None
    figures = [figure for panel in found if (figure := _figure(panel)) is not None]
    return CollView(figures[:MOST_PICTURES], _table(found), max(0, len(figures) - MOST_PICTURES))


def _figure(panel: Panel) -> Figure | None:
    title = panel.collective
    ways = [
        Way(way_words(name), {n: (one.value, one.interval) for n, one in at.items()})
        for name, at in panel.times.items()
    ]
    picture = envelope.chart(ways[0], ways[1:], f"{title}, {panel.where}" if panel.where else title)
    return Figure(title, panel.where, Table([], []), picture=picture) if picture else None


def way_words(name: str) -> str:
    """As a line is called."""
    return OWN_WORDS if name == LIBRARY else name


HEAD = ["Collective", "Where", "Length", "The library's own", "Interval", "Fastest other way", "Time", "Own over it"]


def _table(found: list[Panel]) -> Table:
    """One row for each length: the library's own against the fastest other way."""
    rows = []
    for panel in found:
        for length in panel.lengths:
            best, own = panel.best(length), panel.own[length]
            if best is None:
                continue
            size = fmt.count_bytes(length) if length else NO_LENGTH
            name, other = best
            ratio = fmt.ratio(own.value / other.value, None)
            row = [panel.collective, panel.where, size, fmt.time(own.value), shown_interval(own)]
            rows.append([*row, name, fmt.time(other.value), ratio])
    return Table(HEAD, rows)
