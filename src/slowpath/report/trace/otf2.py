# SPDX-License-Identifier: Apache-2.0
"""A trace as an OTF2 archive: traces.otf2 (the anchor), traces.def (definitions) and traces/ (each rank's events).

Numbers of records and enumerations: OTF2 3.0, otf2_global_definitions.h, otf2_events_int.h, OTF2_Definitions.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowpath.core.clean import line
from slowpath.core.files import write_atomically
from slowpath.report.trace.model import Communicator, Span, Trace, TraceMessage, TraceThread, edges

END_OF_CHUNK, END_OF_BUFFER, END_OF_FILE, CHUNK_HEADER, TIMESTAMP = 0, 1, 2, 3, 5
LITTLE_ENDIAN = 0x42
UNDEFINED_32, UNDEFINED_64 = 2**32 - 1, 2**64 - 1
EVENT_CHUNK_BYTES = 1 << 20
DEFINITION_CHUNK_BYTES = 1 << 22


def full64(value: int) -> bytes:
    """Return a number as 8 bytes."""
    return struct.pack("<Q", value)


def encoded_number(value: int, undefined: int = UNDEFINED_32) -> bytes:
    """Return a compressed number: its number of bytes, then the bytes. The undefined value is the single byte 255."""
    if value == undefined:
        return b"\xff"
    length = (value.bit_length() + 7) // 8
    return bytes([length]) + value.to_bytes(length, "little")


def number64(value: int) -> bytes:
    """Return a compressed 64-bit number."""
    return encoded_number(value, UNDEFINED_64)


def text(words: str) -> bytes:
    """Return a string with its end. Invisible characters are escaped, because a zero byte would end it early."""
    return line(words).encode() + b"\0"


def record(kind: int, data: bytes) -> bytes:
    """Return a record with its length."""
    length = bytes([len(data)]) if len(data) < 255 else b"\xff" + full64(len(data))
    return bytes([kind]) + length + data


def chunk_header(first: int, last: int) -> bytes:
    """Return the header of a chunk with events `first` to `last`, counted from 1."""
    return bytes([CHUNK_HEADER, LITTLE_ENDIAN]) + full64(first) + full64(last)


def definitions_file(records: list[bytes]) -> bytes:
    """Return a file of definitions, which must fit into one chunk.  Raises: ValueError: they do not fit."""
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
        """Add an event.  Args: data: its attributes, if any, and its record. time_ns: not before the last event's."""
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
        """Return the whole file."""
        last = chunk_header(self._first, self.events) + b"".join(self._parts)
        if not self._parts:  # a chunk of events begins with a time even where no event follows
            last += bytes([TIMESTAMP]) + full64(self._time or 0)
        return b"".join(self._chunks) + last + bytes([END_OF_FILE, END_OF_BUFFER])


NAME = "traces"
_CLOCK, _STRING, _ATTRIBUTE, _NODE, _GROUP, _LOCATION, _REGION = 5, 10, 11, 12, 13, 14, 15
_OBJECTS, _COMM, _WINDOW = 18, 22, 24  # groups of locations, communicators, windows
_ATTRIBUTE_LIST, _ENTER, _LEAVE = 6, 12, 13
_EVENTS = {"send": 14, "receive": 18, "put": 46, "get": 47}  # MPI_SEND, MPI_RECV, RMA_PUT, RMA_GET
_COLLECTIVE_BEGIN, _COLLECTIVE_END = 22, 23
# OTF2_COLLECTIVE_OP_*, by the call without MPI_, a leading I and a trailing _init or _c.
_OPERATIONS = {
    name: number
    for number, name in enumerate((
        "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall",
        "alltoallv", "alltoallw", "allreduce", "reduce", "reduce_scatter", "scan", "exscan", "reduce_scatter_block",
    ))
}  # fmt: skip
_COMM_LOCATIONS, _COMM_GROUP = 4, 5  # OTF2_GROUP_TYPE_*
_UINT64 = 4  # OTF2_TYPE_UINT64
_PROCESS, _CPU_THREAD = 1, 1  # OTF2_LOCATION_GROUP_TYPE_PROCESS, OTF2_LOCATION_TYPE_CPU_THREAD
_USER, _MPI = 1, 4  # OTF2_PARADIGM_*
_ROLE_FUNCTION, _ROLE_CODE, _TYPE_FUNCTION = 1, 4, 1  # OTF2_REGION_ROLE_*, and what readers before 1.1 expect
_TICKS_PER_S = 10**9
_ANCHOR_FORMAT, _TRACE_FORMAT, _VERSION = 3, 2, (3, 0, 0)
_POSIX, _UNCOMPRESSED = 1, 1


