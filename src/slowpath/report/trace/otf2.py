# SPDX-License-Identifier: Apache-2.0
"""A trace as an OTF2 archive: traces.otf2 (the anchor), traces.def (definitions) and traces/ (each rank's events).

Numbers of records and enumerations: OTF2 3.0, otf2_global_definitions.h, otf2_events_int.h, OTF2_Definitions.h.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

from slowpath.core.files import write_atomically
from slowpath.report.trace import otf2_bytes as raw
from slowpath.report.trace.model import Message, Row, Span, Trace, edges

NAME = "traces"
_CLOCK, _STRING, _ATTRIBUTE, _NODE, _GROUP, _LOCATION, _REGION = 5, 10, 11, 12, 13, 14, 15
_OBJECTS, _COMM, _WINDOW = 18, 22, 24  # groups of locations, communicators, windows
_ATTRIBUTE_LIST, _ENTER, _LEAVE = 6, 12, 13
_EVENTS = {"send": 14, "receive": 18, "put": 46, "get": 47}  # MPI_SEND, MPI_RECV, RMA_PUT, RMA_GET
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
        """The reference to a string, compressed."""
        if words not in self.numbers:
            self.numbers[words] = len(self.numbers)
            data = raw.number(self.numbers[words]) + raw.text(words)
            self.records.append(raw.record(_STRING, data))
        return raw.number(self.numbers[words])


def write_otf2(trace: Trace, folder: Path) -> Path:
    """Write the archive into `folder`, which exists.

    Returns: path of the anchor file.  Raises: RecordError: spans overlap.  EnvironmentFailure: it can't be written.
    """
    spans = [span for row in trace.rows for span in row.spans]
    regions = {key: number for number, key in enumerate(dict.fromkeys((span.name, span.mpi) for span in spans))}
    attributes = {name: number for number, name in enumerate(dict.fromkeys(k for s in spans for k in s.attributes))}
    files = {row.rank: _events(row, regions, attributes) for row in trace.rows}
    definitions = _definitions(trace, regions, attributes, {rank: file.events for rank, file in files.items()})
    (folder / NAME).mkdir(exist_ok=True)
    for rank, file in files.items():
        write_atomically(folder / NAME / f"{rank}.evt", file.content())
        write_atomically(folder / NAME / f"{rank}.def", raw.definitions_file([]))
    content = raw.definitions_file(definitions)
    write_atomically(folder / f"{NAME}.def", content)
    anchor = folder / f"{NAME}.otf2"
    write_atomically(anchor, _anchor(trace, len(definitions), zlib.crc32(content)))
    return anchor


def _events(row: Row, regions: Mapping[tuple[str, bool], int], attributes: Mapping[str, int]) -> raw.EventFile:
    file = raw.EventFile()
    for time_ns, span, entered in edges(row):
        region = raw.number(regions[span.name, span.mpi])
        moved = [_message(one) for one in span.messages if one.kind in _EVENTS and one.at_end is not entered]
        if entered:
            file.add(time_ns, _attribute_list(span, attributes) + bytes([_ENTER]) + region)
        for data in moved:
            file.add(time_ns, data)
        if not entered:
            file.add(time_ns, bytes([_LEAVE]) + region)
    return file


def _message(one: Message) -> bytes:
    """A record of a message: its partner's rank, the communicator or window 0, tag and length."""
    about = raw.number(one.partner) + raw.number(0)
    if one.kind in ("send", "receive"):
        return raw.record(_EVENTS[one.kind], about + raw.number(one.tag) + raw.number64(one.bytes))
    about = raw.number(0) + raw.number(one.partner)
    return raw.record(_EVENTS[one.kind], about + raw.number64(one.bytes) + raw.number64(0))


def _attribute_list(span: Span, attributes: Mapping[str, int]) -> bytes:
    if not span.attributes:
        return b""
    values = [raw.number(attributes[name]) + bytes([_UINT64]) + raw.number64(value)
              for name, value in span.attributes.items()]  # fmt: skip
    return raw.record(_ATTRIBUTE_LIST, raw.number(len(values)) + b"".join(values))


