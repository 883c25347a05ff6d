# SPDX-License-Identifier: Apache-2.0
"""OTF2 archives, read back by otf2-print: definitions, every event with its attributes, several chunks, empty ranks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from planted_trace import LABEL, expected, make_run

from slowpath.report.trace import otf2 as raw
from slowpath.report.trace.model import Span, Trace, TraceThread, edges
from slowpath.report.trace.otf2 import write_otf2
from slowpath.report.trace.read import read_trace
from watchdog import WATCHDOG_S

EVENT = re.compile(r'^(ENTER|LEAVE) +(\d+) +(\d+) +Region: "(.*)" <\d+>$', re.MULTILINE)
Event = tuple[str, str, int, str]


def printed(anchor: Path, *options: str) -> str:
    """What otf2-print says of an archive; it must not complain."""
    words = ["otf2-print", *options, str(anchor)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def events(text: str) -> list[Event]:
    return [(kind, rank, int(time), name) for kind, rank, time, name in EVENT.findall(text)]


def as_events(row: TraceThread) -> list[Event]:
    return [("ENTER" if entered else "LEAVE", str(row.rank), when, span.name) for when, span, entered in edges(row)]


@pytest.mark.needs("otf2-print")
def test_every_event_comes_back(tmp_path: Path) -> None:
    trace = read_trace(make_run(tmp_path / "run"))
    text = printed(write_otf2(trace, tmp_path))
    for rank in range(2):
        assert [one for one in events(text) if one[1] == str(rank)] == as_events(trace.rows[rank])
        entered = sum(1 for one in events(text) if one[0] == "ENTER" and one[1] == str(rank))
        assert entered == len(expected(rank))
    assert text.count('("repetition" <2>; UINT64; 1), ("step" <3>; UINT64; 1)') == 2  # the second dgemm of both ranks


@pytest.mark.needs("otf2-print")
def test_definitions(tmp_path: Path) -> None:
    text = printed(write_otf2(read_trace(make_run(tmp_path / "run", hosts=("n1", "n2"))), tmp_path), "-G")
    assert "Ticks per Seconds: 1000000000, Global Offset: 0, Length: 11050" in text
    assert "Date: 2026-11-20 09:15:00" in text
    assert 'Name: "rank 1" <' in text
    assert 'Type: CPU_THREAD, # Events: 26, Group: "rank 1"' in text
    assert re.search(r'SYSTEM_TREE_NODE +2  Name: "n2" <\d+>, Class: "node"', text)
    assert re.search(rf'REGION .*Name: "{LABEL}" .*Role: CODE, Paradigm: USER', text)
    assert re.search(r'REGION .*Name: "MPI_Waitall" .*Role: FUNCTION, Paradigm: MPI', text)


@pytest.mark.needs("otf2-print")
def test_many_events_fill_several_chunks_and_a_rank_may_have_none(tmp_path: Path) -> None:
    spans = [Span("a" if i % 3 else "b", 10 * i, 10 * i + 5 + i % 6, attributes={"step": i}) for i in range(90_000)]
    trace = Trace("many", None, [TraceThread(0, "n", None, spans), TraceThread(1, "n", None, [])])
    anchor = write_otf2(trace, tmp_path)
    assert (tmp_path / "traces" / "0.evt").stat().st_size > 2 * raw.EVENT_CHUNK_BYTES
    assert events(printed(anchor)) == as_events(trace.rows[0])


@pytest.mark.needs("otf2-print")
def test_each_chunk_tells_the_time_anew(tmp_path: Path) -> None:
    """A reader that seeks begins in the middle; one that reads on, as otf2-print does, would not notice."""
    spans = [Span("a", 7, 7, attributes={"step": i}) for i in range(90_000)]
    trace = Trace("at once", None, [TraceThread(0, "n", None, spans)])
    anchor = write_otf2(trace, tmp_path)
    content = (tmp_path / "traces" / "0.evt").read_bytes()
    second = content[raw.EVENT_CHUNK_BYTES :]
    assert second[:2] == bytes([raw.CHUNK_HEADER, raw.LITTLE_ENDIAN])
    assert second[18:27] == bytes([raw.TIMESTAMP]) + raw.full64(7)
    assert events(printed(anchor)) == as_events(trace.rows[0])


@pytest.mark.needs("otf2-print")
def test_names_that_are_long_or_odd(tmp_path: Path) -> None:
    name = "µ" * 300 + "\0 and more"
    seen = name.replace("\0", "\\u0000")
    trace = Trace("odd", None, [TraceThread(0, "n", None, [Span(name, 0, 2**40)])])
    assert events(printed(write_otf2(trace, tmp_path))) == [("ENTER", "0", 0, seen), ("LEAVE", "0", 2**40, seen)]


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, b"\0"),
        (1, b"\1\1"),
        (255, b"\1\xff"),
        (256, b"\2\0\1"),
        (2**32 - 2, b"\4\xfe\xff\xff\xff"),
        (2**32 - 1, b"\xff"),
    ],
)
def test_numbers_are_as_short_as_can_be(value: int, data: bytes) -> None:
    assert raw.encoded_number(value) == data


def test_a_long_record_has_a_long_length() -> None:
    assert raw.record(10, bytes(254))[:2] == b"\x0a\xfe"
    assert raw.record(10, bytes(255))[:10] == b"\x0a\xff" + raw.full64(255)
