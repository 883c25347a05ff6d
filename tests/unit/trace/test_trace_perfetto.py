# SPDX-License-Identifier: Apache-2.0
"""Perfetto files, decoded with Perfetto's own protocol definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planted_trace import expected, make_run

from slowpath.report.trace.model import Span, Trace, TraceThread
from slowpath.report.trace.read import read_trace
from slowpath.report.trace.write import write_perfetto

protocol = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
unknown_fields = pytest.importorskip("google.protobuf.unknown_fields")


def decoded(path: Path) -> Any:
    trace = protocol.Trace()
    trace.ParseFromString(path.read_bytes())
    for packet in trace.packet:
        for part in (packet, packet.track_event, packet.track_descriptor):
            assert not list(unknown_fields.UnknownFieldSet(part))
    return trace


def slices(trace: Any) -> dict[str, list[tuple[str, int, int]]]:
    """Name, begin and end of each slice, by the name of its thread."""
    names = {p.track_descriptor.uuid: p.track_descriptor.thread.thread_name for p in trace.packet
             if p.HasField("track_descriptor") and p.track_descriptor.HasField("thread")}  # fmt: skip
    found: dict[str, list[tuple[str, int, int]]] = {name: [] for name in names.values()}
    begun: dict[int, list[tuple[str, int]]] = {uuid: [] for uuid in names}
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        if event.type == protocol.TrackEvent.TYPE_SLICE_BEGIN:
            begun[event.track_uuid].append((event.name, packet.timestamp))
        else:
            assert event.type == protocol.TrackEvent.TYPE_SLICE_END
            name, begin = begun[event.track_uuid].pop()
            found[names[event.track_uuid]].append((name, begin, packet.timestamp))
    assert not any(begun.values())
    return found


def test_every_interval_is_a_slice_of_its_rank(tmp_path: Path) -> None:
    found = slices(decoded(write_perfetto(read_trace(make_run(tmp_path / "run")), tmp_path)))
    assert {name: sorted(spans) for name, spans in found.items()} == {
        f"rank {rank}": sorted(expected(rank)) for rank in range(2)}  # fmt: skip


def test_arguments_categories_and_processes(tmp_path: Path) -> None:
    trace = decoded(write_perfetto(read_trace(make_run(tmp_path / "run")), tmp_path))
    begun = [p.track_event for p in trace.packet if p.track_event.name == "MPI_Waitall"]
    assert [list(event.categories) for event in begun] == [["mpi"]] * 4
    assert {a.name: a.uint_value for a in begun[1].debug_annotations} == {
        "cell": 0, "steady": 1, "repetition": 1, "step": 0}  # fmt: skip
    processes = [p.track_descriptor.process for p in trace.packet if p.track_descriptor.HasField("process")]
    assert [(one.pid, one.process_name) for one in processes] == [
        (1, "rank 0 (n1, process 40)"), (2, "rank 1 (n1, process 41)")]  # fmt: skip
    assert len({p.trusted_packet_sequence_id for p in trace.packet}) == 2


def test_large_numbers(tmp_path: Path) -> None:
    spans = [Span("long", 2**31, 2**45, attributes={"message": 2**40})]
    trace = decoded(write_perfetto(Trace("t", None, [TraceThread(0, "n", None, spans)]), tmp_path))
    assert slices(trace) == {"rank 0": [("long", 2**31, 2**45)]}
    assert trace.packet[2].track_event.debug_annotations[0].uint_value == 2**40
