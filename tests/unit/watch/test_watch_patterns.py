# SPDX-License-Identifier: Apache-2.0
"""Calls that a program could do without: each pattern is named where it was planted, its corrected twin is clean."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slowpath.findings.program_pattern import (
    Code,
    Floats,
    Messages,
    ProgramCalls,
    ProgramResources,
    RankShare,
    Sampled,
    SeenPattern,
    merged,
)
from slowpath.slowpaths import sp060_shared_processors
from slowpath.slowpaths.program import calls as cost_of_calls
from slowpath.slowpaths.program import excess, objects, outside
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS
from slowpath.watch.analysis import read_watched
from slowpath.watch.patterns import change_in, on_shared, one_place, outside_words
from slowpath.watch.record.layout import EventKind
from slowpath.watch.results import CallSite, WatchFinding, WatchResults
from support.program_plants import PLANTS, fences, one_sided, small_writes
from support.watch_record import BASE_NS
from support.watched_program import CALL_S, ELSEWHERE, HERE, ITERATIONS, STEP_S, THERE, Program, made_calls

RANKS = {"SP079 by hand": 8}
# What a record does not decide makes an interval of more than a factor of three.
UNSURE = ("SP079 rows", "SP079 two in one", "SP079 reduced and scattered", "SP080 searches", "SP081 polls")


def watch_of(plant: str, twin: bool, folder: Path) -> tuple[WatchResults, list[WatchFinding]]:
    program = Program(RANKS.get(plant, 4))
    PLANTS[plant](program, twin)
    results = program.watched(folder)
    return results, list(results.findings)


def test_every_pattern_is_planted() -> None:
    """Those about processors and memory are planted in records: tests/unit/watch/test_watch_resources.py."""
    assert sorted({plant.split()[0] for plant in PLANTS}) == [
        path.code for path in PROGRAM_SLOW_PATHS if path is not sp060_shared_processors.SLOW_PATH
    ]


@pytest.mark.parametrize("plant", list(PLANTS))
def test_what_is_planted_is_named_alone_at_its_place(plant: str, tmp_path: Path) -> None:
    results, (finding,) = watch_of(plant, False, tmp_path)
    assert (finding.rule, finding.status) == (plant.split()[0], "estimated")
    calls_s = sum(known.time_s for known in results.classes if known.site == finding.sites[0])
    assert calls_s > 0 or finding.rule == "SP083", "the place is one of calls that cost"
    assert any(sentence.startswith("1. ") for sentence in results.verdict)
    low, high = finding.saved_interval or (1.0, 0.0)
    assert low <= (finding.saved_s or 0.0) <= high
    assert (high > 3.001 * low) == (plant in UNSURE)


@pytest.mark.parametrize("code", list(PLANTS))
def test_the_corrected_twin_is_clean(code: str, tmp_path: Path) -> None:
    assert watch_of(code, True, tmp_path)[1] == []


def test_a_row_of_exchanges_is_no_longer_than_its_elements_are(tmp_path: Path) -> None:
    _, (finding,) = watch_of("SP079 exchanges", False, tmp_path)
    assert "50 in a row" in finding.text


@pytest.mark.parametrize(("size", "goes"), [(8, 4 / 7), (2**17, 5 / 7)])
def test_one_buffer_is_a_reduction_or_a_broadcast_by_hand(size: int, goes: float, tmp_path: Path) -> None:
    program = Program(8)
    for rank in [*range(1, 8)] * 400:
        program.receive(0, rank, program.send(rank, 0), offset=64)
        program.receive(rank, 0, program.send(0, rank, size, site=THERE), size, site=THERE)
    found = {(each.change or "").partition("call ")[2][:9]: each.seconds for each in program.watched(tmp_path).findings}
    assert found["MPI_Bcast"] == pytest.approx(goes * 400 * 7 * CALL_S / 8, rel=0.05)
    assert "MPI_Reduc" in found


@pytest.mark.parametrize(("parts", "is_named"), [(8, True), (2, False)])
def test_what_one_rank_collects_and_broadcasts_is_an_allgather(parts: int, is_named: bool, tmp_path: Path) -> None:
    """All others send it two parts each, whatever their length; fewer bytes than came are not what came."""
    program = Program(4)
    for _ in range(20):
        program.compute()
        for rank in (1, 1, 2, 2, 3, 3):
            program.receive(0, rank, program.send(rank, 0, 2**17), 2**17)
        for _ in range(parts):
            program.all("MPI_Bcast", size=2**17, root=0, site=ELSEWHERE, took_s=20e-6)
    found = [each for each in program.watched(tmp_path).findings if "MPI_Allgatherv on all" in (each.change or "")]
    assert [each.saved_s for each in found] == [pytest.approx(20 * 0.5 * (6e-6 + 8 * 20e-6), rel=0.1)] * is_named


# Counts without a price; a tree whose steps are not measured; a rank that unpacks later, where the replay does not.
ROUGH = ("SP083 never freed", "SP079 by hand", "SP081 unpacked")


@pytest.mark.parametrize("code", [code for code in PLANTS if code not in ROUGH])
def test_the_estimate_is_the_time_that_the_twin_takes_less(code: str, tmp_path: Path) -> None:
    faulty, findings = watch_of(code, False, tmp_path / "faulty")
    clean, _ = watch_of(code, True, tmp_path / "clean")
    less_s = (faulty.program.span_s or 0.0) - (clean.program.span_s or 0.0)
    steps_s = sum(finding.messages for finding in findings) * STEP_S  # loops' steps are no calls
    assert sum(finding.saved_s or 0.0 for finding in findings) == pytest.approx(less_s, abs=steps_s + 0.1 * less_s)
    assert faulty.saved_s == pytest.approx(sum(finding.saved_s or 0.0 for finding in findings), rel=0.05)


def with_counted(folder: Path, *rows: tuple[str, float, int, int]) -> dict[str, WatchFinding]:
    """Findings by name, of two ranks that compute and reduce. Args: rows: call, us of one, how many, and where."""
    program = Program(2)
    for _ in range(20):
        program.compute()
        program.all(size=2048, site=ELSEWHERE)
    for rank in program.job.ranks:
        for name, each_us, count, site in rows:
            rank.profile_row(f"MPI_{name}", round(1000 * each_us), count, site=site)
        rank.say("completed", "-1 0")
    return {finding.name: finding for finding in program.watched(folder).findings}


@pytest.mark.parametrize(("count", "freed", "is_named"), [(2000, 0, True), (2000, 2000, False), (500, 0, False)])
def test_datatypes_that_are_never_freed_are_named(count: int, freed: int, is_named: bool, tmp_path: Path) -> None:
    findings = with_counted(tmp_path, ("Type_vector", 0.05, count, HERE), ("Type_free", 0.05, freed, THERE))
    assert ("datatypes never freed" in findings) is is_named


@pytest.mark.parametrize(
    ("makes", "frees", "kind"),
    [("Session_init", "Session_finalize", "session"), ("Type_create_keyval", "Type_free_keyval", "attribute key"),
     ("Comm_create_errhandler", "Errhandler_free", "error handler"), ("Group_union", "Group_free", "group"),
     ("Comm_attach_buffer", "Comm_detach_buffer", "send buffer"), ("Win_get_info", "Info_free", "info object"),
     ("Neighbor_alltoall_init", "Request_free", "persistent request"), ("File_open", "File_close", "file")],
)  # fmt: skip
def test_objects_of_every_kind_are_named(makes: str, frees: str, kind: str, tmp_path: Path) -> None:
    """MPI_Info_create starts no request, though it begins as MPI_Isend does; and nine are few."""
    assert not with_counted(tmp_path / "few", (makes, 50.0, 9, HERE))
    rows = ((makes, 5.0, 400, HERE), ("Info_create", 0.05, 400, ELSEWHERE), (frees, 5.0, 400, THERE))
    (finding,) = with_counted(tmp_path, *rows).values()
    assert (finding.name, finding.seconds) == (f"{kind}s made anew", pytest.approx(400 * 10e-6, rel=0.02))


def test_what_is_asked_again_at_several_places_is_one_change(tmp_path: Path) -> None:
    rows = (("Type_size", 2.0, 2000, HERE), ("Type_get_contents", 3.0, 1000, THERE))
    asked = with_counted(tmp_path, *rows)["a local call in a loop"]
    assert asked.seconds == pytest.approx(2000 * 2e-6 + 1000 * 3e-6, rel=0.02)
    assert "and 1 more like it: ask once before the loop" in (asked.change or "")


@pytest.mark.parametrize(
    ("asked", "change", "seconds"),
    [("File_set_size", "leave MPI_File_set_size out", 0.9 * 400 * 5e-6),
     ("File_set_atomicity", "leave atomic mode off", 0.5 * 400 * (5e-6 + 50e-6))],
)  # fmt: skip
def test_what_makes_a_file_slow_is_named(asked: str, change: str, seconds: float, tmp_path: Path) -> None:
    """Its length is set again and again; or each transfer takes a lock."""
    found = with_counted(tmp_path, (asked, 5.0, 400, HERE), ("File_read_at", 50.0, 400, THERE)).values()
    (finding,) = [each for each in found if change in (each.change or "")]
    assert finding.seconds == pytest.approx(seconds, rel=0.02)


@pytest.mark.parametrize(
    ("count", "completed", "moved", "posts", "named"),
    [(200, 0, 0, 0, "MPI_Isend"), (200, 10, 0, 0, "MPI_Isend"), (200, 200, 0, 0, None), (200, 100, 0, 0, None),
     (50, 0, 0, 0, None), (200, 0, 190, 0, None), (200, 0, 200, 1, "MPI_Irecv")],
)  # fmt: skip
def test_requests_that_are_never_completed_are_named(
    count: int, completed: int, moved: int, posts: int, named: str | None, tmp_path: Path
) -> None:
    """Args: posts: receives in each step that nobody sends anything for.  moved: completions of whichever requests."""
    program = Program(2)
    for number in range(count):
        program.compute(10e-6)
        start = program.now[0]
        for _ in range(posts):
            program.at(0).irecv(1, start_s=start, end_s=start + CALL_S / 2, tag=9, site=ELSEWHERE)
        start += posts * CALL_S
        request = program.at(0).isend(1, start_s=start, end_s=start + CALL_S, site=HERE)
        program.now[0] = start + CALL_S + STEP_S
        if number < completed:
            program.at(0).wait(request, start_s=program.now[0], end_s=program.now[0] + CALL_S, call="MPI_Wait")
            program.now[0] += CALL_S
        program.receive(1, 0, start)
    for rank in program.job.ranks:  # of requests that the program moved nobody knows where they were started
        rank.say("completed", f"-1 {moved}")
    program.at(0).say("completed", f"{HERE} {completed}")
    findings = [finding for finding in program.watched(tmp_path).findings if finding.rule == "SP083"]
    assert len(findings) == (named is not None)
    for finding in findings:
        assert f"{count - completed:,} requests by {named}" in finding.text


def ping_pong(program: Program) -> None:
    for _ in range(400):
        program.message(0, 1)
        program.message(1, 0)


def halo(program: Program) -> None:
    """Three fields to each neighbour."""
    for _ in range(100):
        program.compute(5e-6)
        for step in (1, program.ranks - 1):
            sent = [[program.send(rank, (rank + step) % program.ranks, 64) for _ in range(3)] for rank in range(4)]
            for rank in range(4):
                for at in sent[(rank - step) % program.ranks]:
                    program.receive(rank, (rank - step) % program.ranks, at, 64)


def until_converged(program: Program) -> None:
    """One variable is reduced again and again, with little computing, in rows of one length; or summed with more."""
    for _ in range(20):
        program.compute()
        for number in range(20):
            program.compute(1e-6 if number < 10 else 2e-6)
            program.all("MPI_Allreduce" if number < 10 else "MPI_Exscan", took_s=4e-6)


def until_converged_at_once(program: Program) -> None:
    """The same without computing, in rows of any length."""
    for row in range(20):
        program.compute()
        for _ in range(5 + 3 * row % 7):
            program.all(took_s=4e-6)


def token(program: Program) -> None:
    """What comes is passed on: from the same buffer."""
    for _ in range(100):
        program.compute(20e-6)
        at = program.send(0, 1, 2048)
        for rank in (1, 2, 3):
            program.receive(rank, rank - 1, at, 2048)
            at = program.send(rank, (rank + 1) % 4, 2048)
        program.receive(0, 3, at, 2048)


def all_to_all(program: Program) -> None:
    """Each rank sends to all others at one place."""
    for _ in range(40):
        program.compute(20e-6)
        sent = {
            (rank, other): program.send(rank, other, 2048) for rank in range(4) for other in range(4) if rank != other
        }
        for (rank, other), at in sent.items():
            program.receive(other, rank, at, 2048)


def rounds_of_work(program: Program) -> None:
    """Parts of different lengths for all, after which one waits for each result."""
    for number in range(40):
        for worker in (1, 2, 3):
            program.message(0, worker, 1500 + 100 * ((number + worker) % 3))
        program.compute(20e-6)
        for worker in (1, 2, 3):
            program.receive(0, worker, program.send(worker, 0, 1500 + 100 * worker), 1500 + 100 * worker)


def taken_slowly(program: Program) -> None:
    """A receiver that computes while messages pile up takes them in order, the colder the more there are."""
    sent = [program.send(0, 1, 2048, tag=number) for number in range(600)]
    program.now[1] = program.now[0]
    for number, at in enumerate(sent):
        program.now[1] += 5e-6
        program.call_s = CALL_S + (600 - number) * 5e-9
        program.receive(1, 0, at, 2048, tag=number)


def flood(program: Program) -> None:
    """Many messages come before their receives, which take no longer for that."""
    sent = [program.send(0, 1, 2048) for _ in range(600)]
    program.now[1] = program.now[0]
    for at in sent:
        program.receive(1, 0, at, 2048)


def made_in_a_row(program: Program) -> None:
    """All communicators that are needed later, in one loop; they are never freed."""
    for _ in range(30):
        program.all("MPI_Comm_dup", size=0, took_s=30e-6)
    for _ in range(20):
        program.compute()
        program.all(size=2048, site=ELSEWHERE)


def timed(program: Program) -> None:
    """A barrier, then the computing that it separates from the reduction."""
    for _ in range(500):
        program.all("MPI_Barrier", size=0, site=THERE, took_s=2e-6)
        program.compute(10e-6)
        program.all(size=64, took_s=4e-6)
        program.compute(10e-6)


def fenced_long_puts(program: Program) -> None:
    """A fence for each, which takes as long as its bytes."""
    fences(program, twin=False, size=2**20)


CLEAN = (
    fenced_long_puts,
    ping_pong,
    halo,
    until_converged,
    until_converged_at_once,
    made_in_a_row,
    timed,
    token,
    all_to_all,
    rounds_of_work,
    flood,
    taken_slowly,
)


@pytest.mark.parametrize("clean", CLEAN, ids=lambda program: program.__name__)
def test_what_looks_alike_is_not_named(clean: Callable[[Program], None], tmp_path: Path) -> None:
    program = Program(4)
    clean(program)
    assert list(program.watched(tmp_path).findings) == []


def sent_in_python(program: Program, twin: bool) -> None:
    """Between two sends a step of a loop takes longer than the send; the receiver is there."""
    for _ in range(ITERATIONS):
        program.compute()
        for _ in range(1 if twin else 200):
            program.now[0] += 2 * CALL_S
            program.receive(1, 0, program.send(0, 1, 200 * 8 if twin else 8), 200 * 8 if twin else 8)


def test_small_messages_of_a_slow_loop_save_its_steps_at_most(tmp_path: Path) -> None:
    spans = []
    for twin in (False, True):
        program = Program(4)
        sent_in_python(program, twin)
        results = program.watched(tmp_path / str(twin))
        spans.append(results.program.span_s or 0.0)
        if not twin:
            (finding,) = [finding for finding in results.findings if finding.rule == "SP079"]
    assert finding.saved_interval is not None
    less_s = spans[0] - spans[1]
    assert (finding.saved_s or 0.0) < 0.75 * less_s
    assert finding.saved_interval[0] < 0.5 * less_s < less_s < finding.saved_interval[1] < 1.3 * less_s


def test_what_watching_adds_between_two_sends_is_not_computing(tmp_path: Path) -> None:
    program = Program(2)
    for _ in range(ITERATIONS):
        program.compute()
        for _ in range(100):
            program.now[0] += 6 * CALL_S
            program.receive(1, 0, program.send(0, 1))
    program.watched(tmp_path)
    calls = read_watched(tmp_path).calls
    seen = [cost_of_calls.see(dataclasses.replace(calls, cost_s=cost_s)) for cost_s in (0.0, 4 * CALL_S, 5 * CALL_S)]
    assert [len(patterns) for patterns in seen] == [0, 1, 1]
    between_s = [pattern.more_s[2] for patterns in seen for pattern in patterns]
    assert between_s[0] - between_s[1] == pytest.approx(99 * ITERATIONS * CALL_S, rel=0.02)


@pytest.mark.parametrize(("send_s", "receive_s"), [(20e-6, 20e-6), (20e-6, 2e-6), (1e-6, 20e-6)])
def test_waits_within_a_row_go_with_it_as_far_as_both_sides_have_them(send_s: float, receive_s: float) -> None:
    """One that alone waits may wait for computing. Rows of 64 messages from rank 0 to rank 1, 1 us each by itself."""
    rank, row, number = np.array([(r, i, n) for r in range(2) for i in range(20) for n in range(64)]).T
    half, none, took_s = np.arange(1280), np.full(1280, -1), np.where(rank == 0, send_s, receive_s)
    start_s = row * 3e-3 + number * (took_s + 1e-7)
    messages = Messages(half, none, half + 1280, none, 0 * half + 8, 0 * half, 0 * half + 1)
    calls = made_calls(
        rank, start_s, 1e-6, call=rank, site=rank, bytes=0 * rank + 8, names=("MPI_Send", "MPI_Recv"), offset=number,
        target=1 - rank, messages=messages, brings=rank == 1,
    )  # fmt: skip
    calls = dataclasses.replace(calls, end_s=start_s + took_s)
    (pattern,) = (each for each in cost_of_calls.see(calls) if each.name == "many small messages")
    less_s = min(send_s, receive_s) - 1e-6
    assert pattern.saved_s[:, 0].sum() == pytest.approx(2 * 1280 * (1e-6 + less_s) * 63 / 64, rel=0.05)


@pytest.mark.parametrize(("block_bytes", "named"), [(np.nan, [["many small messages"], []]),
                                                    (3.0, [[], [excess.IN_BLOCKS] * 2])])  # fmt: skip
def test_messages_of_short_blocks_are_not_told_to_become_one_that_is_packed_as_slowly(
    block_bytes: float, named: list[list[str]], tmp_path: Path
) -> None:
    """9 us for 256 blocks, which one message would have, too."""
    program = Program(2)
    for _ in range(ITERATIONS):
        program.compute()
        for _ in range(96):
            program.message(0, 1, 768)
    program.watched(tmp_path)
    calls = read_watched(tmp_path).calls
    each = np.ones(len(calls))
    calls = dataclasses.replace(calls, own_s=9e-6 * each, block_bytes=block_bytes * each)
    assert [[pattern.name for pattern in account.see(calls)] for account in (cost_of_calls, excess)] == named


ALLREDUCE = "mpi4py.MPI.Comm.allreduce"


@pytest.mark.parametrize(("between_s", "in_a_row", "named"), [(12e-6, 32, 640), (12e-6, 3, None), (2e-4, 32, None)])
def test_collectives_of_objects_in_a_row_are_named_and_those_with_computing_between_are_not(
    between_s: float, in_a_row: int, named: int | None
) -> None:
    """Each is two broadcasts, of a length and of the bytes, 1 us apart; `between_s` before the next."""
    named_patterns = list(objects.collectives_of_objects(collectives_of_objects(between_s, in_a_row)))
    assert [pattern.count for pattern in named_patterns] == ([] if named is None else [named])
    for pattern in named_patterns:
        assert f"{ALLREDUCE} of an object in {{place}}, 32 in a row, each of them 2.0 MPI calls" in pattern.text
        assert "call comm.Allreduce once" in pattern.change
        assert pattern.sites == (0, 1)
        less_s = 20 * (32 * (2 * CALL_S + 1e-6) + 31 * between_s) * 31 / 32  # a rank; before a row is not in it
        assert pattern.more_s == pytest.approx((less_s, 0.0, less_s), rel=0.01)


def test_what_a_rank_waits_for_within_a_row_is_anothers_pickling_and_goes_with_it() -> None:
    """Half of each call is a wait. In the first reduction of a row it is one for a rank that came late, which stays."""
    calls = collectives_of_objects(12e-6, 32)
    waits = dataclasses.replace(calls, own_s=calls.own_s / 2)
    (pattern,) = objects.collectives_of_objects(calls)
    (with_waits,) = objects.collectives_of_objects(waits)
    in_first_s = 20 * 2 * CALL_S / 2 * 31 / 32  # of each row, a rank
    assert pattern.more_s[0] - with_waits.more_s[0] == pytest.approx(in_first_s, rel=1e-6)
    assert (with_waits.saved_s[:, [0, 2]] == 0.0).all()
    assert with_waits.saved_s[:, 1].sum() < pattern.saved_s[:, 1].sum()


def collectives_of_objects(between_s: float, in_a_row: int) -> ProgramCalls:
    """Of two ranks, 20 rows with 1 ms between them."""
    rows = [(rank, row, number) for rank in range(2) for row in range(20) for number in range(2 * in_a_row)]
    rank, row, number = np.array(rows, dtype=np.int64).T
    each_s = between_s + 1e-6 + 2 * CALL_S
    start_s = row * (in_a_row * each_s + 1e-3) + number // 2 * each_s + number % 2 * (CALL_S + 1e-6)
    some = rank >= 0
    return made_calls(
        rank, start_s, CALL_S, call=0 * rank, site=number % 2, bytes=np.where(number % 2, 120, 8), root=0 * rank,
        is_collective=some, brings=some, names=("MPI_Bcast",), within=(ALLREDUCE, ALLREDUCE, ""),
    )  # fmt: skip


def sent_by(method: str, size: int) -> ProgramCalls:
    """Messages of mpi4py's calls of a rank, 1 ms apart."""
    calls = collectives_of_objects(1e-3, 20)
    functions = tuple(f"mpi4py.MPI.Comm.{name}" * bool(name) for name in (method, method.replace("send", "recv"), ""))
    return dataclasses.replace(calls, names=("MPI_Send",), bytes=np.full(len(calls), size), within=functions)


