# SPDX-License-Identifier: Apache-2.0
"""Records of watched ranks: read back as written, torn, cut off, made up."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowpath.core.errors import RecordError
from slowpath.core.resources import data_folder
from slowpath.watch.messages import MEMORY
from slowpath.watch.record.layout import NONE_16, NONE_32, EventKind, Peer, RecordState, watch_layout
from slowpath.watch.record.reader import read_rank
from support.watch_record import Rank


def planted() -> Rank:
    rank = Rank(1, 4)
    rank.allocation(2_000_001)
    site = rank.site(0x401234, 0x401400)
    rank.datatype(800, 1600, blocks=100)
    rank.communicator(77, size=2, rank=0, members=[1, 3])
    rank.send(3, tag=9, start_s=0.1, end_s=0.2, message_bytes=1000, communicator=1, site=site, allocation=0)
    request = rank.irecv(0, start_s=0.3, end_s=0.31, message_bytes=64)
    rank.wait(request, start_s=0.4, end_s=0.5)
    rank.say("map", "00400000-00500000 r-xp 00000000 08:01 17 /opt/app/app")
    return rank


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_record_is_read_back_as_written(tmp_path: Path) -> None:
    record = read_rank(written(tmp_path / "a.watch", planted().content()))
    assert (record.rank, record.size, record.words("host"), record.state) == (1, 4, "node1", RecordState.FINALIZED)
    assert record.notes == ()
    send, post, wait, done = record.events
    assert (send["bytes"], send["peer"], send["tag"], send["communicator"]) == (1000, 3, 9, 1)
    assert send["end_ticks"] - send["start_ticks"] == 100_000_000
    assert [EventKind(int(event["kind"])) for event in (post, wait, done)] == [
        EventKind.RECEIVE | EventKind.POST,
        EventKind.WAIT,
        EventKind.RECEIVE | EventKind.DONE,
    ]
    assert record.call_names == ["MPI_Send", "MPI_Irecv", "MPI_Waitall"]
    assert record.members.tolist() == [1, 3]
    assert record.text == {"map": ("00400000-00500000 r-xp 00000000 08:01 17 /opt/app/app",)}
    assert record.profile["count"].sum() == 3
    assert record.lanes["calls"].tolist() == [3]


def test_a_memory_kind_has_the_name_that_prices_ask_for() -> None:
    kinds = set(watch_layout().memory_kinds.values())
    assert MEMORY.keys() | {"not known", "shared mapping"} <= kinds
    assert not any("(" in kind for kind in kinds)


def test_names_of_bits_and_numbers_are_those_of_the_schema() -> None:
    schema = json.loads((data_folder("schema") / "watch.json").read_text(encoding="utf-8"))
    kinds = {int(bit): meaning.split(":")[0].split(" ")[0] for bit, meaning in schema["event_kinds"].items()}
    assert set(kinds) == {int(kind) for kind in EventKind}
    renamed = {"one-sided": "one_sided", "probe": "nothing"}
    assert {renamed.get(word, word) for word in kinds.values()} == {(kind.name or "").lower() for kind in EventKind}
    assert {int(state) for state in RecordState} == {int(state) for state in schema["states"]}
    assert {int(peer) for peer in Peer} == {int(peer) for peer in schema["peers"]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a record of a watched rank"),
        (b"#!/bin/sh\n" * 1000, "is not a record of a watched rank"),
        (b"SPWATCH1" + bytes(100), "ends within its header"),
        (b"SPWATCH1" + (9).to_bytes(4, "little") + bytes(4096), "newer than 1"),
    ],
)
def test_what_is_no_record_is_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(RecordError, match=says) as raised:
        read_rank(written(tmp_path / "a.watch", content))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.watch"
    with path.open("wb") as file:
        file.truncate(watch_layout().most_bytes + 1)
    with pytest.raises(RecordError, match="more than the"):
        read_rank(path)


def test_a_record_that_was_cut_off_keeps_what_is_whole(tmp_path: Path) -> None:
    rank = Rank(0, 2)
    for i in range(100):
        rank.send(1, start_s=i * 0.01, end_s=i * 0.01 + 0.001)
    content = rank.content()
    section = next(row for row in table_of(content) if row["kind"] == 3)
    cut = int(section["offset"]) + 50 * 64 + 17
    record = read_rank(written(tmp_path / "a.watch", content[:cut]))
    assert record.events.size == 50
    assert any("50 of 100 events are cut off" in note for note in record.notes)


def table_of(content: bytes) -> np.ndarray:
    known = watch_layout()
    return np.frombuffer(content[2048:4096], known.row)


def changed(content: bytes, section: int, **fields: int) -> bytes:
    """The table's first row of this kind with other values."""
    table = table_of(content).copy()
    row = np.flatnonzero(table["kind"] == section)[0]
    for name, value in fields.items():
        table[name][row] = value
    return content[:2048] + table.tobytes() + content[4096:]


