# SPDX-License-Identifier: Apache-2.0
"""Files of a trace: Perfetto's format, and the folder of all formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slowpath.core.clean import line
from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import write_atomically
from slowpath.report.trace.model import Span, Trace, TraceThread, edges
from slowpath.report.trace.otf2 import write_otf2

NAME = "trace.perfetto-trace"
_PACKET = 1  # Trace.packet
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _SEQUENCE_FLAGS, _TRACK_DESCRIPTOR = 8, 10, 11, 13, 60  # TracePacket
_UUID, _NAME, _PROCESS, _THREAD = 1, 2, 3, 4  # TrackDescriptor
_PID, _PROCESS_NAME = 1, 6  # ProcessDescriptor
_THREAD_PID, _TID, _THREAD_NAME = 1, 2, 5  # ThreadDescriptor
_ANNOTATION, _TYPE, _TRACK_UUID, _CATEGORY, _EVENT_NAME = 4, 9, 11, 22, 23  # TrackEvent
_ANNOTATION_UINT, _ANNOTATION_NAME = 3, 10  # DebugAnnotation
_FLOW, _FLOW_END = 47, 48  # TrackEvent.flow_ids, terminating_flow_ids: what arrows join
_FIXED64 = 1  # wire type
_SLICE_BEGIN, _SLICE_END = 1, 2  # TrackEvent.Type
_STATE_CLEARED = 1  # SEQ_INCREMENTAL_STATE_CLEARED
_FIRST_UUID = 1000
_FIRST_THREAD_UUID = 1 << 40  # of threads that stand for no rank
_FIRST_TID = 1 << 24  # beyond all ranks


def write_perfetto(trace: Trace, folder: Path) -> Path:
    """Write the trace in Perfetto's format into an existing `folder`.

    Returns: its path.
    Raises: RecordError: spans overlap. EnvironmentFailure: the file can't be written.
    """
    path = folder / NAME
    flows = {
        flow: number + 1
        for number, flow in enumerate(
            dict.fromkeys(
                message.flow for row in trace.rows for span in row.spans for message in span.messages if message.flow
            )
        )
    }
    numbers = range(1, len(trace.rows) + 1)
    rows = zip(numbers, trace.rows, strict=True)
    write_atomically(path, b"".join(packet for number, row in rows for packet in _row(number, row, flows)))
    return path


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, value: bytes | str) -> bytes:
    data = line(value).encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _row(sequence: int, row: TraceThread, flows: Mapping[tuple[int, ...], int]) -> list[bytes]:
    """A process for each rank, with a thread for each of its own. Where a pid is not known, or two nodes gave the same
    one, the rank would be mistaken for another; so the rank stands for the pid.
    """
    process, thread = _FIRST_UUID + 2 * row.rank, _FIRST_UUID + 2 * row.rank + 1
    pid = row.rank + 1  # 0 is the idle process to the viewer
    tid = pid if row.lane == 0 else _FIRST_TID + sequence
    thread = thread if row.lane == 0 else _FIRST_THREAD_UUID + sequence
    own = _int(_THREAD_PID, pid) + _int(_TID, tid) + _bytes(_THREAD_NAME, row.name)
    lane = _int(_UUID, thread) + _bytes(_NAME, row.name) + _bytes(_THREAD, own)
    first = _int(_SEQUENCE_FLAGS, _STATE_CLEARED)
    packets = []
    if row.lane == 0:
        host = f"{row.host}, process {row.pid}" if row.pid is not None else row.host
        named = _int(_PID, pid) + _bytes(_PROCESS_NAME, f"rank {row.rank} ({host})")
        about = _int(_UUID, process) + _bytes(_PROCESS, named)
        packets.append(_packet(sequence, first + _bytes(_TRACK_DESCRIPTOR, about)))
        first = b""
    packets.append(_packet(sequence, first + _bytes(_TRACK_DESCRIPTOR, lane)))
    for time_ns, span, entered in edges(row):
        event = _begin(span, thread, flows) if entered else _int(_TYPE, _SLICE_END) + _int(_TRACK_UUID, thread)
        packets.append(_packet(sequence, _int(_TIMESTAMP, time_ns) + _bytes(_TRACK_EVENT, event)))
    return packets


def _packet(sequence: int, content: bytes) -> bytes:
    return _bytes(_PACKET, content + _int(_SEQUENCE, sequence))


def _begin(span: Span, track: int, flows: Mapping[tuple[int, ...], int]) -> bytes:
    event = _int(_TYPE, _SLICE_BEGIN) + _int(_TRACK_UUID, track)
    event += _bytes(_CATEGORY, "mpi" if span.mpi else "own") + _bytes(_EVENT_NAME, span.name)
    for message in span.messages:
        if message.flow:
            event += _fixed64(_FLOW_END if message.at_end else _FLOW, flows[message.flow])
    about = {**span.attributes, **_about(span)}
    return event + b"".join(
        _bytes(_ANNOTATION, _bytes(_ANNOTATION_NAME, name) + _int(_ANNOTATION_UINT, value))
        for name, value in about.items()
    )


def _fixed64(number: int, value: int) -> bytes:
    return _varint(number << 3 | _FIXED64) + value.to_bytes(8, "little")


def _about(span: Span) -> dict[str, int]:
    """Return messages as arguments of the slice: `send 1 partner`, `send 1 tag`, `send 1 bytes`."""
    found: dict[str, int] = {}
    for number, message in enumerate(span.messages, start=1):
        found |= {f"{message.kind} {number} partner": message.partner, f"{message.kind} {number} bytes": message.bytes}
        found |= {f"{message.kind} {number} tag": message.tag} if message.kind in ("send", "receive") else {}
    if span.collective is not None:
        root = span.collective.root
        found |= {"communicator": span.collective.communicator, "given bytes": span.collective.sent_bytes}
        found |= {} if root is None else {"root": root}
    return found


FORMATS: dict[str, tuple[Callable[[Trace, Path], Path], str]] = {
    "otf2": (write_otf2, "open it with Vampir, or list it with otf2-print"),
    "perfetto": (write_perfetto, "open it at ui.perfetto.dev, in a browser"),
}


def write_trace(trace: Trace, folder: Path, formats: Sequence[str]) -> list[tuple[Path, str]]:
    """Write `trace` into a new or empty folder.

    Returns: the file to open for each format, and the tool to open it with.
    Raises: EnvironmentFailure: the folder can't be made or is not empty. RecordError: spans overlap.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot make the folder {folder}: {error.strerror or error}; name another one with --out"
        ) from error
    if taken:
        raise EnvironmentFailure(f"{folder}: is not empty; remove it, or name another folder with --out")
    return [(FORMATS[name][0](trace, folder), FORMATS[name][1]) for name in formats]
