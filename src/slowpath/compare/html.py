# SPDX-License-Identifier: Apache-2.0
"""Two runs compared as one HTML file that opens without a network: both curves in each picture, then every row."""

from __future__ import annotations

from pathlib import Path

from slowpath.compare.charts import figures
from slowpath.compare.comparison import Comparison
from slowpath.compare.text import ORDER, counts, row_label
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report import page
from slowpath.report.figure import Table

HEAD = ["Verdict", "Ratio", "Interval", "B", "A", "Cell"]


def render_comparison_html(found: Comparison, a: Results, b: Results) -> str:
    """The whole page. a, b: results of the two runs that `found` compares."""
    ordered = sorted(found.rows, key=lambda row: ORDER.index(row.verdict))
    rows = [
        [
            row.verdict,
            fmt.ratio(row.ratio, row.interval),
            fmt.ratio_interval(row.ratio, row.interval) or row.interval_kind,
            fmt.quantity(row.b_value, row.unit),
            fmt.quantity(row.a_value, row.unit),
            row_label(row),
        ]
        for row in ordered
    ]
    return page.render(
        "comparison.html.j2",
        Path(__file__).parent,
        found=found,
        headline=f"B against A: {counts(found)}",
        panels=figures(found, a, b),
        rows=Table(list(HEAD), rows),
    )