@pytest.mark.parametrize(
    "fields",
    [
        {"used": 2**32 - 1},
        {"used": 2**32 - 1, "capacity": 2**32 - 1},
        {"offset": 2**64 - 1},
        {"offset": 0},
        {"element_bytes": 0},
        {"element_bytes": 3},
        {"element_bytes": 2**32 - 1},
    ],
)
@pytest.mark.parametrize("kind", range(1, 10))
def test_a_made_up_table_is_held_to_the_file(tmp_path: Path, kind: int, fields: dict[str, int]) -> None:
    record = read_rank(written(tmp_path / "a.watch", changed(planted().content(), kind, **fields)))
    assert record.notes
    assert record.events.size <= 4


def test_sections_that_lie_on_each_other_are_read_once_at_most(tmp_path: Path) -> None:
    content = planted().content()
    table = table_of(content).copy()
    events = table[table["kind"] == 3][0].copy()
    events["capacity"] = events["used"] = (len(content) - int(events["offset"])) // 64
    table[:] = events
    header = np.frombuffer(content[:2048], watch_layout().header).copy()
    header["section_count"] = 2**32 - 1
    record = read_rank(written(tmp_path / "a.watch", header.tobytes() + table.tobytes() + content[4096:]))
    assert record.events.nbytes <= len(content)


def test_an_index_that_leads_nowhere_is_none(tmp_path: Path) -> None:
    rank = planted()
    names = {"site": 900, "communicator": 900, "datatype": 900, "allocation": 900}
    rank.send(0, start_s=0.6, end_s=0.7, **names)
    event = read_rank(written(tmp_path / "a.watch", rank.content())).events[-1]
    assert (event["site"], event["communicator"]) == (NONE_32, NONE_16)
    assert (event["datatype"], event["allocation"]) == (NONE_16, NONE_32)


def test_events_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    content = planted().content()
    section = next(row for row in table_of(content) if row["kind"] == 3)
    offset = int(section["offset"])
    events = np.frombuffer(content[offset : offset + 4 * 64], watch_layout().sections["events"].element).copy()
    events["call"][1] = 5000
    events["end_ticks"][2] = events["start_ticks"][2] - 1
    record = read_rank(written(tmp_path / "a.watch", content[:offset] + events.tobytes() + content[offset + 4 * 64 :]))
    assert record.events.size == 2
    assert any("2 of 4 events are damaged" in note for note in record.notes)


def test_a_rank_killed_while_it_thins_has_each_event_once(tmp_path: Path) -> None:
    rank = Rank(0, 2, state=RecordState.THINNING)
    for i in (4, 5, 6, 1, 4, 5, 6):  # compacted up to 6, the old rows behind
        rank.send(1, start_s=i * 0.01, end_s=i * 0.01 + 0.001, sequence=i)
    record = read_rank(written(tmp_path / "a.watch", rank.content()))
    assert sorted(record.events["sequence"].tolist()) == [1, 4, 5, 6]


def test_a_later_writer_of_this_version_is_read(tmp_path: Path) -> None:
    """Fields behind ours, and sections of a kind that we don't know."""
    content = planted().content()
    section = next(row for row in table_of(content) if row["kind"] == 1)
    start = int(section["offset"])
    content = changed(content, 1, offset=len(content), element_bytes=80)
    content = changed(content + content[start : start + 64] + bytes(16), 6, kind=77)
    record = read_rank(written(tmp_path / "a.watch", content))
    assert record.lanes["calls"].tolist() == [3]
    assert record.communicators.size == 0


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.tuples(st.integers(8, 7000), st.integers(0, 255)), max_size=40), cut=st.integers(0, 7000))
def test_whatever_the_bytes_are(tmp_path: Path, edits: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(planted().content())
    for offset, value in edits:
        content[offset % len(content)] = value
    content[:8] = watch_layout().magic
    path = written(tmp_path / "a.watch", bytes(content[: len(content) - cut % len(content)]))
    with suppress(RecordError):
        record = read_rank(path)
        assert (record.events["call"] < max(record.calls.size, 1)).all()
        assert (record.events["start_ticks"] <= record.events["end_ticks"]).all()