def test_arrays_that_are_pickled_are_named_with_the_call_that_takes_buffers() -> None:
    (pattern,) = outside.see(sent_by("send", 2**20))
    assert pattern.name == "comm.send and comm.recv of objects"
    assert "arrays by comm.Send and comm.Recv, without pickling, and of other objects only the part" in pattern.change
    assert pattern.sooner_s.sum() == pytest.approx(3 * pattern.rows.size * 2**20 * outside.COPY_S_PER_BYTE, rel=0.01)


@pytest.mark.parametrize(("method", "size"), [("", 2**20), ("send", 200)])
def test_buffers_and_short_objects_are_not_pickled_arrays(method: str, size: int) -> None:
    assert list(outside.see(sent_by(method, size))) == []


@pytest.mark.parametrize(
    ("name", "times", "length", "goes"),
    [("MPI_File_write_shared", 500, 8, 0.5), ("MPI_File_read_at", 10**6, 8, 0.7), ("MPI_File_read", 10**5, 2**20, 0.0),
     ("MPI_File_read", 10**5, 8, 0.7), ("MPI_File_write_all", 10**4, 0, 0.0), ("MPI_Unpack", 10**6, 8, 0.7),
     ("MPI_File_write_all", 10**4, 10**4, 1.4 / 3), ("MPI_File_read_at_all", 999, 8, 0.0), ("MPI_File_sync", 9, 0, 0.0),
     ("MPI_Pready", 10**6, 8, 0.7), ("MPI_Comm_rank", 10**4, 0, 1.0), ("MPI_Comm_rank", 99, 0, 0.0),
     ("MPI_File_sync", 50, 0, 1.6 / 3), ("MPI_Lookup_name", 10**4, 0, 0.0),
     ("MPI_T_cvar_get_info", 10**4, 0, 1.0), ("MPI_T_pvar_read", 10**4, 0, 0.7), ("MPI_Comm_set_name", 10**4, 0, 1.0),
     ("MPI_Comm_spawn", 5, 0, 1.4 / 3), ("MPI_Dims_create", 10**3, 0, 1.0), ("MPI_Win_sync", 10**4, 0, 0.7),
     ("MPI_File_seek", 10**4, 0, 0.9), ("MPI_Win_sync", 99, 0, 0.0), ("MPI_Parrived", 10**4, 0, 0.7)],
)  # fmt: skip
def test_calls_that_are_only_counted_are_named(name: str, times: int, length: int, goes: float) -> None:
    """Args: length: of what each moves; 0: nothing, or not known."""
    counted, moved = np.array([[0, 0, 0, times], [0, 0, 1, times]]), np.full((2, 2), [length * times, 0])
    calls = dataclasses.replace(sent_by("", 8), counted=counted, counted_s=np.array([0.2, 0.3]), moved=moved)
    seen = cost_of_calls.see(dataclasses.replace(calls, names=(name,)))
    named = [pattern.more_s for pattern in seen if name in pattern.text]
    assert named == [pytest.approx((0.3 * goes,) * 3)] * (goes > 0)