class _Strings:
    """Strings and their references, in the order of their first use."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.records: list[bytes] = []

    def __call__(self, words: str) -> bytes:
        """Return the compressed reference to a string."""
        if words not in self.numbers:
            self.numbers[words] = len(self.numbers)
            data = encoded_number(self.numbers[words]) + text(words)
            self.records.append(record(_STRING, data))
        return encoded_number(self.numbers[words])


def write_otf2(trace: Trace, folder: Path) -> Path:
    """Write the archive into `folder`, which exists.

    Returns: path of the anchor file.  Raises: RecordError: spans overlap.  EnvironmentFailure: it can't be written.
    """
    spans = [span for row in trace.rows for span in row.spans]
    regions = {key: number for number, key in enumerate(dict.fromkeys((span.name, span.mpi) for span in spans))}
    attributes = {name: number for number, name in enumerate(dict.fromkeys(k for s in spans for k in s.attributes))}
    places = [{rank: place for place, rank in enumerate(communicator.members)} for communicator in trace.communicators]
    files = [_events(row, regions, attributes, places) for row in trace.rows]
    definitions = _definitions(trace, regions, attributes, [file.events for file in files])
    (folder / NAME).mkdir(exist_ok=True)
    for location, file in zip(_locations(trace), files, strict=True):
        write_atomically(folder / NAME / f"{location}.evt", file.content())
        write_atomically(folder / NAME / f"{location}.def", definitions_file([]))
    content = definitions_file(definitions)
    write_atomically(folder / f"{NAME}.def", content)
    anchor = folder / f"{NAME}.otf2"
    write_atomically(anchor, _anchor(trace, len(definitions), zlib.crc32(content)))
    return anchor


def _locations(trace: Trace) -> list[int]:
    """Return a number for each row: the rank for its main thread, numbers behind all ranks for other threads."""
    others = iter(range(trace.ranks, len(trace.rows)))
    return [row.rank if row.lane == 0 else next(others) for row in trace.rows]


def _events(row: TraceThread, regions: Mapping[tuple[str, bool], int], attributes: Mapping[str, int],
            places: Sequence[Mapping[int, int]]) -> EventFile:  # fmt: skip
    """Return a thread's events.

    Args: places: for each communicator, its ranks by rank among all; []: all ranks only.
    """
    file = EventFile()
    for time_ns, span, entered in edges(row):
        region = encoded_number(regions[span.name, span.mpi])
        moved = [
            _message(message, places)
            for message in span.messages
            if message.kind in _EVENTS and message.at_end is not entered
        ]
        if entered:
            file.add(time_ns, _attribute_list(span, attributes) + bytes([_ENTER]) + region)
        for data in (*moved, *_collective(span, entered)):
            file.add(time_ns, data)
        if not entered:
            file.add(time_ns, bytes([_LEAVE]) + region)
    return file


def _collective(span: Span, entered: bool) -> list[bytes]:
    """Return the record of one side of a collective, or none for calls that OTF2 does not know.

    The received bytes are 0, because readers add them up.
    """
    collective, operation = span.collective, operation_of(span.name)
    if collective is None or operation is None:
        return []
    if entered:
        return [record(_COLLECTIVE_BEGIN, b"")]
    root = encoded_number(UNDEFINED_32 if collective.root is None else collective.root)
    data = bytes([operation]) + encoded_number(collective.communicator) + root
    return [record(_COLLECTIVE_END, data + number64(collective.sent_bytes) + number64(0))]


def operation_of(call: str) -> int | None:
    """Return OTF2's number of a collective operation, or None for calls that only start one."""
    return _OPERATIONS.get(call.removeprefix("MPI_").removesuffix("_c").lower())


def _message(message: TraceMessage, places: Sequence[Mapping[int, int]]) -> bytes:
    """Return the record of a message: its partner's rank in the communicator or window 0, its tag and its length."""
    partner = places[message.communicator][message.partner] if places else message.partner
    about = encoded_number(partner) + encoded_number(message.communicator)
    if message.kind in ("send", "receive"):
        return record(_EVENTS[message.kind], about + encoded_number(message.tag) + number64(message.bytes))
    about = encoded_number(0) + encoded_number(message.partner)
    return record(_EVENTS[message.kind], about + number64(message.bytes) + number64(0))


def _attribute_list(span: Span, attributes: Mapping[str, int]) -> bytes:
    if not span.attributes:
        return b""
    values = [encoded_number(attributes[name]) + bytes([_UINT64]) + number64(value)
              for name, value in span.attributes.items()]  # fmt: skip
    return record(_ATTRIBUTE_LIST, encoded_number(len(values)) + b"".join(values))


