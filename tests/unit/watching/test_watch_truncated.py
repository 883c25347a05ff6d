# SPDX-License-Identifier: Apache-2.0
"""Records that somebody truncated are said to be, whatever is left of them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from slowpath.watch.folder import RANKS_FOLDER
from slowpath.watch.start.session import MAGIC, truncated


def record(folder: Path, name: str, file_bytes: int, kept_bytes: int) -> None:
    """A record of `file_bytes` by its header, of which `kept_bytes` are left."""
    header = MAGIC + struct.pack("<IIQ", 1, 4096, file_bytes)
    ranks = folder / RANKS_FOLDER
    ranks.mkdir(exist_ok=True)
    (ranks / name).write_bytes((header + bytes(file_bytes))[:kept_bytes])


@pytest.mark.parametrize("kept_bytes", [0, 100, 4096, 8191])
def test_a_short_record_is_named(tmp_path: Path, kept_bytes: int) -> None:
    record(tmp_path, "node-1.watch", 8192, 8192)
    record(tmp_path, "node-2.watch", 8192, kept_bytes)
    line = truncated(tmp_path)
    assert line is not None
    assert line.startswith("1 of 2 records were truncated while the program ran (node-2.watch)")


def test_whole_records_are_not(tmp_path: Path) -> None:
    record(tmp_path, "node-1.watch", 8192, 8192)
    assert truncated(tmp_path) is None
