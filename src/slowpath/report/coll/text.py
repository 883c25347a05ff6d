# SPDX-License-Identifier: Apache-2.0
"""Collectives for a terminal: of each the library's own time over the fastest other way, a column a length."""

from __future__ import annotations

from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.coll.ways import Panel, panels

TITLE = "Collectives: the library's own time over the fastest other way (above 1, another way took less here)"


def coll_lines(results: Results) -> list[str]:
    """One line each, not wrapped; [] in a run that measured no collective in two ways."""
    found = panels(results)
    lines = [f"{TITLE}:"] if found else []
    for (where, lengths), group in grouped_by_lengths(found).items():
        lines += _block(where, lengths, group)
    return lines


def grouped_by_lengths(found: list[Panel]) -> dict[tuple[str, tuple[int, ...]], list[Panel]]:
    """Panels whose columns are the same, by where they were measured."""
    made: dict[tuple[str, tuple[int, ...]], list[Panel]] = {}
    for panel in found:
        made.setdefault((panel.where, tuple(panel.lengths)), []).append(panel)
    return made


def _block(where: str, lengths: tuple[int, ...], group: list[Panel]) -> list[str]:
    head = [where, *(fmt.count_bytes(length) if length else "" for length in lengths)]
    rows = [[panel.collective, *(_ratio(panel, length) for length in lengths)] for panel in group]
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    return [_line(row, widths) for row in (head, *rows)]


def _line(row: list[str], widths: list[int]) -> str:
    first, *rest = (
        word.ljust(width) if place == 0 else word.rjust(width)
        for place, (word, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"  {'  '.join([first, *rest])}".rstrip()


def _ratio(panel: Panel, length: int) -> str:
    ratio = panel.ratio(length)
    return fmt.MISSING if ratio is None else f"{ratio:.2f}"
