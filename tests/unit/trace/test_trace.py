# SPDX-License-Identifier: Apache-2.0
"""Traces of runs and watches."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from planted_trace import CANNON, ONE_WAY, PING_PONG, expected, make_run

from slowpath.cli.main import exit_code
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.study_results import TimelineInterval, TimelineWait
from slowpath.core.version import __version__
from slowpath.experiments.cannon.entry import waits
from slowpath.record.folder import LaunchInfo, launch_folder, write_launch
from slowpath.report.trace import TraceThread, read_trace, write_trace
from slowpath.watch.trace import read_watch_trace
from support.watch_record import Job
from support.watched_program import described


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


def times(row: TraceThread) -> list[tuple[str, int, int]]:
    return sorted((span.name, span.begin_ns, span.end_ns) for span in row.spans)


def test_every_interval_of_every_rank(run: Path) -> None:
    trace = read_trace(run)
    assert [times(row) for row in trace.rows] == [sorted(expected(rank)) for rank in range(2)]
    assert [(row.rank, row.host, row.pid) for row in trace.rows] == [(0, "n1", 40), (1, "n1", 41)]
    assert trace.began_ns == 1795166100 * 10**9


def test_one_cell_alone_begins_at_zero(run: Path) -> None:
    trace = read_trace(run, cell=ONE_WAY)
    assert times(trace.rows[0]) == [("MPI_Send", 500 * m, 500 * m + 50) for m in range(3)]
    assert times(trace.rows[1])[0] == ("MPI_Recv", 1, 51)
    assert "1 KiB" in trace.title


def test_the_launch_with_most_styles_is_taken(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    first, second = launch_folder(run, 0), launch_folder(run, 1)
    shutil.copytree(first, second)
    write_launch(run, LaunchInfo(1, 1, "default", "bound", ["mpiexec"]))
    lines = (first / "events.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if f'"cell": {CANNON}' not in line]
    (first / "events.jsonl").write_text("".join(kept))
    assert "launch 1" in read_trace(run).title
    assert "launch 0" in read_trace(run, launch=0).title


def test_what_cannot_be_traced_is_one_line(run: Path) -> None:
    why = "cell 2: no cell with start times was measured; traces are of p2p pattern=one_way and cannon"
    with pytest.raises(UsageError, match=why):
        read_trace(run, cell=PING_PONG)
    for place, words in {"cell": "no cell 4; it has 0 to 2", "launch": "no ended launch 4"}.items():
        with pytest.raises(UsageError, match=words):
            read_trace(run, **{place: 4})
    with pytest.raises(RecordError, match=r"no run\.json"):
        read_trace(run / "elsewhere")


def test_every_interval_is_a_slice_of_its_rank(run: Path, tmp_path: Path) -> None:
    document = json.loads(write_trace(read_trace(run), tmp_path / "t").read_text())
    slices = [event for event in document["traceEvents"] if event["ph"] == "X"]
    for rank in range(2):
        own = [event for event in slices if event["pid"] == rank + 1]
        drawn = [(event["name"], 1000 * event["ts"], 1000 * (event["ts"] + event["dur"])) for event in own]
        assert sorted(drawn) == [(name, pytest.approx(a), pytest.approx(b)) for name, a, b in sorted(expected(rank))]
    second = [event for event in slices if event["name"] == "wait"][1]
    assert (second["cat"], second["args"]) == ("mpi", {"cell": 0, "steady": 1, "repetition": 1, "step": 0})
    names = [event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"]
    assert names == [f"rank {rank} (n1, process {40 + rank})" for rank in range(2)]


def test_command_writes_names_and_refuses(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["trace", str(run)]) == 0
    printed = capsys.readouterr()
    assert Path(printed.out.split("   ")[0]).is_file()
    assert "2 ranks, 26 intervals" in printed.err
    assert exit_code(["trace", str(run)]) == 4  # the folder is not empty
    assert exit_code(["trace", str(run), "--cell", "2"]) == 2
    assert exit_code(["trace", str(run), "--out", str(run / "run.json")]) == 4
    assert capsys.readouterr().err.count("\n") == 3


# Who waits for whom: the neighbour that came last, never a rank that was there before.


def interval(rank: int, part: str, begin_s: float, end_s: float, step: int = 0) -> TimelineInterval:
    return TimelineInterval(rank=rank, part=part, step=step, begin_s=begin_s, end_s=end_s)


def wait(rank: int, last: int, step: int, begin_s: float, until_s: float) -> TimelineWait:
    return TimelineWait(rank=rank, last=last, step=step, begin_s=begin_s, until_s=until_s)


def test_the_late_rank_is_named() -> None:
    waiting = waits(
        [interval(0, "dgemm", 0, 1), interval(1, "dgemm", 0, 4), interval(0, "wait", 1, 5), interval(1, "wait", 4, 5)],
        (1, 2),
    )
    assert waiting == [wait(0, 1, 0, 1, 4)]


def test_only_neighbours_count_unless_all_synchronise() -> None:
    """On a 3 x 3 grid rank 4 is no neighbour of rank 0; in a fence it is."""
    base = [interval(rank, "dgemm", 0, 1) for rank in range(9) if rank != 4] + [interval(4, "dgemm", 0, 8)]

    def waits_of(part: str) -> list[tuple[int, int]]:
        parts = [interval(rank, part, 8.0 if rank == 4 else 1.0, 9.0) for rank in range(9)]
        return sorted((wait.rank, wait.last) for wait in waits(base + parts, (3, 3)))

    assert waits_of("wait") == [(1, 4), (3, 4), (5, 4), (7, 4)]
    assert waits_of("synchronise") == [(rank, 4) for rank in range(9) if rank != 4]


def test_steps_and_short_waits_are_distinguished() -> None:
    parts = [interval(0, "wait", 1, 2, 0), interval(1, "wait", 5, 6, 1), interval(0, "dgemm", 2, 100)]
    assert waits(parts, (1, 2)) == []  # nobody else communicates in step 0
    parts = [interval(0, "wait", 1, 2), interval(1, "wait", 1.5, 2), interval(0, "dgemm", 2, 100)]
    assert waits(parts, (1, 2)) == []  # half of 1 in 99 is too short
    assert waits(parts, (1, 2), least=0.001) == [wait(0, 1, 0, 1, 1.5)]
    assert waits([], (1, 2)) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three ranks: a blocking message, one by requests, a collective; rank 1 has a second thread."""
    job = Job(ranks=3)
    a, b, c = job.ranks
    block = a.allocation(8192)
    a.send(1, tag=7, start_s=0.010, end_s=0.011, message_bytes=1024, allocation=block)
    b.receive(0, tag=7, start_s=0.005, end_s=0.0112, message_bytes=1024)
    sent = b.isend(2, tag=9, start_s=0.020, end_s=0.0201, message_bytes=4096)
    got = c.irecv(1, tag=9, start_s=0.019, end_s=0.0191, message_bytes=4096)
    b.wait(sent, call="MPI_Wait", start_s=0.022, end_s=0.023)
    c.wait(got, start_s=0.020, end_s=0.0235)
    b.send(0, tag=1, start_s=0.0221, end_s=0.0222, message_bytes=8, lane=1)
    a.receive(1, tag=1, start_s=0.0215, end_s=0.0225, message_bytes=8)
    for rank in job.ranks:
        rank.collective("MPI_Allreduce", start_s=0.030, end_s=0.031, message_bytes=64)
    watched = tmp_path / "w"
    watched.mkdir()
    job.write(watched / "ranks")
    return described(watched, slowpath=__version__, host="n")


