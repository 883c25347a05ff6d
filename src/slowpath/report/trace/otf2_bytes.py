# SPDX-License-Identifier: Apache-2.0
"""The bytes of the Open Trace Format 2, as far as enter and leave records need them.

Source: the OTF2 library 3.0 (Score-P, BSD-3): its trace format 2 and anchor format 3, little-endian, without
compression and snapshots. Read back by otf2-print in tests/unit/trace.

A file is a row of chunks. Each begins with a header: a mark, the byte order, the numbers of its first and last event;
in files of events the time follows. All chunks of a file but the last are filled up to the length in the anchor file.
"""

from __future__ import annotations

import struct

from slowpath.core.clean import line

END_OF_CHUNK, END_OF_BUFFER, END_OF_FILE, CHUNK_HEADER, TIMESTAMP = 0, 1, 2, 3, 5
LITTLE_ENDIAN = 0x42
UNDEFINED_32, UNDEFINED_64 = 2**32 - 1, 2**64 - 1
EVENT_CHUNK_BYTES = 1 << 20
DEFINITION_CHUNK_BYTES = 1 << 22


def full64(value: int) -> bytes:
    """8 bytes."""
    return struct.pack("<Q", value)


def number(value: int, undefined: int = UNDEFINED_32) -> bytes:
    """A compressed number: how many bytes, then those; the undefined value is the byte 255 alone."""
    if value == undefined:
        return b"\xff"
    length = (value.bit_length() + 7) // 8
    return bytes([length]) + value.to_bytes(length, "little")


def number64(value: int) -> bytes:
    """`number` of 64 bits."""
    return number(value, UNDEFINED_64)


def text(words: str) -> bytes:
    """A string with its end; what is not seen is escaped: a zero byte inside would end it early."""
    return line(words).encode() + b"\0"


def record(kind: int, data: bytes) -> bytes:
    """A record with its length."""
    length = bytes([len(data)]) if len(data) < 255 else b"\xff" + full64(len(data))
    return bytes([kind]) + length + data


def chunk_header(first: int, last: int) -> bytes:
    """Of events `first` to `last`, counted from 1."""
    return bytes([CHUNK_HEADER, LITTLE_ENDIAN]) + full64(first) + full64(last)


def definitions_file(records: list[bytes]) -> bytes:
    """A file of definitions. They must fit one chunk: there is one a cell and a rank, so they do by far.

    Raises: ValueError: they do not.
    """
    content = chunk_header(1, 0) + b"".join(records) + bytes([END_OF_FILE, END_OF_BUFFER])
    if len(content) > DEFINITION_CHUNK_BYTES:
        raise ValueError("definitions: more than one chunk")
    return content


class EventFile:
    """The events of one location, in chunks."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._parts: list[bytes] = []
        self._length = 0
        self._time: int | None = None
        self._first = 1
        self.events = 0

    def add(self, time_ns: int, data: bytes) -> None:
        """One event. data: its attributes, if any, and its record.  time_ns: not before the last event's."""
        # 9 for its time, 18 and 9 for the next header and time: an event never crosses the end of a chunk.
        if self._parts and self._length + len(data) + 9 + 2 > EVENT_CHUNK_BYTES:
            self._close()
        if not self._parts:
            self._length = len(chunk_header(0, 0))
            self._time = None
        stamp = b"" if time_ns == self._time else bytes([TIMESTAMP]) + full64(time_ns)
        self._time = time_ns
        self._parts.append(stamp + data)
        self._length += len(stamp) + len(data)
        self.events += 1

    def _close(self) -> None:
        body = chunk_header(self._first, self.events) + b"".join(self._parts)
        self._chunks.append(body.ljust(EVENT_CHUNK_BYTES, bytes([END_OF_CHUNK])))
        self._first, self._parts = self.events + 1, []

    def content(self) -> bytes:
        """The whole file."""
        last = chunk_header(self._first, self.events) + b"".join(self._parts)
        if not self._parts:  # a chunk of events begins with a time even where no event follows
            last += bytes([TIMESTAMP]) + full64(self._time or 0)
        return b"".join(self._chunks) + last + bytes([END_OF_FILE, END_OF_BUFFER])
