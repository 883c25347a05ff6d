# SPDX-License-Identifier: Apache-2.0
"""collectives.csv: each way of each collective at each length, unrounded, and which of them is the fastest."""

from __future__ import annotations

import csv
import io

from slowpath.core.clean import csv_value
from slowpath.core.results import Results
from slowpath.report.coll.ways import Panel, panels

NAME = "collectives.csv"
COLUMNS = ("mpi", "where", "collective", "message_bytes", "way", "metric", "time_s", "low_s", "high_s", "fastest")


def coll_files(results: Results) -> dict[str, str]:
    """Content by name; {} in a run that measured no collective in two ways."""
    found = panels(results)
    if not found:
        return {}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for panel in found:
        writer.writerows(_rows(panel))
    return {NAME: out.getvalue()}


def _rows(panel: Panel) -> list[list[object]]:
    rows: list[list[object]] = []
    for length in panel.lengths:
        there = {name: at[length] for name, at in panel.times.items() if length in at}
        least = min(there.values(), key=lambda one: one.value)
        for name, one in there.items():
            ends = one.interval or ("", "")
            row = (panel.mpi, panel.where, panel.collective, length, name, panel.metric, one.value, *ends)
            rows.append([csv_value(value) for value in (*row, int(one is least))])
    return rows