@pytest.mark.parametrize(
    ("zero", "same", "call", "size", "change"),
    [(0, 990, "MPI_Send", 2**20, "send it once"), (600, 0, "MPI_Send", 2**20, "send only what"),
     (1000, 0, "MPI_Send", 2**20, None), (300, 100, "MPI_Send", 2**20, None), (0, 990, "MPI_Send", 8, None),
     (0, 990, "MPI_Allgather", 4, "call it once before"), (0, 990, "MPI_Allreduce", 8, None),
     (0, 990, "MPI_Allreduce", 16, "call it once before")],
)  # fmt: skip
def test_zeros_or_repeats_are_named(zero: int, same: int, call: str, size: int, change: str | None) -> None:
    """Of 1000 pieces. All zeros: nobody wrote anything. A number may be a flag. Rank 1 comes late to collectives."""
    calls, half = sent_by("", size), 0.5 if call != "MPI_Send" else 0.0
    calls = dataclasses.replace(calls, contents=np.array([[0, 0, 1000, zero, same, 0]]), offset=np.arange(len(calls)))
    calls = dataclasses.replace(calls, names=(call,), is_collective=calls.is_collective & (half > 0))
    late_s = half * calls.own_s * calls.rank
    calls = dataclasses.replace(calls, start_s=calls.start_s + late_s, group=calls.offset % 800)
    (*_, pattern) = [None, *(seen for seen in cost_of_calls.see(calls) if "message" in seen.name)]
    assert (pattern is None) == (change is None)
    if pattern is not None and change is not None:
        assert change in pattern.change
        own_s = (1.0 - half) * calls.own_s[calls.site == 0].sum()
        assert pattern.saved_s[:, 0].sum() == pytest.approx((zero + same) / 1000 * own_s)


