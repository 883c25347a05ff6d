# SPDX-License-Identifier: Apache-2.0
"""samples.blk: scan it, read a block. Headers are kept in memory, payloads are read when asked for."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.core.files import open_regular
from slowpath.core.limits import FILE_BYTES
from slowpath.record.layout import COLUMN_START, Layout, columns_in, layout
from slowpath.record.walk import Header, as_array, damaged_note, damaged_payloads, walk
from slowpath.record.writing import Block, Witness, write_blocks

__all__ = [
    "PHASES", "Block", "BlockIndex", "Samples", "Witness", "opened", "read", "read_from", "scan", "write_blocks",
]  # fmt: skip

PHASES: Mapping[int, str] = layout().phases  # number in the header -> name

WORTH_THREADS_BYTES = 2**20  # below it two threads take longer to start than one takes for the checksums
THREADS = 2  # checksums and selections release the interpreter's lock; more gains little where disks are shared


@dataclass(frozen=True)
class BlockIndex:
    """The blocks of one file, in file order.

    headers: structured array, shape (blocks,), fields and units of schema/block.json.
    payload_offsets: int64, shape (blocks,), bytes from the start of the file.
    notes: what was damaged and left out, one line each.
    """

    path: Path
    headers: NDArray[Any]
    payload_offsets: NDArray[np.int64]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.headers.size)

    def select(
        self,
        cell: int | None = None,
        launch: int | None = None,
        rank: int | None = None,
        phase: str | None = None,
    ) -> NDArray[np.intp]:
        """Positions of the blocks that match everything given, in file order."""
        among = np.arange(len(self)) if cell is None else self._of_cell(cell)
        heads = self.headers[among]
        chosen = np.ones(among.size, dtype=bool)
        for name, value in (("launch", launch), ("rank", rank)):
            if value is not None:
                chosen &= heads[name] == value
        if phase is not None:
            chosen &= heads["phase"] == layout().phase_number(phase)
        return among[chosen]

    def _of_cell(self, cell: int) -> NDArray[np.intp]:
        """Positions of the blocks of a cell: without a look at all others for each of many cells."""
        order, cells = self._by_cell
        return order[np.searchsorted(cells, cell, side="left") : np.searchsorted(cells, cell, side="right")]

    @cached_property
    def _by_cell(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        order = np.argsort(self.headers["cell"], kind="stable")
        return order, self.headers["cell"][order].astype(np.int64)

    def only(self, kept: NDArray[np.bool_], notes: Sequence[str] = ()) -> BlockIndex:
        """The same with those blocks alone for which `kept` holds, shape (blocks,), and further notes."""
        return BlockIndex(self.path, self.headers[kept], self.payload_offsets[kept], (*self.notes, *notes))

    def phase(self, i: int) -> str:
        """Name of the phase of block i."""
        number = int(self.headers["phase"][i])
        return PHASES.get(number, f"phase {number}")

    def flag(self, name: str, among: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
        """Where the flag of this name (witness, reused_address, ...) is set, shape (blocks,) or that of `among`."""
        flags = self.headers["flags"]
        set_: NDArray[np.bool_] = ((flags if among is None else flags[among]) & layout().flags[name]) != 0
        return set_


@dataclass(frozen=True)
class Samples:
    """Payload of one block: undivided times of `batch` operations, and when each began, relative to t0_ns."""

    duration_ns: NDArray[np.int64]  # shape (n,)
    start_ns: NDArray[np.int64] | None  # shape (n,); None: the block does not carry it


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """File descriptor for `read_from`. Raises: RecordError when the file cannot be opened."""
    descriptor = open_regular(path, FILE_BYTES["samples.blk"], within=path.parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def scan(path: str | os.PathLike[str], *, verify: bool = True) -> BlockIndex:
    """Find all blocks that are whole.

    Args:   verify: also read every payload and check its CRC; without it only headers and lengths are
            checked.
    Returns: index of the good blocks; what was damaged is left out and noted. An empty file gives an empty
             index.
    Raises: RecordError: no such file, not a block file, or written by a newer version.
    """
    path = Path(path)
    known = layout()
    with opened(path) as descriptor:
        headers, notes = walk(path, descriptor, known)
        bad = _verify(path, descriptor, headers, known) if verify else set()
    notes += [damaged_note(path, headers[i]) for i in sorted(bad)]
    if not headers:
        notes.append(f"{path.name}: no samples")
    kept = [header for i, header in enumerate(headers) if i not in bad]
    offsets = np.array([header.payload_offset for header in kept], dtype=np.int64)
    return BlockIndex(path, as_array(kept, known), offsets, tuple(notes))


def _verify(path: Path, descriptor: int, headers: list[Header], known: Layout) -> set[int]:
    """Positions of the headers whose payload is damaged; contiguous parts of the file go to one thread
    each.
    """
    if sum(header.end - header.payload_offset for header in headers) < WORTH_THREADS_BYTES:
        return set(damaged_payloads(path, descriptor, headers, known))
    cuts = np.linspace(0, len(headers), THREADS + 1).astype(int)
    parts = [headers[a:b] for a, b in itertools.pairwise(cuts)]
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(lambda part: damaged_payloads(path, descriptor, part, known), parts)
        return {int(start) + i for start, bad in zip(cuts[:-1], found, strict=True) for i in bad}


def read_from(descriptor: int, index: BlockIndex, i: int) -> Samples:
    """`read` from a file that is open already."""
    header = index.headers[i]
    n, columns = int(header["n"]), columns_in(int(header["columns"]))
    values: NDArray[np.int64] = np.empty((columns, n), dtype="<i8")
    target = values.reshape(-1).view(np.uint8).data
    got = 0
    while got < values.nbytes:  # one call returns at most 2 GiB
        more = os.preadv(descriptor, [target[got:]], int(index.payload_offsets[i]) + got)
        if more == 0:
            break
        got += more
    if got != values.nbytes:
        raise RecordError(f"{index.path}: became shorter while it was read; was it overwritten by another run?")
    with_start = bool(int(header["columns"]) & COLUMN_START)
    native = values.astype(np.int64, copy=False)
    return Samples(native[0], native[1] if with_start else None)


def read(index: BlockIndex, i: int) -> Samples:
    """Samples of block i. For many blocks, open the file once: `opened` and `read_from`.

    Raises: RecordError: the file is gone or became shorter since the scan.
    """
    with opened(index.path) as descriptor:
        return read_from(descriptor, index, i)