def _definitions(trace: Trace, regions: Mapping[tuple[str, bool], int], attributes: Mapping[str, int],
                 events: Sequence[int]) -> list[bytes]:  # fmt: skip
    """Return the definitions: clock and strings first, then everything that refers to them."""
    string, found = _Strings(), []
    nothing = string("")
    found += [record(_ATTRIBUTE, encoded_number(number) + string(name) + bytes([_UINT64]) + nothing)
              for name, number in attributes.items()]  # fmt: skip
    hosts = {host: number + 1 for number, host in enumerate(dict.fromkeys(row.host for row in trace.rows))}
    found.append(_node(0, string(trace.title), string("machine"), UNDEFINED_32))
    found += [_node(number, string(host), string("node"), 0) for host, number in hosts.items()]
    for row, number, count in zip(trace.rows, _locations(trace), events, strict=True):
        name, own = string(row.name), encoded_number(row.rank)
        group = own + name + bytes([_PROCESS]) + encoded_number(hosts[row.host]) + encoded_number(UNDEFINED_32)
        location = number64(number) + name + bytes([_CPU_THREAD]) + number64(count) + own
        found += [record(_GROUP, group)] if row.lane == 0 else []
        found.append(record(_LOCATION, location))
    for (name_, mpi), number in regions.items():
        words, undefined = string(name_), encoded_number(UNDEFINED_32)
        kind = bytes([_ROLE_FUNCTION, _MPI]) if mpi else bytes([_ROLE_CODE, _USER])
        found.append(
            record(
                _REGION,
                encoded_number(number)
                + words
                + nothing
                + bytes([_TYPE_FUNCTION])
                + undefined
                + encoded_number(0)
                + encoded_number(0)
                + words
                + kind
                + encoded_number(0),
            )
        )
    if trace.messages or trace.communicators:
        found += _communicators(trace, string)
    began = UNDEFINED_64 if trace.began_ns is None else trace.began_ns
    clock = b"".join(map(number64, (_TICKS_PER_S, 0, trace.length_ns, began)))
    return [record(_CLOCK, clock), *string.records, *found]


def _communicators(trace: Trace, string: _Strings) -> list[bytes]:
    """Return locations, groups and communicators, and a window of the first communicator."""
    everybody = Communicator("MPI_COMM_WORLD", tuple(range(trace.ranks)))
    known = tuple(trace.communicators) or (everybody,)
    undefined = encoded_number(UNDEFINED_32)
    found = [_group(0, _COMM_LOCATIONS, 6, "ranks", everybody.members, string)]
    for number, communicator in enumerate(known):
        name = "all ranks" if number == 0 else f"ranks of {communicator.name}"
        found.append(_group(number + 1, _COMM_GROUP, 4, name, communicator.members, string))
    for number, communicator in enumerate(known):
        data = (
            encoded_number(number)
            + string(communicator.name)
            + encoded_number(number + 1)
            + undefined
            + encoded_number(0)
        )
        found.append(record(_COMM, data))
    window = encoded_number(0) + string("window") + encoded_number(0) + encoded_number(0)
    return [*found, record(_WINDOW, window)]


def _group(ref: int, kind: int, old: int, name: str, members: Sequence[int], string: _Strings) -> bytes:
    """Return a group.  Args: old: its kind as readers before OTF2 1.2 expect it."""
    count = encoded_number(len(members)) + b"".join(number64(rank) for rank in members)
    data = encoded_number(ref) + string(name) + bytes([old]) + count + bytes([kind, _MPI]) + encoded_number(0)
    return record(_OBJECTS, data)


def _node(number: int, name: bytes, class_: bytes, parent: int) -> bytes:
    return record(_NODE, encoded_number(number) + name + class_ + encoded_number(parent))


def _anchor(trace: Trace, definitions: int, identity: int) -> bytes:
    """Return the anchor file. `identity` distinguishes archives; equal traces have equal ones."""
    content = bytes([CHUNK_HEADER, LITTLE_ENDIAN]) + text("OTF2")
    content += bytes([_ANCHOR_FORMAT, _TRACE_FORMAT, *_VERSION])
    content += full64(EVENT_CHUNK_BYTES) + full64(DEFINITION_CHUNK_BYTES)
    content += bytes([_POSIX, _UNCOMPRESSED]) + full64(len(trace.rows)) + full64(definitions)
    content += text("") + text("slowpath") + text("; ".join([trace.title, *trace.notes]))
    content += bytes(4) + full64(identity) + bytes(4) + bytes(4)  # properties, identity, snapshots, thumbnails
    return content + bytes([END_OF_FILE, END_OF_BUFFER, END_OF_CHUNK])
