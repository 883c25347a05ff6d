# SPDX-License-Identifier: Apache-2.0
"""The report: results.json as HTML, text and CSV. Judged before, only rendered here.

    render_html(results, series=()) -> str      one file, no network
    render_text(results) -> str                 for a terminal
    cells_csv(results), contrasts_csv(results)  unrounded
    write_all(folder, results) -> list[Path]    all of them and results.json, into a run folder
    read_series(folder)                         raw samples for the explorer of render_html

The names are imported when first used, so that `--help` pays for neither numpy nor jinja2.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slowpath.report.csv import cells_csv, contrasts_csv
    from slowpath.report.html import render_html
    from slowpath.report.samples import read_series
    from slowpath.report.text import render_text
    from slowpath.report.write import write_all

__all__ = ["cells_csv", "contrasts_csv", "read_series", "render_html", "render_text", "write_all"]

_HOMES = {
    "cells_csv": "csv",
    "contrasts_csv": "csv",
    "read_series": "samples",
    "render_html": "html",
    "render_text": "text",
    "write_all": "write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