def test_a_nonblocking_collective_of_zeros_passes_in_the_call_that_completes_it() -> None:
    calls = collectives_of_objects(1e-3, 20)
    starts = calls.site == 0
    calls = dataclasses.replace(
        calls, call=calls.site, names=("MPI_Ialltoall", "MPI_Wait"), bytes=starts * 2**20, is_message=~starts,
        is_collective=calls.rank < 0, group=np.where(starts, np.arange(len(calls)), -1), requests=1 - starts,
        contents=np.array([[0, 0, 1000, 600, 0, 0]]), within=("",) * 3,
    )  # fmt: skip
    (pattern,) = cost_of_calls.see(calls)
    assert pattern.saved_s[:, 0].sum() == pytest.approx(0.6 * calls.own_s.sum())


@pytest.mark.parametrize(("call", "is_used"), [("MPI_Win_create", True), ("MPI_Comm_dup", False)])
def test_first_uses_of_a_window_may_go_with_it(call: str, is_used: bool, tmp_path: Path) -> None:
    """100 us each: the high end has them, where what is made anew is set up by its first use."""
    program = Program(2)
    for _ in range(ITERATIONS):
        program.compute()
        program.all(call, size=0, took_s=30e-6)
        one_sided(program, "MPI_Put", EventKind.ONE_SIDED | EventKind.SEND, 8, ELSEWHERE, took_s=100e-6)
        program.all("MPI_Win_free" if is_used else "MPI_Comm_free", size=0, site=THERE, took_s=20e-6)
    (finding,) = [each for each in program.watched(tmp_path).findings if each.rule == "SP083"]
    assert finding.saved_interval is not None
    assert finding.saved_s == pytest.approx(ITERATIONS * 50e-6, rel=0.05)
    more = 3.0 - 2 / ITERATIONS if is_used else 1.95  # times the value: what estimates were validated to at least
    assert finding.saved_interval[1] == pytest.approx(more * finding.saved_s, rel=0.05)


