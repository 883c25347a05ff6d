# SPDX-License-Identifier: Apache-2.0
"""samples.blk: scan it, read a block. Headers are kept in memory, payloads are read when asked for."""

from __future__ import annotations

import itertools
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slowpath.core.errors import is_version, unreadable
from slowpath.core.files import RESTORE, data_folder, open_regular
from slowpath.core.result import FILE_BYTES, LARGEST_GAP_BYTES, MOST_SAMPLES_BYTES

COLUMN_DURATION = 1
COLUMN_START = 2


@dataclass(frozen=True)
class Layout:
    """schema/block.json, ready for use."""

    version: int
    magic: bytes
    header: np.dtype[Any]
    phases: dict[int, str]
    flags: dict[str, int]  # name -> bit

    def phase_number(self, name: str) -> int:
        """Return the number of a phase in the header of a block.

        Raises: ValueError: the schema does not have this name.
        """
        for number, known in self.phases.items():
            if known == name:
                return number
        raise ValueError(f"phase {name!r}: one of {', '.join(self.phases.values())}")


@lru_cache(maxsize=1)
def layout() -> Layout:
    """The block layout of this version of the package."""
    schema = json.loads((data_folder("schema") / "block.json").read_text(encoding="utf-8"))
    fields = schema["fields"]
    header = np.dtype(
        {
            "names": [field["name"] for field in fields],
            "formats": [field["type"] for field in fields],
            "offsets": [field["offset"] for field in fields],
            "itemsize": schema["header_bytes"],
        }
    )
    return Layout(
        version=schema["version"],
        magic=schema["magic"].encode("ascii"),
        header=header,
        phases={int(number): name for number, name in schema["phases"].items()},
        flags={text.split(":")[0]: int(bit) for bit, text in schema["flags"].items()},
    )


def columns_in(columns: int) -> int:
    """Number of int64 columns in the payload."""
    return 2 if columns & COLUMN_START else 1


# Finds the blocks of a samples.blk, whatever happened to the file.
#
# A job may be killed, a disk fill up, a bit flip. Whatever can still be proven by a checksum is kept; everything else
# becomes a note.

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class BlockHeader:
    """One verified header and where it stands."""

    raw: bytes
    offset: int
    end: int  # of the payload
    cell: int
    payload_crc: int

    @property
    def payload_offset(self) -> int:
        return self.offset + len(self.raw)


@dataclass
class _BlockFile:
    """An open block file; reads never go past the size it had when it was opened, because it may still
    grow.
    """

    descriptor: int
    size: int
    path: Path
    layout: Layout
    notes: list[str] = field(default_factory=list)

    def header_at(self, offset: int) -> BlockHeader | None:
        """The verified header at `offset`, or None. Raises: RecordError when a newer version wrote it."""
        layout = self.layout
        raw = os.pread(self.descriptor, min(layout.header.itemsize, max(self.size - offset, 0)), offset)
        if len(raw) < layout.header.itemsize or not raw.startswith(layout.magic):
            return None
        values = dict(zip(layout.header.names or (), np.frombuffer(raw, layout.header).item(), strict=True))
        length, version = values["header_bytes"], values["version"]
        if version > layout.version and self._seals(offset, length):
            raise unreadable(self.path, is_version("block version", version, layout.version), "update slowpath")
        if length != len(raw) or version < 1 or zlib.crc32(raw[:-4]) != values["header_crc"]:
            return None
        columns, count = values["columns"], values["n"]
        known = columns & COLUMN_DURATION and not columns & ~(COLUMN_DURATION | COLUMN_START)
        if count > MOST_SAMPLES_BYTES // 8 or not known or values["batch"] < 1:
            self.notes.append(left_out(self.path, f"the block at byte {offset}", "its header is damaged"))
            return None
        end = offset + len(raw) + 8 * count * columns_in(columns)
        return BlockHeader(raw, offset, end, values["cell"], values["payload_crc"])

    def _seals(self, offset: int, length: int) -> bool:
        """Whether a header of any version is whole: its last four bytes are always the CRC of what stands
        before.
        """
        raw = os.pread(self.descriptor, length, offset)
        return length >= 8 and len(raw) == length and zlib.crc32(raw[:-4]) == int.from_bytes(raw[-4:], "little")

    def next_header(self, start: int) -> BlockHeader | None:
        """First verified header at or after `start`, as far as is looked: LARGEST_GAP_BYTES."""
        magic = self.layout.magic
        end = start + LARGEST_GAP_BYTES
        while start < min(self.size, end):
            chunk = os.pread(self.descriptor, min(_CHUNK_BYTES, self.size - start), start)
            at = chunk.find(magic)
            while at >= 0:
                header = self.header_at(start + at)
                if header is not None:
                    return header
                at = chunk.find(magic, at + 1)
            if len(chunk) < len(magic):
                return None
            start += len(chunk) - len(magic) + 1
        return None

    def payload_is_whole(self, header: BlockHeader) -> bool:
        """Whether the payload is all there and its CRC is right. Reads it piece by piece."""
        crc = 0
        offset = header.payload_offset
        while offset < header.end:
            chunk = os.pread(self.descriptor, min(_CHUNK_BYTES, header.end - offset), offset)
            if not chunk:
                return False
            crc = zlib.crc32(chunk, crc)
            offset += len(chunk)
        return crc == header.payload_crc


