# SPDX-License-Identifier: Apache-2.0
"""A comparison as CSV, unrounded, one line a row; what is missing is empty."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec

from slowpath.compare.comparison import Comparison, Row
from slowpath.compare.text import difference
from slowpath.core.clean import csv_value

_PAIRS = ("interval", "interval_90")


def render_csv(found: Comparison) -> str:
    """Columns as the fields of Row; an interval is two columns, `_low` and `_high`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in msgspec.structs.fields(Row)]
    writer.writerow([column for name in names for column in _columns(name)])
    for row in found.rows:
        writer.writerow([csv_value(value) for name in names for value in _values(name, getattr(row, name))])
    return out.getvalue()


def _columns(name: str) -> list[str]:
    return [f"{name}_low", f"{name}_high"] if name in _PAIRS else [name]


def _values(name: str, value: Any) -> list[Any]:
    if name in _PAIRS:
        return list(value) if value else [None, None]
    if name == "differs":
        return ["; ".join(difference(one) for one in value)]
    return [value]