def test_what_is_made_anew_at_two_places_is_one_change(tmp_path: Path) -> None:
    program = Program(2)
    for _ in range(ITERATIONS):
        for site in (HERE, ELSEWHERE):
            program.compute()
            program.message(0, 1)
            program.all("MPI_Win_create", size=0, took_s=30e-6, site=site)
            program.all("MPI_Win_free", size=0, site=THERE, took_s=20e-6)
    (finding,) = [each for each in program.watched(tmp_path).findings if each.rule == "SP083"]
    assert finding.saved_s == pytest.approx(2 * (ITERATIONS - 1) * 50e-6, rel=0.05)
    assert "and at 1 more" in finding.text


OF_READS = [(8, 1, False, ["each"]), (2**20, 1, False, []), (8, 2, False, []), (8, 1, True, ["reads"])]


@pytest.mark.parametrize(("size", "closes", "swaps", "named"), OF_READS)
def test_short_reads_that_are_each_completed_are_named(size: int, closes: int, swaps: bool, named: list[str]) -> None:
    """800 reads, or half of them swap, each of which stands for two; with a flush behind each, or every second pair."""
    calls = collectives_of_objects(1e-3, 20)
    turn = np.arange(len(calls)) % 2
    reads = dataclasses.replace(
        calls, names=("MPI_Get", "MPI_Win_flush", "MPI_Barrier", "MPI_Compare_and_swap"),
        call=np.where(swaps & (np.arange(len(calls)) % 4 == 2), 3, turn * closes), site=0 * calls.site,
        bytes=np.where(turn == 0, size, 0), weight=2.0 * calls.weight, target=1 - calls.rank, is_read=turn == 0,
    )  # fmt: skip
    assert [seen.name.split()[0] for seen in cost_of_calls.see(reads) if "read" in seen.name] == named


@pytest.mark.parametrize(
    ("times", "sends", "is_named"),
    [(np.linspace(20, 1, 128), False, True), (np.linspace(1, 20, 128), False, False), (np.ones(128), False, False),
     (np.linspace(20, 1, 128), True, False)],
)  # fmt: skip
def test_receives_whose_sends_were_not_kept_search_where_their_times_fall(
    times: Floats, sends: bool, is_named: bool
) -> None:
    """Rows of 128 receives by rank 0, while rank 1 calls nothing that sends, or sends them."""
    calls = collectives_of_objects(1e-6, 64)
    own_s = np.where(calls.rank == 0, 1e-7 * np.tile(times, 40), CALL_S)
    sent = np.flatnonzero(calls.rank == 1) if sends else np.zeros(0, dtype=np.int64)
    none = np.full(sent.size, -1)
    messages = Messages(sent, sent, none, none, none, none, none)
    received = dataclasses.replace(
        calls, names=("MPI_Recv", "MPI_Isend"), call=calls.rank, site=calls.rank, bytes=0 * calls.bytes + 8,
        own_s=own_s, target=1 - calls.rank, eager_bytes=64, messages=messages, within=("", "", ""),
        thread=np.repeat(np.arange(40), 128),
    )  # fmt: skip
    patterns = [pattern for pattern in excess.see(received) if pattern.name == "receives search a long queue"]
    assert len(patterns) == is_named
    for pattern in patterns:
        assert pattern.saved_s[:, 0].sum() == pytest.approx(20 * (1e-7 * (times - 2.0)).clip(0).sum(), rel=0.05)


@pytest.mark.parametrize(("fast_s", "since_s", "is_named"), [(0.1e-6, 1e-3, True), (10e-6, 1e-3, False),
                                                             (0.1e-6, 30e-6, False)])  # fmt: skip