def walk(path: Path, descriptor: int, layout: Layout) -> tuple[list[BlockHeader], list[str]]:
    """Return all blocks with a valid header and a payload that lies inside the file, and notes on everything else.

    Raises: RecordError: a newer version wrote the file, or nothing in it is a block.
    """
    file = _BlockFile(descriptor, os.fstat(descriptor).st_size, path, layout)
    headers: list[BlockHeader] = []
    position = 0
    while position < file.size:
        header = file.header_at(position)
        if header is not None and header.end <= file.size:
            headers.append(header)
            position = header.end
            continue
        resumed = _resume(file, headers, header, position)
        if resumed is None:
            break
        position = resumed
    is_torn = os.pread(file.descriptor, len(layout.magic), 0) == layout.magic
    if not headers and file.size >= layout.header.itemsize and not is_torn:
        raise unreadable(path, "it has no block of samples", RESTORE)
    return headers, file.notes


def _resume(file: _BlockFile, headers: list[BlockHeader], torn: BlockHeader | None, position: int) -> int | None:
    """Return where reading goes on after `position` could not be read; notes what is lost. None: nothing follows."""
    search = position + 1
    if torn is None and headers and not file.payload_is_whole(headers[-1]):
        # The block before may have been cut short (a full disk) with the next one right behind it: look
        # inside.
        lost = headers.pop()
        search, position = lost.payload_offset, lost.offset
        file.notes.append(_damaged(file.path, lost))
    following = file.next_header(search)
    if following is None:
        rest = f"the last {file.size - position} bytes, from byte {position} on"
        file.notes.append(left_out(file.path, rest, "the block is incomplete (was the job killed?)"))
        return None
    file.notes.append(left_out(file.path, f"bytes {position} to {following.offset}", "they are damaged"))
    return following.offset


def damaged_payloads(path: Path, descriptor: int, headers: list[BlockHeader], layout: Layout) -> list[int]:
    """Positions in `headers` whose payload does not match its CRC."""
    file = _BlockFile(descriptor, os.fstat(descriptor).st_size, path, layout)
    return [i for i, header in enumerate(headers) if not file.payload_is_whole(header)]


def left_out(path: Path, part: str, why: str) -> str:
    """Return the note on a part of a file that is not used."""
    return f"{path.name}: {part} left out: {why}"


def _damaged(path: Path, header: BlockHeader) -> str:
    return left_out(path, f"block of cell {header.cell} at byte {header.offset}", "it is damaged")


PHASES: Mapping[int, str] = layout().phases  # number in the header -> name

