# SPDX-License-Identifier: Apache-2.0
"""Finds the blocks of a samples.blk, whatever happened to the file.

A job may be killed, a disk fill up, a bit flip. Whatever can still be proven by a checksum is kept;
everything else becomes a note.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from slowpath.core.errors import RecordError
from slowpath.core.limits import LARGEST_GAP_BYTES, MOST_SAMPLES_BYTES
from slowpath.record.layout import COLUMN_DURATION, COLUMN_START, Layout, columns_in

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Header:
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
class _File:
    """An open block file; reads never go past the size it had when it was opened, because it may still
    grow.
    """

    descriptor: int
    size: int
    path: Path
    layout: Layout
    notes: list[str] = field(default_factory=list)

    def header_at(self, offset: int) -> Header | None:
        """The verified header at `offset`, or None. Raises: RecordError when a newer version wrote it."""
        layout = self.layout
        raw = os.pread(self.descriptor, min(layout.header.itemsize, max(self.size - offset, 0)), offset)
        if len(raw) < layout.header.itemsize or not raw.startswith(layout.magic):
            return None
        values = np.frombuffer(raw, layout.header)[0]
        length, version = int(values["header_bytes"]), int(values["version"])
        if version > layout.version and self._seals(offset, length):
            raise RecordError(
                f"{self.path}: written by a newer slowpath (block version {version}, this one reads up to "
                f"{layout.version}); read it with a newer slowpath"
            )
        if length != len(raw) or version < 1 or zlib.crc32(raw[:-4]) != int(values["header_crc"]):
            return None
        columns, count = int(values["columns"]), int(values["n"])
        if count > MOST_SAMPLES_BYTES // 8:
            self.notes.append(f"{self.path.name}: the block at byte {offset} is said to hold {count} samples; left out")
            return None
        if not columns & COLUMN_DURATION or columns & ~(COLUMN_DURATION | COLUMN_START) or values["batch"] < 1:
            self.notes.append(
                f"{self.path.name}: the block at byte {offset} has columns {columns} and "
                f"batch {values['batch']}, which block version 1 does not allow; left out"
            )
            return None
        end = offset + len(raw) + 8 * count * columns_in(columns)
        return Header(raw, offset, end, int(values["cell"]), int(values["payload_crc"]))

    def _seals(self, offset: int, length: int) -> bool:
        """Whether a header of any version is whole: its last four bytes are always the CRC of what stands
        before.
        """
        raw = os.pread(self.descriptor, length, offset)
        return length >= 8 and len(raw) == length and zlib.crc32(raw[:-4]) == int.from_bytes(raw[-4:], "little")

    def next_header(self, start: int) -> Header | None:
        """First verified header at or after `start`, as far as is looked: LARGEST_GAP_BYTES."""
        magic = self.layout.magic
        end = start + LARGEST_GAP_BYTES
        while start < min(self.size, end):
            chunk = os.pread(self.descriptor, min(_CHUNK_BYTES, self.size - start), start)
            at = chunk.find(magic)
            while at >= 0:
                found = self.header_at(start + at)
                if found is not None:
                    return found
                at = chunk.find(magic, at + 1)
            if len(chunk) < len(magic):
                return None
            start += len(chunk) - len(magic) + 1
        return None

    def payload_is_whole(self, header: Header) -> bool:
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


def walk(path: Path, descriptor: int, layout: Layout) -> tuple[list[Header], list[str]]:
    """All blocks with a valid header and a payload that lies inside the file, and notes on everything else.

    Raises: RecordError: a newer version wrote the file, or nothing in it is a block.
    """
    file = _File(descriptor, os.fstat(descriptor).st_size, path, layout)
    found: list[Header] = []
    position = 0
    while position < file.size:
        header = file.header_at(position)
        if header is not None and header.end <= file.size:
            found.append(header)
            position = header.end
            continue
        resumed = _resume(file, found, header, position)
        if resumed is None:
            break
        position = resumed
    if not found and file.size >= layout.header.itemsize and not _looks_torn(file):
        raise RecordError(f"{path}: holds no block; a samples.blk starts with {layout.magic.decode()}, is this one?")
    return found, file.notes


def _looks_torn(file: _File) -> bool:
    return os.pread(file.descriptor, len(file.layout.magic), 0) == file.layout.magic


def _resume(file: _File, found: list[Header], torn: Header | None, position: int) -> int | None:
    """Where reading goes on after `position` could not be read; notes what is lost. None: nothing follows."""
    search = position + 1
    if torn is None and found and not file.payload_is_whole(found[-1]):
        # The block before may have been cut short (a full disk) with the next one right behind it: look
        # inside.
        lost = found.pop()
        search, position = lost.payload_offset, lost.offset
        file.notes.append(_lost(file.path, lost, "its payload is damaged"))
    following = file.next_header(search)
    if following is None:
        file.notes.append(
            f"{file.path.name}: the last {file.size - position} bytes, from byte {position} on, are no "
            "whole block (was the job killed?); everything before is kept"
        )
        return None
    file.notes.append(
        f"{file.path.name}: damaged between byte {position} and byte {following.offset}; these bytes are left out"
    )
    return following.offset


def damaged_payloads(path: Path, descriptor: int, headers: list[Header], layout: Layout) -> list[int]:
    """Positions in `headers` whose payload does not match its CRC."""
    file = _File(descriptor, os.fstat(descriptor).st_size, path, layout)
    return [i for i, header in enumerate(headers) if not file.payload_is_whole(header)]


def _lost(path: Path, header: Header, why: str) -> str:
    return f"{path.name}: block of cell {header.cell} at byte {header.offset} left out: {why}"


def damaged_note(path: Path, header: Header) -> str:
    """The note on a block whose payload does not match its CRC."""
    return _lost(path, header, "its samples do not match their checksum")


def as_array(headers: list[Header], layout: Layout) -> np.ndarray[Any, Any]:
    """Structured array of the headers, shape (blocks,)."""
    return np.frombuffer(b"".join(header.raw for header in headers), layout.header)