def test_receives_that_are_slow_from_one_rank_alone_search(fast_s: float, since_s: float, is_named: bool) -> None:
    """Rank 0 receives what was there: from rank 1 in 20 us, from rank 2 at once, or in half of that."""
    calls = collectives_of_objects(1e-6, 64)
    rows, turn = np.flatnonzero(calls.rank == 0), np.arange(2560) % 2
    none, size = np.full(rows.size, -1), np.full(rows.size, 8)
    source = np.append(1 + turn, np.full(2560, 0))
    messages = Messages(rows + 2560, none, rows, none, size, source[rows], 0 * rows)
    received = dataclasses.replace(
        calls, names=("MPI_Recv", "MPI_Isend"), call=calls.rank, site=calls.rank, bytes=0 * calls.bytes + 8,
        own_s=np.where(source == 1, 20e-6, fast_s), target=source, eager_bytes=64, messages=messages,
        within=("", "", ""), ranks=3, start_s=calls.start_s + np.where(calls.rank == 0, since_s, 0.0),
    )  # fmt: skip
    patterns = [pattern for pattern in excess.see(received) if pattern.name == "receives search a long queue"]
    assert len(patterns) == is_named
    for pattern in patterns:
        assert pattern.saved_s[:, 0].sum() == pytest.approx(1280 * (20e-6 - fast_s), rel=0.01)


@pytest.mark.parametrize(("place", "is_told"), [("cells.f90:35", True), ("CELLS.F:3", True), ("halo.c:3", False)])
def test_new_memory_is_placed_between_two_calls_in_words_of_the_language(place: str, is_told: bool) -> None:
    """In Fortran it may be that of sections with gaps."""
    mapped = SeenPattern(sites=(), count=1, text="in {place}", change="allocate once", name=outside.MAPPED_AGAIN)
    between = dataclasses.replace(mapped, text="between MPI_Wait in {other} and MPI_Irecv in {place}", before=True)
    same = dataclasses.replace(mapped, text="before MPI_Irecv in {place}", before=True)
    assert change_in(same, [place]).startswith(f"Before {place}: allocate once")
    assert change_in(dataclasses.replace(same, at="pack (x.c:1)"), [place]).startswith("pack (x.c:1): ")
    said, said_between = change_in(mapped, [place, "a.c:25"]), change_in(between, [place, "a.c:25"])
    assert said.startswith(f"{place}: allocate once")
    assert said_between.startswith(f"Between a.c:25 and {place}: allocate once")
    assert ("a(5, :)" in said) is ("a(5, :)" in said_between) is is_told


@pytest.mark.parametrize(("queued_s", "kept"), [(0.0, 1.0), (7e-6, 0.5), (1.0, 0.0)])
def test_long_calls_are_capped_by_what_ranks_stood_in_the_queue_at_most(queued_s: float, kept: float) -> None:
    """Of 80 calls of 1 us four take 10 us: 28 us of that beyond three medians."""
    calls = collectives_of_objects(1e-6, 1)
    own_s = np.full(len(calls), 1e-6)
    own_s[:4] = 10e-6
    ranks = tuple(RankShare(i, "a", frozenset({0, 1}), 2, 1.0, 0.5, queued_s, 1, queued_s) for i in range(2))
    held = dataclasses.replace(calls, own_s=own_s, resources=ProgramResources(ranks, 1.0))
    saved_s = merged(held, np.arange(len(calls)), own_s, np.ones(len(calls)), np.zeros(len(calls)))
    assert (np.diff(saved_s[:, [1, 0, 2]]) >= 0).all()
    beyond_s = float(saved_s[:, 0].sum()) - 76e-6 - 12e-6
    assert beyond_s == pytest.approx(28e-6 * kept, abs=1e-9)


@pytest.mark.parametrize(
    ("block_bytes", "took_s", "is_named"),
    [(8.0, 200e-6, True), (8.0, 40e-6, False), (256.0, 29e-6, False), (4096.0, 200e-6, False), (np.nan, 200e-6, False)],
)
def test_short_blocks_are_named_where_a_loop_would_pack_them_faster(
    block_bytes: float, took_s: float, is_named: bool
) -> None:
    """8,192 blocks of 8 B: a loop takes 16 us for them, and 13 us more for their bytes."""
    calls = collectives_of_objects(1e-3, 20)
    each = np.full(len(calls), 1.0)
    moved = dataclasses.replace(
        calls, names=("MPI_Alltoall",), bytes=65536 * each.astype(np.int64), block_bytes=block_bytes * each,
        own_s=took_s * each, site=0 * calls.site,
    )  # fmt: skip
    patterns = list(excess.see(moved))
    assert [pattern.name for pattern in patterns] == [excess.IN_BLOCKS] * is_named
    for pattern in patterns:
        assert "64 KiB in blocks of 8 B" in pattern.text
        assert pattern.saved_s[0].tolist() == pytest.approx([170e-6, 111e-6, 200e-6], rel=0.02)
    ranks = tuple(RankShare(i, "a", frozenset({0}), 1, 1.0, 1.0, 0.8, 1, 0.8, ran_s=0.2) for i in range(2))
    queued = dataclasses.replace(moved, resources=ProgramResources(ranks, 1.0))  # a fifth of that time they ran
    assert [*excess.see(queued), *excess.see(dataclasses.replace(moved, names=("MPI_Scan",)))] == []


@pytest.mark.parametrize("in_files_ratio", [0.0, 0.1, 0.25, 1.0])
def test_system_calls_of_mpi_io_are_none_of_the_programs_own(in_files_ratio: float, tmp_path: Path) -> None:
    """Each rank writes before each collective, by itself or in MPI_File_write_at."""
    program = Program(4)
    PLANTS["SP082 writes"](program, False)
    for rank in program.job.ranks:
        rank.profile_row("MPI_File_write_at", round(in_files_ratio * program.now[0] * 1e9), 1, site=ELSEWHERE)
        rank.profile_row("MPI_File_open", round(2 * in_files_ratio * program.now[0] * 1e9), 1, site=THERE)
    results = program.watched(tmp_path)
    named = [finding.name for finding in results.findings if finding.rule == "SP082"]
    assert named == ["system calls outside MPI"] * (in_files_ratio < 0.2)


@pytest.mark.parametrize(("call", "account"), [("MPI_Pack", "call overhead"), ("MPI_Type_commit", "management")])
def test_packing_is_no_making_and_freeing(call: str, account: str, tmp_path: Path) -> None:
    program = Program(2)
    program.compute(0.1)
    program.all(size=2048)
    for rank in program.job.ranks:
        rank.profile_row(call, 10**7, 100, site=THERE)
    assert account in [each.name for each in program.watched(tmp_path).accounts]


@pytest.mark.parametrize(("piece_bytes", "is_named"), [(20, True), (2**20, False)])
def test_large_pieces_need_not_be_larger(piece_bytes: int, is_named: bool, tmp_path: Path) -> None:
    program = Program(4)
    small_writes(program, False, piece_bytes)
    assert any(finding.rule == "SP082" for finding in program.watched(tmp_path).findings) is is_named