def test_every_call_is_a_span_of_its_thread(folder: Path) -> None:
    trace = read_watch_trace(folder)
    names = {(row.rank, row.lane): [span.name for span in row.spans] for row in trace.rows}
    assert names == {
        (0, 0): ["MPI_Send", "MPI_Recv", "MPI_Allreduce"],
        (1, 0): ["MPI_Recv", "MPI_Isend", "MPI_Wait", "MPI_Allreduce"],
        (1, 1): ["MPI_Send"],
        (2, 0): ["MPI_Irecv", "MPI_Waitall", "MPI_Allreduce"],
    }
    assert trace.rows[1].spans[0].attributes["waiting ns"] == 5_000_000  # for a sender 5 ms late
    first = trace.rows[0].spans[0]
    assert (first.begin_ns, first.end_ns) == (5_000_000, 6_000_000)  # after rank 1's receive began
    assert first.attributes["bytes"] == 1024
    assert first.attributes["allocation bytes"] == 8192


def test_both_sides_of_a_message_have_one_flow(folder: Path) -> None:
    sides: dict[int | None, list[tuple[str, int, int, str]]] = {}
    for row in read_watch_trace(folder).rows:
        for span in row.spans:
            for message in span.messages:
                sides.setdefault(message.flow, []).append((message.kind, row.rank, message.partner, span.name))
    assert sorted(sorted(side) for side in sides.values()) == [
        [("receive", 0, 1, "MPI_Recv"), ("send", 1, 0, "MPI_Send")],
        [("receive", 1, 0, "MPI_Recv"), ("send", 0, 1, "MPI_Send")],
        [("receive", 2, 1, "MPI_Waitall"), ("send", 1, 2, "MPI_Isend")],
    ]


def test_messages_are_arrows_between_threads(folder: Path, tmp_path: Path) -> None:
    events = json.loads(write_trace(read_watch_trace(folder), tmp_path / "t").read_text())["traceEvents"]
    ends = {
        kind: {event["id"]: (event["pid"], event["tid"]) for event in events if event["ph"] == kind} for kind in "sf"
    }
    arrows = sorted((begin, ends["f"][flow]) for flow, begin in ends["s"].items())
    assert arrows == [((1, 0), (2, 0)), ((2, 0), (3, 0)), ((2, 1), (1, 0))]
    assert {event["args"]["name"] for event in events if event["name"] == "thread_name"} == {
        "rank 0", "rank 1", "rank 1, thread 1", "rank 2"
    }  # fmt: skip
    sent = next(event for event in events if event["name"] == "MPI_Send")
    assert sent["args"] == {
        "bytes": 1024, "allocation bytes": 8192, "page bytes": 4096, "send 1 partner": 1, "send 1 bytes": 1024,
        "send 1 tag": 7,
    }  # fmt: skip


def test_a_watch_without_records_is_one_line(folder: Path) -> None:
    for path in (folder / "ranks").glob("*.watch"):
        path.unlink()
    with pytest.raises(RecordError, match="no recorded call"):
        read_watch_trace(folder)


def test_the_command_takes_a_watch(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["trace", str(folder), "--out", str(tmp_path / "t")]) == 0
    assert "3 ranks, 11 intervals, 3 messages" in capsys.readouterr().err
    assert exit_code(["trace", str(folder), "--cell", "1"]) == 2
    assert exit_code(["trace", str(folder), "--begin", "0.029"]) == 0
    assert (folder / "traces" / "from-0.029" / "trace.json").is_file()
