# SPDX-License-Identifier: Apache-2.0
"""Writes blocks, each whole and sealed: for imported logs and for tests. The engine has a writer of its
own.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slowpath.record.layout import COLUMN_DURATION, COLUMN_START, layout


@dataclass(frozen=True)
class Witness:
    """getrusage of the process over a block; units of schema/block.json."""

    minor_faults: int
    major_faults: int
    user_time_ns: int
    system_time_ns: int
    voluntary_switches: int
    involuntary_switches: int


@dataclass(frozen=True)
class Block:
    """One block to write. duration_ns and start_ns: integers, shape (n,); start_ns relative to t0_ns."""

    cell: int
    launch: int
    phase: str
    duration_ns: ArrayLike
    start_ns: ArrayLike | None = None
    rank: int = 0
    batch: int = 1
    allocation: int = 0
    t0_ns: int = 0
    seq0: int = 0
    flags: tuple[str, ...] = ()  # names; witness is set by itself
    witness: Witness | None = None
    cpu_begin: int = -1  # -1: not known
    cpu_end: int = -1
    part: int = 0  # of an operation, numbered by its experiment; 0: the whole


def _column(values: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name}: a one-dimensional array of integer nanoseconds, got {array.dtype} {array.shape}")
    return array.astype("<i8")


def encode(block: Block) -> bytes:
    """The bytes of one block. Raises: ValueError for values that the schema cannot hold."""
    known = layout()
    duration = _column(block.duration_ns, "duration_ns")
    start = None if block.start_ns is None else _column(block.start_ns, "start_ns")
    if block.batch < 1 or (start is not None and start.size != duration.size):
        raise ValueError("block: batch is at least 1, and start_ns as long as duration_ns")
    payload = duration.tobytes() + (b"" if start is None else start.tobytes())
    flags = set(block.flags) | ({"witness"} if block.witness is not None else set())
    header = np.zeros((), known.header)
    values: dict[str, Any] = {
        "magic": known.magic, "header_bytes": known.header.itemsize, "version": known.version,
        "phase": known.phase_number(block.phase), "n": duration.size, "payload_crc": zlib.crc32(payload),
        "columns": COLUMN_DURATION | (0 if start is None else COLUMN_START),
        "flags": sum(known.flags[name] for name in flags),
    }  # fmt: skip
    for name in ("cell", "launch", "rank", "batch", "allocation", "t0_ns", "seq0", "cpu_begin", "cpu_end", "part"):
        values[name] = getattr(block, name)
    if block.witness is not None:
        values |= {name: getattr(block.witness, name) for name in Witness.__dataclass_fields__}
    for name, value in values.items():
        header[name] = value
    header["header_crc"] = zlib.crc32(header.tobytes()[:-4])
    return header.tobytes() + payload


def write_blocks(path: str | os.PathLike[str], blocks: Iterable[Block]) -> int:
    """Append blocks to `path`, creating it if need be; each in one write. Returns: how many."""
    count = 0
    with open(path, "ab", buffering=0) as file:
        for block in blocks:
            data = memoryview(encode(block))
            while data:
                data = data[file.write(data) :]
            count += 1
    return count