def test_page_faults_in_calls_on_old_buffers_are_memory_of_the_librarys_own(tmp_path: Path) -> None:
    """A library that gives its buffers back is no reason to allocate the program's once."""
    program, pages = Program(2), 1024
    for number in range(200):
        program.compute(10e-6)
        for rank in program.job.ranks:
            rank.sample(program.now[0], minor_faults=pages * number)
        program.all(size=2048, took_s=2e-3)
        for rank in program.job.ranks:
            rank.sample(program.now[0] - 1e-6, minor_faults=pages * (number + 1))
    for rank in program.job.ranks:
        for moment, at_s, count in (("begin", 0.0, 0), ("end", max(program.now), pages * 200)):
            words = f"minor_faults={count} resident_bytes={2**24} fault_ns=500"
            rank.say("at", f"{moment} ns={BASE_NS + round(at_s * 1e9)} {words}")
    assert [finding for finding in program.watched(tmp_path).findings if finding.rule == "SP082"] == []


@pytest.mark.parametrize(("call", "size", "is_named"), [("MPI_Allreduce", 2**20, False), ("MPI_Bcast", 2**20, True),
                                                        ("MPI_Allreduce", 2**13, True)])  # fmt: skip
def test_page_faults_next_to_long_reductions_may_be_the_librarys(call: str, size: int, is_named: bool) -> None:
    """256 pages a round, and a sample for each round: nothing tells whether they are mapped within the call."""
    rank, turn, at_s = np.repeat([0, 1], 40), np.tile(np.arange(40), 2), np.arange(41) * 5e-3
    shares = [RankShare(i, "a", frozenset({1}), 2, 0.2, 0.1, 0.0, 1, 0.0, faults=40 * 256, fault_s=(1e-6,),
                        grown_bytes=0) for i in (0, 1)]  # fmt: skip
    calls = made_calls(
        rank, turn * 5e-3, 2e-3, call=0 * rank, site=0 * rank, names=(call,), bytes=0 * rank + size,
        resources=ProgramResources(tuple(shares), 0.2), faults=lambda _: (at_s, np.arange(41) * 256),
    )  # fmt: skip
    assert bool(outside.see(calls)) is is_named


@pytest.mark.parametrize("eager_bytes", [2**16, 2**20])
def test_a_long_send_lasts_as_long_as_its_receive_maps_new_memory(eager_bytes: int) -> None:
    rank, turn, none = np.repeat([0, 1], 40), np.tile(np.arange(40), 2), np.full(40, -1)
    sends, receives, start_s = np.arange(40), np.arange(40, 80), turn * 5e-3
    at_s, counted = np.arange(81) * 2.5e-3, np.repeat(np.arange(41), 2)[1:] * 256  # in the first half of each round
    share = RankShare(1, "a", frozenset({1}), 2, 0.2, 0.1, 0.0, 1, 0.0, faults=40 * 256, fault_s=(1e-6,), grown_bytes=0)
    calls = made_calls(
        rank, start_s, 2e-3, call=rank, site=rank, is_message=rank >= 0, names=("MPI_Send", "MPI_Recv"),
        messages=Messages(sends, sends, receives, receives, none * 0 + 2**20, none, none), eager_bytes=eager_bytes,
        first_uses=np.array([[1, 1, 40, 2**20]]), resources=ProgramResources((share,), 0.2),
        faults=lambda _: (at_s, counted),
    )  # fmt: skip
    (pattern,) = outside.see(calls)
    less_s = np.zeros(80)
    less_s[pattern.rows] = pattern.saved_s[:, 0]
    assert less_s[receives] == pytest.approx(np.full(40, 256 * 1.2e-6), rel=0.1)
    assert (less_s[sends] == less_s[receives] * (eager_bytes < 2**20)).all()


def test_a_verdict_needs_no_campaign() -> None:
    """What only a replay needs would be half of the time from a short program's end to its verdict."""
    asked = "import sys, slowpath.watch.report.write; print('slowpath.experiments.registry' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True).stdout
    assert said == "False\n"


def with_samples(calls: ProgramCalls, *codes: Code, every: int = 1) -> ProgramCalls:
    """Samples that stand for all time outside MPI, of these codes in turn in each `every`-th stretch."""
    rows = np.flatnonzero(np.isfinite(calls.gap_s) & (calls.gap_s > 0))[::every]
    share = float(calls.gap_s[np.isfinite(calls.gap_s)].sum()) / rows.size
    sampled = Sampled(rows, np.arange(rows.size) % len(codes), np.full(rows.size, share), codes)
    return dataclasses.replace(calls, sampled=sampled)


PACK = Code("memcpy", "pack", "app", "src/pack.c", 12)
PRINT, PARSE = Code("snprintf", "save", "app", "io.c", 3), Code("strtod", "load", "app", "io.c", 9)
WRITE, READ = (Code(name, "", "app", "a.f90", 5) for name in ("_gfortran_st_write", "std::istream::_M_extract"))
OWN, AT_CALL = Code("", "sweep", "app", "sweep.c", 40), Code("", "sweep", "app", "src/sweep.f90", 41)
CLEAR, ALLOCATED = Code("memset", "stage", "app", "s.c", 7), "memory allocated and freed by operator new(unsigned long)"
PYTHON, CLOCK = Code("", "", "python3.12", None, None), Code("MPI_Wtime", "settle", "x", "settle.c", 9)


def computing(tmp_path: Path) -> ProgramCalls:
    """Ranks that compute 100 us before each of 40 reductions."""
    program = Program(4)
    for _ in range(40):
        program.compute()
        program.all(size=2048)
    program.watched(tmp_path)
    return read_watched(tmp_path).calls