def _definitions(trace: Trace, regions: Mapping[tuple[str, bool], int], attributes: Mapping[str, int],
                 events: Mapping[int, int]) -> list[bytes]:  # fmt: skip
    """Clock, strings, then everything that refers to them."""
    string, found = _Strings(), []
    nothing = string("")
    found += [raw.record(_ATTRIBUTE, raw.number(number) + string(name) + bytes([_UINT64]) + nothing)
              for name, number in attributes.items()]  # fmt: skip
    hosts = {host: number + 1 for number, host in enumerate(dict.fromkeys(row.host for row in trace.rows))}
    found.append(_node(0, string(trace.title), string("machine"), raw.UNDEFINED_32))
    found += [_node(number, string(host), string("node"), 0) for host, number in hosts.items()]
    for row in trace.rows:
        name, own = string(f"rank {row.rank}"), raw.number(row.rank)
        group = own + name + bytes([_PROCESS]) + raw.number(hosts[row.host]) + raw.number(raw.UNDEFINED_32)
        location = raw.number64(row.rank) + name + bytes([_CPU_THREAD]) + raw.number64(events[row.rank]) + own
        found += [raw.record(_GROUP, group), raw.record(_LOCATION, location)]
    for (name_, mpi), number in regions.items():
        words, undefined = string(name_), raw.number(raw.UNDEFINED_32)
        kind = bytes([_ROLE_FUNCTION, _MPI]) if mpi else bytes([_ROLE_CODE, _USER])
        found.append(raw.record(_REGION, raw.number(number) + words + nothing + bytes([_TYPE_FUNCTION]) + undefined
                                + raw.number(0) + raw.number(0) + words + kind + raw.number(0)))  # fmt: skip
    if trace.messages:
        found += _communicator(len(trace.rows), string)
    began = raw.UNDEFINED_64 if trace.began_ns is None else trace.began_ns
    clock = b"".join(map(raw.number64, (_TICKS_PER_S, 0, trace.length_ns, began)))
    return [raw.record(_CLOCK, clock), *string.records, *found]


def _communicator(ranks: int, string: _Strings) -> list[bytes]:
    """All ranks: the locations that communicate, the group of all of them, a communicator and a window of it."""
    count = raw.number(ranks) + b"".join(raw.number64(rank) for rank in range(ranks))
    groups = [
        raw.record(
            _OBJECTS, raw.number(ref) + string(name) + bytes([old]) + count + bytes([kind, _MPI]) + raw.number(0)
        )
        for ref, kind, old, name in ((0, _COMM_LOCATIONS, 6, "ranks"), (1, _COMM_GROUP, 4, "all ranks"))
    ]  # old: what readers before 1.2 expect
    undefined = raw.number(raw.UNDEFINED_32)
    world = raw.number(0) + string("MPI_COMM_WORLD") + raw.number(1) + undefined + raw.number(0)
    window = raw.number(0) + string("window") + raw.number(0) + raw.number(0)
    return [*groups, raw.record(_COMM, world), raw.record(_WINDOW, window)]


def _node(number: int, name: bytes, class_: bytes, parent: int) -> bytes:
    return raw.record(_NODE, raw.number(number) + name + class_ + raw.number(parent))


def _anchor(trace: Trace, definitions: int, identity: int) -> bytes:
    """identity: tells archives apart; the same trace has the same."""
    content = bytes([raw.CHUNK_HEADER, raw.LITTLE_ENDIAN]) + raw.text("OTF2")
    content += bytes([_ANCHOR_FORMAT, _TRACE_FORMAT, *_VERSION])
    content += raw.full64(raw.EVENT_CHUNK_BYTES) + raw.full64(raw.DEFINITION_CHUNK_BYTES)
    content += bytes([_POSIX, _UNCOMPRESSED]) + raw.full64(len(trace.rows)) + raw.full64(definitions)
    content += raw.text("") + raw.text("slowpath") + raw.text("; ".join([trace.title, *trace.notes]))
    content += bytes(4) + raw.full64(identity) + bytes(4) + bytes(4)  # properties, identity, snapshots, thumbnails
    return content + bytes([raw.END_OF_FILE, raw.END_OF_BUFFER, raw.END_OF_CHUNK])
