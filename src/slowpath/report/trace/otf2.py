# SPDX-License-Identifier: Apache-2.0
"""A trace as an OTF2 archive: traces.otf2 (the anchor), traces.def (definitions) and traces/ (each rank's events).

Numbers of records and enumerations: OTF2 3.0, otf2_global_definitions.h, otf2_events_int.h, OTF2_Definitions.h.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowpath.core.files import write_atomically
from slowpath.report.trace import otf2_bytes as raw
from slowpath.report.trace.model import Communicator, Message, Row, Span, Trace, edges

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
    places = [{rank: place for place, rank in enumerate(one.members)} for one in trace.communicators]
    files = [_events(row, regions, attributes, places) for row in trace.rows]
    definitions = _definitions(trace, regions, attributes, [file.events for file in files])
    (folder / NAME).mkdir(exist_ok=True)
    for location, file in zip(_locations(trace), files, strict=True):
        write_atomically(folder / NAME / f"{location}.evt", file.content())
        write_atomically(folder / NAME / f"{location}.def", raw.definitions_file([]))
    content = raw.definitions_file(definitions)
    write_atomically(folder / f"{NAME}.def", content)
    anchor = folder / f"{NAME}.otf2"
    write_atomically(anchor, _anchor(trace, len(definitions), zlib.crc32(content)))
    return anchor


def _locations(trace: Trace) -> list[int]:
    """A number for each row: the rank for the thread that stands for it, those behind all ranks for the others."""
    others = iter(range(trace.ranks, len(trace.rows)))
    return [row.rank if row.lane == 0 else next(others) for row in trace.rows]


def _events(row: Row, regions: Mapping[tuple[str, bool], int], attributes: Mapping[str, int],
            places: Sequence[Mapping[int, int]]) -> raw.EventFile:  # fmt: skip
    """Args: places: of each communicator, rank of all -> rank in it; []: of all ranks alone."""
    file = raw.EventFile()
    for time_ns, span, entered in edges(row):
        region = raw.number(regions[span.name, span.mpi])
        moved = [_message(one, places) for one in span.messages if one.kind in _EVENTS and one.at_end is not entered]
        if entered:
            file.add(time_ns, _attribute_list(span, attributes) + bytes([_ENTER]) + region)
        for data in (*moved, *_collective(span, entered)):
            file.add(time_ns, data)
        if not entered:
            file.add(time_ns, bytes([_LEAVE]) + region)
    return file


def _collective(span: Span, entered: bool) -> list[bytes]:
    """The record of one side of a collective; of calls that OTF2 has no number for none.

    What arrived is not recorded: 0, since readers add it up.
    """
    one, operation = span.collective, operation_of(span.name)
    if one is None or operation is None:
        return []
    if entered:
        return [raw.record(_COLLECTIVE_BEGIN, b"")]
    root = raw.number(raw.UNDEFINED_32 if one.root is None else one.root)
    data = bytes([operation]) + raw.number(one.communicator) + root
    return [raw.record(_COLLECTIVE_END, data + raw.number64(one.sent_bytes) + raw.number64(0))]


def operation_of(call: str) -> int | None:
    """The number of `MPI_Allreduce` among OTF2's collective operations; of calls that only begin one None."""
    return _OPERATIONS.get(call.removeprefix("MPI_").removesuffix("_c").lower())


def _message(one: Message, places: Sequence[Mapping[int, int]]) -> bytes:
    """A record of a message: its partner's rank in the communicator, or among all and window 0, tag and length."""
    partner = places[one.communicator][one.partner] if places else one.partner
    about = raw.number(partner) + raw.number(one.communicator)
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
                 events: Sequence[int]) -> list[bytes]:  # fmt: skip
    """Clock, strings, then everything that refers to them."""
    string, found = _Strings(), []
    nothing = string("")
    found += [raw.record(_ATTRIBUTE, raw.number(number) + string(name) + bytes([_UINT64]) + nothing)
              for name, number in attributes.items()]  # fmt: skip
    hosts = {host: number + 1 for number, host in enumerate(dict.fromkeys(row.host for row in trace.rows))}
    found.append(_node(0, string(trace.title), string("machine"), raw.UNDEFINED_32))
    found += [_node(number, string(host), string("node"), 0) for host, number in hosts.items()]
    for row, number, count in zip(trace.rows, _locations(trace), events, strict=True):
        name, own = string(row.name), raw.number(row.rank)
        group = own + name + bytes([_PROCESS]) + raw.number(hosts[row.host]) + raw.number(raw.UNDEFINED_32)
        location = raw.number64(number) + name + bytes([_CPU_THREAD]) + raw.number64(count) + own
        found += [raw.record(_GROUP, group)] if row.lane == 0 else []
        found.append(raw.record(_LOCATION, location))
    for (name_, mpi), number in regions.items():
        words, undefined = string(name_), raw.number(raw.UNDEFINED_32)
        kind = bytes([_ROLE_FUNCTION, _MPI]) if mpi else bytes([_ROLE_CODE, _USER])
        found.append(raw.record(_REGION, raw.number(number) + words + nothing + bytes([_TYPE_FUNCTION]) + undefined
                                + raw.number(0) + raw.number(0) + words + kind + raw.number(0)))  # fmt: skip
    if trace.messages or trace.communicators:
        found += _communicators(trace, string)
    began = raw.UNDEFINED_64 if trace.began_ns is None else trace.began_ns
    clock = b"".join(map(raw.number64, (_TICKS_PER_S, 0, trace.length_ns, began)))
    return [raw.record(_CLOCK, clock), *string.records, *found]


def _communicators(trace: Trace, string: _Strings) -> list[bytes]:
    """The locations that communicate, a group and a communicator for each, and a window of the first."""
    everybody = Communicator("MPI_COMM_WORLD", tuple(range(trace.ranks)))
    known = tuple(trace.communicators) or (everybody,)
    undefined = raw.number(raw.UNDEFINED_32)
    found = [_group(0, _COMM_LOCATIONS, 6, "ranks", everybody.members, string)]
    for number, one in enumerate(known):
        name = "all ranks" if number == 0 else f"ranks of {one.name}"
        found.append(_group(number + 1, _COMM_GROUP, 4, name, one.members, string))
    for number, one in enumerate(known):
        data = raw.number(number) + string(one.name) + raw.number(number + 1) + undefined + raw.number(0)
        found.append(raw.record(_COMM, data))
    window = raw.number(0) + string("window") + raw.number(0) + raw.number(0)
    return [*found, raw.record(_WINDOW, window)]


def _group(ref: int, kind: int, old: int, name: str, members: Sequence[int], string: _Strings) -> bytes:
    """Args: old: the kind, as readers before 1.2 expect it."""
    count = raw.number(len(members)) + b"".join(raw.number64(rank) for rank in members)
    data = raw.number(ref) + string(name) + bytes([old]) + count + bytes([kind, _MPI]) + raw.number(0)
    return raw.record(_OBJECTS, data)


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