@pytest.mark.parametrize(
    ("codes", "moved_bytes", "name"),
    [
        ((PACK,), 1e6, "copies by memcpy beyond what is sent"),
        ((PACK,), 4e9 * 0.004, None),
        ((PACK, *[OWN] * 60), 1e6, None),
        ((OWN,), 1e6, None),
        ((PRINT, PARSE), 1e6, "numbers converted by snprintf and strtod"),
        ((WRITE, READ), 1e6, "numbers converted by _gfortran_st_write and std::istream::_M_extract"),
        ((PYTHON,), 1e6, "Python's interpreter between calls"),
        ((PYTHON, *[OWN] * 9), 1e6, None),
        ((CLOCK, PYTHON), 1e6, "a loop reads the clock"),
        ((dataclasses.replace(PYTHON, function="visit_decref"),), 1e6, "garbage collection of Python"),
        ((AT_CALL,), 1e6, "arguments copied for MPI_Allreduce"),
        ((dataclasses.replace(AT_CALL, called="memcpy"),), 1e6, "arguments copied for MPI_Allreduce"),
        ((CLEAR,), 1e6, "memory cleared by memset"),
        ((CLEAR, *[OWN] * 24), 1e6, None),
        ((dataclasses.replace(CLEAR, called="operator new(unsigned long)"),), 4e9, ALLOCATED),
        ((dataclasses.replace(CLEAR, called="crc32_z"),), 4e9, "checks by crc32_z"),
        ((dataclasses.replace(CLEAR, called="", object="libz.so.1.3"),), 4e9, "compression by libz.so.1.3"),
        ((dataclasses.replace(CLEAR, called="qsort_r"),), 4e9, "sorting by qsort_r"),
        ((dataclasses.replace(CLEAR, called="strcat"),), 4e9, "text read to its end by strcat"),
        ((dataclasses.replace(CLEAR, called="std::ostream::write"),), 4e9, "bytes written by std::ostream::write"),
    ],
)
def test_library_work_that_serves_messages_is_named(
    codes: tuple[Code, ...], moved_bytes: float, name: str | None, tmp_path: Path
) -> None:
    calls = with_samples(computing(tmp_path), *codes)
    contents = np.array([[calls.call[0], calls.site[0], 320, 0, 0, 640 * (name or "").startswith("numbers")]])
    calls = dataclasses.replace(calls, contents=contents, moved_bytes=dict.fromkeys(range(4), moved_bytes))
    calls = dataclasses.replace(calls, at=("sweep.f90:41",) * (int(calls.site.max()) + 1))
    seen = outside.see(calls)
    assert [pattern.name for pattern in seen] == ([] if name is None else [name])
    for pattern in seen:
        value, low, high = (pattern.sooner_s * calls.weight[pattern.sooner, None]).sum(axis=0).tolist()
        assert low == value == high
        assert value == pytest.approx(calls.gap_s[pattern.sooner].sum() - (PACK in codes) * 1e-9 * moved_bytes, 0.02)
        ranks = tuple(RankShare(i, "a", frozenset({0, 1}), 2, 1.0, 0.5, 0.5, 1, 0.5, ran_s=1.0) for i in range(4))
        shared = dataclasses.replace(calls, resources=ProgramResources(ranks, 1.0))
        assert on_shared(shared, [pattern], calls.weight)[0] == pytest.approx(value / 2)  # four in turn on two
        assert change_in(pattern, ["x.c:5"]).startswith(codes[0].at if codes[0].file else "Before x.c:5")


@pytest.mark.parametrize("asks", [10**6, 10**4])
def test_what_python_takes_around_many_calls_that_are_only_counted_goes_with_them(asks: int, tmp_path: Path) -> None:
    """Beside 40,000 others on each rank: fewer may be the binding's own."""
    calls = with_samples(computing(tmp_path), dataclasses.replace(PYTHON, object="MPI.cpython-311.so"))
    counted, weight = np.array([[len(calls.names), 0, rank, asks] for rank in range(4)]), np.full(len(calls), 1e3)
    calls = dataclasses.replace(calls, names=(*calls.names, "MPI_Comm_rank"), counted=counted, counted_s=np.ones(4))
    around_s = np.bincount(calls.rank[calls.sampled.row], calls.sampled.seconds).max() * (asks > 80_000)
    (asked,) = [each for each in cost_of_calls.see(dataclasses.replace(calls, weight=weight)) if "local" in each.name]
    assert asked.more_s[0] == pytest.approx(1.0 + around_s)


@pytest.mark.parametrize(("code", "text", "is_named"), [(PRINT, 640, True), (OWN, 640, True), (PRINT, 300, False)])
def test_text_in_messages_is_named_with_what_converts(code: Code, text: int, is_named: bool, tmp_path: Path) -> None:
    calls = with_samples(computing(tmp_path), code)
    calls = dataclasses.replace(calls, contents=np.array([[calls.call[0], calls.site[0], 320, 0, 0, text]]))
    told = outside.see(calls) if code is PRINT else cost_of_calls.see(calls)
    named = [each for each in told if each.change.endswith("not as text") and "numbers as text" in each.text]
    assert len(named) == len(told) == is_named


@pytest.mark.parametrize(
    ("size", "others", "part", "is_named"),
    [(2**18, 0, 1, True), (200, 0, 1, True), (200, 39, 1, False), (200, 0, 40, False)],
)
def test_what_runs_below_mpi4py_is_pickling(size: int, others: int, part: int, is_named: bool) -> None:
    """Args: part: one of so many messages is of an object; what runs below the binding elsewhere is no pickling."""
    below = Code("", "cdumps", "MPI.mpich.cpython-311.so", None, None)
    calls = dataclasses.replace(with_samples(sent_by("send", size), below, *[OWN] * others), span_s=0.5)
    site = np.where(np.arange(len(calls)) % (2 * part) < 2, calls.site, 2)
    calls = dataclasses.replace(calls, site=site, at=("",) * 3)
    patterns = outside.see(calls)
    assert [pattern.name for pattern in patterns] == ["comm.send and comm.recv of objects"] * is_named
    for pattern in patterns:
        assert pattern.sooner_s[:, 0].sum() == pytest.approx(0.7 * calls.sampled.seconds.sum(), rel=0.05)
        assert "which takes 418 ms a rank" in pattern.text
        assert ("collect many objects in one" in pattern.change) is (size == 200)


@pytest.mark.parametrize("name", ["pack", "Reader::image", "to_bytes"])
def test_the_line_of_time_outside_mpi_names_functions_and_calls(name: str, tmp_path: Path) -> None:
    lines = [dataclasses.replace(OWN, line=line) for line in (40, 41, 42)]
    calls = with_samples(computing(tmp_path), *lines, dataclasses.replace(PACK, function=name))
    sites = read_watched(tmp_path).results.sites
    head, where = (outside_words(calls, sites, 0.8) or "").split("; ")
    assert f"run: 60 % in sweep (sweep.c:40), 20 % in memcpy, called in {name} (pack.c:12) (for messages? give" in head
    assert where.startswith("sweep before MPI_Allreduce")
    assert outside_words(calls, sites, 0.2) is None
    assert outside_words(with_samples(calls, OWN, every=20), sites, 0.8) is None


def test_one_line_that_a_compiler_wrote_twice_is_one_place() -> None:
    sites = [
        CallSite(function="receive", file="mail.cpp", line=37, object="mail", offset=16),
        CallSite(function="serve", file="mail.cpp", line=37, object="mail", offset=96),
        CallSite(function="", file=None, line=None, object="mail", offset=128),
        CallSite(function="send", file="mail.py", line=8, object="MPI.so", offset=16),
        CallSite(function="send", file="mail.py", line=8, object="MPI.so", offset=24),
    ]
    assert one_place({5: 0, 6: 1, 7: 2, 8: 3, 9: 4}, sites) == {5: 0, 6: 0, 7: 2, 8: 3, 9: 4}
