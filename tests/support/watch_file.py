# SPDX-License-Identifier: Apache-2.0
"""NAME.watch files from arrays (schema/watch.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from slowpath.watch.record.layout import watch_layout


def array_of(name: str, rows: Sequence[dict[str, Any]]) -> np.ndarray[Any, Any]:
    """Elements of a section; fields that a row lacks are 0."""
    whole = np.zeros(len(rows), watch_layout().sections[name].element)
    for i, row in enumerate(rows):
        for key, value in row.items():
            whole[key][i] = value
    return whole


def assembled(
    parts: Sequence[tuple[str, int, np.ndarray[Any, Any]]], fields: dict[str, Any], lost: Counter[str]
) -> bytes:
    """The file: header, section table, sections."""
    known = watch_layout()
    table = np.zeros(known.most_sections, known.row)
    offset, payload = known.header_bytes, b""
    for i, (name, lane, part) in enumerate(parts):
        raw = part.tobytes()
        spare = part.dtype.itemsize  # room that is not used
        table[i] = (
            known.sections[name].number, lane, offset, part.size + 1, part.dtype.itemsize, part.size, lost[name]
        )  # fmt: skip
        payload += raw + bytes(spare + -(len(raw) + spare) % 64)
        offset = known.header_bytes + len(payload)
    header = np.zeros(1, known.header)
    fields = {
        "magic": known.magic, "version": known.version, "header_bytes": known.header_bytes, "file_bytes": offset,
        "section_count": len(parts), **fields,
    }  # fmt: skip
    for name, value in fields.items():
        header[name][0] = value
    return header.tobytes() + table.tobytes() + payload