WITNESSED = ("minor_faults", "major_faults", "system_time_ns", "user_time_ns", "involuntary_switches")
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

    @cached_property
    def witnessed(self) -> NDArray[np.int64]:
        """What the kernel reported of each block, as WITNESSED, and its operations; shape (blocks, 6)."""
        heads = self.headers
        operations = heads["n"].astype(np.int64) * heads["batch"].astype(np.int64)
        return np.stack([*(heads[name].astype(np.int64) for name in WITNESSED), operations], axis=1)

    @cached_property
    def payloads(self) -> list[tuple[int, int, int]]:
        """Samples, columns and offset of the payload of each block: a field of a header costs as much as a list."""
        heads = self.headers
        return list(zip(heads["n"].tolist(), heads["columns"].tolist(), self.payload_offsets.tolist(), strict=True))

    def select(
        self, cell: int | None = None, launch: int | None = None, rank: int | None = None, phase: str | None = None
    ) -> NDArray[np.intp]:
        """Positions of the blocks that match everything given, in file order."""
        if cell is not None and phase is not None and launch is None:
            return self._of_cell_and_phase(cell, rank, layout().phase_number(phase))
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

    def _of_cell_and_phase(self, cell: int, rank: int | None, phase: int) -> NDArray[np.intp]:
        """Positions of the blocks of a cell, a phase and a rank, or of all ranks."""
        order, parts = self._by_rank if rank is not None else self._by_phase
        start, stop = parts.get((cell, phase) if rank is None else (cell, phase, rank), (0, 0))
        return order[start:stop]

    @cached_property
    def _by_phase(self) -> tuple[NDArray[np.intp], dict[tuple[int, ...], tuple[int, int]]]:
        return _parted(self.headers, ("cell", "phase"))

    @cached_property
    def _by_rank(self) -> tuple[NDArray[np.intp], dict[tuple[int, ...], tuple[int, int]]]:
        return _parted(self.headers, ("cell", "phase", "rank"))

    @cached_property
    def _by_cell(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        order = np.argsort(self.headers["cell"], kind="stable")
        return order, self.headers["cell"][order].astype(np.int64)

    def only(self, kept: NDArray[np.bool_], notes: Sequence[str] = ()) -> BlockIndex:
        """The same with those blocks alone for which `kept` holds, shape (blocks,), and further notes."""
        return BlockIndex(self.path, self.headers[kept], self.payload_offsets[kept], (*self.notes, *notes))

    def phase(self, i: int) -> str:
        """Name of the phase of block i."""
        return phase_name(int(self.headers["phase"][i]))

    def flag(self, name: str, among: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
        """Return where the flag of this name (witness, reused_address, ...) is set, shape (blocks,) or that of
        `among`.
        """
        flags = self.headers["flags"]
        set_: NDArray[np.bool_] = ((flags if among is None else flags[among]) & layout().flags[name]) != 0
        return set_


def phase_name(number: int) -> str:
    """Name of a phase by its number in a header."""
    return PHASES.get(number, f"phase {number}")


def _parted(
    headers: NDArray[Any], fields: Sequence[str]
) -> tuple[NDArray[np.intp], dict[tuple[int, ...], tuple[int, int]]]:
    """Positions of blocks by these fields, in file order where all are equal; values of the fields -> begin and end
    among the positions.
    """
    columns = [headers[name].astype(np.int64) for name in fields]
    order = np.lexsort(columns[::-1])
    sorted_ = np.stack(columns, axis=1)[order]
    begins = np.flatnonzero(np.r_[True, (sorted_[1:] != sorted_[:-1]).any(axis=1)]) if len(order) else order
    ends = [*begins[1:].tolist(), len(order)]
    keys = map(tuple, sorted_[begins].tolist())
    return order, dict(zip(keys, zip(begins.tolist(), ends, strict=False), strict=False))


@dataclass(frozen=True)
class BlockSamples:
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


def scan(path: str | os.PathLike[str]) -> BlockIndex:
    """Find all blocks that are whole.

    Returns: index of the good blocks; what was damaged is left out and noted. An empty file gives an empty
             index.
    Raises: RecordError: no such file, not a block file, or written by a newer version.
    """
    path = Path(path)
    known = layout()
    with opened(path) as descriptor:
        headers, notes = walk(path, descriptor, known)
        bad = _verify(path, descriptor, headers, known)
    notes += [_damaged(path, headers[i]) for i in sorted(bad)]
    if not headers:
        notes.append(f"{path.name}: no samples")
    kept = [header for i, header in enumerate(headers) if i not in bad]
    offsets = np.array([header.payload_offset for header in kept], dtype=np.int64)
    table = np.frombuffer(b"".join(header.raw for header in kept), known.header)
    return BlockIndex(path, table, offsets, tuple(notes))


def _verify(path: Path, descriptor: int, headers: list[BlockHeader], known: Layout) -> set[int]:
    """Positions of the headers whose payload is damaged; contiguous parts of the file go to one thread
    each.
    """
    if sum(header.end - header.payload_offset for header in headers) < WORTH_THREADS_BYTES:
        return set(damaged_payloads(path, descriptor, headers, known))
    cuts = np.linspace(0, len(headers), THREADS + 1).astype(int)
    parts = [headers[a:b] for a, b in itertools.pairwise(cuts)]
    with ThreadPoolExecutor(THREADS) as pool:
        damaged = pool.map(lambda part: damaged_payloads(path, descriptor, part, known), parts)
        return {int(start) + i for start, bad in zip(cuts[:-1], damaged, strict=True) for i in bad}


def read_from(descriptor: int, index: BlockIndex, i: int) -> BlockSamples:
    """`read` from a file that is open already."""
    n, carried, offset = index.payloads[i]
    values: NDArray[np.int64] = np.empty((columns_in(carried), n), dtype="<i8")
    target = values.reshape(-1).view(np.uint8).data
    got = 0
    while got < values.nbytes:  # one call returns at most 2 GiB
        more = os.preadv(descriptor, [target[got:]], offset + got)
        if more == 0:
            break
        got += more
    if got != values.nbytes:
        raise unreadable(index.path, "it became shorter", RESTORE)
    with_start = bool(carried & COLUMN_START)
    native = values.astype(np.int64, copy=False)
    return BlockSamples(native[0], native[1] if with_start else None)


def read(index: BlockIndex, i: int) -> BlockSamples:
    """Samples of block i. For many blocks, open the file once: `opened` and `read_from`.

    Raises: RecordError: the file is gone or became shorter since the scan.
    """
    with opened(index.path) as descriptor:
        return read_from(descriptor, index, i)


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
            left = memoryview(encode(block))
            while left:
                left = left[file.write(left) :]
            count += 1
    return count
