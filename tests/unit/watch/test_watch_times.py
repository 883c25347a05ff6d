# SPDX-License-Identifier: Apache-2.0
"""Every second in MPI has a name: planted waits, calls and management come out under theirs, and add up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slowpath.findings.program_pattern import ProgramCalls
from slowpath.watch.accounts import outside_parts
from slowpath.watch.analysis import AttributedWatch, read_watched, watched
from slowpath.watch.patterns import seen_in
from slowpath.watch.record.layout import RecordState
from slowpath.watch.results import AccountName, RankResources, RankTime, WatchFinding, WatchResults
from support.program_plants import chained
from support.watch_record import Job
from support.watched_program import ELSEWHERE, HERE, THERE, Program, described


def seconds(tmp_path: Path, job: Job) -> dict[AccountName, tuple[float, ...]]:
    """By name: of each rank."""
    job.write(tmp_path / "ranks")
    results = watched(described(tmp_path, wall_s=1.0)).results
    assert results.accounts
    for i, rank in enumerate(results.ranks):
        assert sum(account.by_rank[i] for account in results.accounts) == pytest.approx(rank.span_s)
    assert sum(account.share for account in results.accounts) == pytest.approx(1.0)
    return {account.name: account.by_rank for account in results.accounts}


@pytest.mark.parametrize(
    ("call", "root", "name", "who"),
    [
        ("MPI_Barrier", -1, "wait at barrier", 1),
        ("MPI_Allreduce", -1, "wait at N x N", 1),
        ("MPI_Bcast", 0, "late broadcast", 1),
        ("MPI_Reduce", 1, "early reduce", 1),
        ("MPI_Comm_dup", -1, "wait at management", 1),
        ("MPI_Win_create", -1, "wait at management", 1),
    ],
)
def test_waiting_for_a_late_rank_has_the_name_of_what_is_waited_in(
    tmp_path: Path, call: str, root: int, name: AccountName, who: int
) -> None:
    job = Job(2)
    job.ranks[0].collective(call, start_s=0.050, end_s=0.051, root=root)
    job.ranks[1].collective(call, start_s=0.010, end_s=0.051, root=root)
    assert seconds(tmp_path, job)[name][who] == pytest.approx(0.040)


def test_waiting_for_messages_has_its_names(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.031)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032)
    job.ranks[0].send(1, start_s=0.040, end_s=0.062, message_bytes=2**20)
    job.ranks[1].receive(0, start_s=0.060, end_s=0.063, message_bytes=2**20)
    by_account = seconds(tmp_path, job)
    assert by_account["late sender"] == pytest.approx((0.0, 0.020))
    assert by_account["late receiver"] == pytest.approx((0.020, 0.0))


def test_short_messages_cost_their_calls(tmp_path: Path) -> None:
    job = Job(2)
    for i in range(100):
        at, slow = 0.001 * i, 10e-6 if i < 10 else 0.0
        job.ranks[0].send(1, start_s=at, end_s=at + 1e-6 + slow)
        job.ranks[1].receive(0, start_s=at + 50e-6, end_s=at + 52e-6)
    assert seconds(tmp_path, job)["call overhead"] == pytest.approx((200e-6, 200e-6))


def test_a_few_calls_of_which_nothing_else_is_known_wait_or_are_slow(tmp_path: Path) -> None:
    job = Job(2)
    for number in range(5):
        job.ranks[1].receive(0, start_s=0.01 * number, end_s=0.01 * number + 0.002)  # no send was recorded
    by_account = seconds(tmp_path, job)
    assert by_account["wait or slow transfer"][1] == pytest.approx(0.01)
    assert "unattributed" not in by_account


def test_long_messages_move_bytes(tmp_path: Path) -> None:
    job = Job(2)
    for i in range(40):
        at = 0.001 * i
        job.ranks[0].send(1, start_s=at, end_s=at + 100e-6, message_bytes=2**16)
        job.ranks[1].receive(0, start_s=at, end_s=at + 100e-6, message_bytes=2**16)
    assert seconds(tmp_path, job)["moving bytes"] == pytest.approx((4e-3, 4e-3))


def a_time(mpi_s: float, **had: object) -> dict[AccountName, float]:
    """Of one second, as the kernel accounts for it."""
    parts = dict.fromkeys(RankTime.__struct_fields__, 0.0)
    rank = RankTime(**(parts | {"rank": 0, "host": "n", "span_s": 1.0, "mpi_s": mpi_s, "ended": "finalized"}))
    every = dict.fromkeys(RankResources.__struct_fields__, None)
    by_activity = outside_parts(rank, RankResources(**(every | {"rank": 0} | had)), 0.05)
    assert sum(by_activity.values()) == pytest.approx(1.0 - mpi_s)
    assert min(by_activity.values()) >= 0.0
    return by_activity


def test_outside_mpi_a_rank_computes_sleeps_maps_pages_and_lacks_a_processor() -> None:
    parts = a_time(0.2, ran_s=0.55, waited_s=0.1, minor_faults=100_000, fault_s=(1e-6, 2e-6))
    assert parts["asleep"] == pytest.approx(0.3)
    assert parts["no processor"] == pytest.approx(0.08)
    assert parts["page faults"] == pytest.approx(0.1)
    assert parts["computing"] == pytest.approx(0.32)
    assert a_time(0.2) == {"outside MPI": pytest.approx(0.8)}
    assert a_time(0.9, ran_s=0.1, waited_s=0.9, minor_faults=10**6, fault_s=(1e-6,))["computing"] == 0.0


def test_samples_say_what_a_rank_did_outside_mpi(tmp_path: Path) -> None:
    """Of 1 s, MPI_Barrier takes the second half: of the first, 0.3 s asleep, 0.1 s writing, and it ran for 0.1 s."""
    job = Job(2)
    for rank in job.ranks:
        rank.collective("MPI_Barrier", start_s=0.5, end_s=1.0)
    asleep, writes = {"state": "S", "system_call": 230}, {"state": "D", "system_call": 1}
    job.ranks[0].say("machine", "x86_64")
    for number in range(100):
        activity = asleep if number < 30 else writes if number < 40 else {}
        ran_ns = round(max(number - 40, 0) * 0.01e9)
        job.ranks[0].sample(0.005 + 0.01 * number, **activity, ran_ns=ran_ns)  # type: ignore[arg-type]
    by_account = seconds(tmp_path, job)
    assert by_account["asleep"][0] == pytest.approx(0.3, abs=0.02)
    assert by_account["system calls"][0] == pytest.approx(0.1, abs=0.02)
    assert by_account["computing"][0] == pytest.approx(0.1, abs=0.02)
    assert by_account["outside MPI"][1] == pytest.approx(0.5)


@pytest.mark.parametrize(("system", "faults", "writes", "touched", "named"), [
    (0.4, 0, 0, 0, {"computing": 0.5, "system calls": 0.0}),  # polls and copies of MPI
    (0.8, 0, 0, 0, {"computing": 0.2, "system calls": 0.3}),
    (0.8, 20, 0, 0, {"computing": 0.2, "page faults": 0.3, "system calls": 0.0}),
    (0.8, 0, 0, 2000, {"computing": 0.2, "page faults": 0.3}),  # huge ones
    (0.8, 20, 20, 0, {"computing": 0.1, "page faults": 0.1, "system calls": 0.3}),
])  # fmt: skip
def test_the_kernels_time_is_the_programs_where_mpi_cannot_have_used_it(
    tmp_path: Path, system: float, faults: int, writes: int, touched: int, named: dict[AccountName, float]
) -> None:
    """Half of 1 s is in calls of 0.5 ms.  Args: system: share in the kernel.  faults, writes: in 10 ms."""
    job = Job(1)
    rank = job.ranks[0]
    for number in range(1000):
        rank.collective("MPI_Barrier", start_s=1e-3 * number + 0.5e-3, end_s=1e-3 * (number + 1))
    for number in range(102):
        counted = {"minor_faults": faults * number, "writes": writes * number}
        rank.sample(0.01 * number, system_us=round(1e4 * system * number), **counted)
    rank.say("at", "begin fault_ns=100000 resident_bytes=0")
    rank.say("at", f"end most_resident_bytes={4096 * touched}")
    by_account = seconds(tmp_path, job)
    assert {name: by_account.get(name, (0.0,))[0] for name in named} == pytest.approx(named, abs=0.02)


def test_calls_that_are_counted_alone_are_managed_or_cost_what_they_cost(tmp_path: Path) -> None:
    job = Job(1)
    job.ranks[0].profile_row("MPI_Type_commit", 1000, 100)
    job.ranks[0].profile_row("MPI_Comm_rank", 50, 1000)
    job.ranks[0].profile_row("MPI_Wtime", 50, 1000)
    by_account = seconds(tmp_path, job)
    assert by_account["management"] == pytest.approx((150e-6,))
    assert by_account["call overhead"] == pytest.approx((50e-6,))


ROUNDS, ROUND_S, WINDOW_ROUNDS = 64, 1e-3, 4
SLOWER = 2.3  # waits of a window in which each event is written
WAIT_S, CALL_S = 100e-6, 1e-6


def thinned(ranks: int, level: int) -> Program:
    program = Program(ranks)
    for rank in program.job.ranks:
        rank.window_ns, rank.level = round(WINDOW_ROUNDS * ROUND_S * 1e9), level
    return program


def is_kept(number: int) -> bool:
    return number // WINDOW_ROUNDS % 4 == 0


def late_receives(level: int) -> Program:
    """Rank 0 sends a long message, which goes when rank 1 has computed: longer where events are written. Other sends of
    rank 0, at another place, take longer where none are.
    """
    program = thinned(4, level)
    for number in range(ROUNDS):
        start = number * ROUND_S + 1e-6
        wait_s = WAIT_S * (SLOWER if is_kept(number) else 1.0)
        posted, end = start + wait_s, start + wait_s + 10e-6
        program.at(0).send(1, start_s=start, end_s=end, message_bytes=2**20, site=HERE)
        program.at(1).receive(0, start_s=posted, end_s=end, message_bytes=2**20, site=THERE)
        short, took_s = end + 1e-6, CALL_S * (1.0 if is_kept(number) else 100.0)
        program.at(0).send(2, start_s=short, end_s=short + took_s, message_bytes=2**10, site=ELSEWHERE)
        program.at(2).receive(0, start_s=short, end_s=short + took_s, message_bytes=2**10, site=THERE)
        program.now = [number * ROUND_S + 0.9e-3] * 4
        program.all(size=2048, site=ELSEWHERE)
    return program


def seen(program: Program, folder: Path) -> tuple[AttributedWatch, ProgramCalls, WatchResults]:
    results = program.watched(folder)
    return watched(folder), read_watched(folder).calls, results


def test_parts_of_a_kind_never_exceed_what_the_profile_counted(tmp_path: Path) -> None:
    watch, calls, _ = seen(late_receives(2), tmp_path)
    whole_s = calls.end_s - calls.start_s
    events = watch.attributed.events
    parts_s = watch.attributed.split.parts_s.sum(axis=1) * watch.weight
    sends_s = []
    for call, site, rank in {tuple(row) for row in calls.counted[:, :3].tolist()}:
        counted_s = calls.counted_s[(calls.counted[:, :3] == [call, site, rank]).all(axis=1)].sum()
        kind = (calls.call == call) & (calls.site == site) & (calls.rank == rank)
        assert (whole_s * calls.seconds_weight)[kind].sum() <= 1.001 * counted_s
        sites = [site_there for site_there, index in watch.site_of.items() if index == site]
        mine = (events.call == call) & np.isin(events.site, sites) & (events.rank == rank)
        assert parts_s[mine].sum() == pytest.approx(counted_s, rel=0.001)
        sends_s.append(counted_s if calls.names[call] == "MPI_Send" else 0.0)
    # What the law is for: the two places of sends differ, and by the call's whole time the first would get most of it.
    long_s, short_s = sorted(filter(None, sends_s), reverse=True)
    assert short_s > 0.3 * long_s


EACH, FEW = 100, 10


def overflowed(level: int, *, is_full: bool) -> Program:
    """Small messages of two places; the profile counts the second half of those of the first without their place."""
    program = thinned(2, level)
    for number in range(ROUNDS):
        program.now = [number * ROUND_S + 1e-6] * 2
        for i in range(EACH + FEW):
            start, here = program.now[0], i < EACH
            fields = {"counted_at": 0} if is_full and here and number >= ROUNDS // 2 else {}
            program.at(0).send(
                1, start_s=start, end_s=start + CALL_S, site=HERE if here else ELSEWHERE, message_bytes=8, **fields
            )
            program.now[0] = start + CALL_S + 50e-9
            program.receive(1, 0, start)
        program.all(size=2048, site=ELSEWHERE)
    program.at(0).lost["profile"] = ROUNDS // 2 * EACH if is_full else 0
    return program


@pytest.mark.parametrize("is_full", [False, True], ids=["room", "no room"])
def test_a_place_for_which_the_profile_had_no_room_is_counted(is_full: bool, tmp_path: Path) -> None:
    watch, calls, results = seen(overflowed(2, is_full=is_full), tmp_path)
    sends = calls.named("MPI_Send")
    place_of = {site: int(calls.weight[sends & (calls.site == site)].sum()) for site in np.unique(calls.site[sends])}
    assert sorted(place_of.values()) == [ROUNDS * FEW, ROUNDS * EACH]
    stood_s = ((calls.end_s - calls.start_s) * calls.seconds_weight)[sends].sum()
    assert stood_s == pytest.approx(ROUNDS * (EACH + FEW) * CALL_S, rel=0.001)
    said = [note for note in results.coverage.notes if "had no room for the places" in note]
    assert len(said) == is_full
    if is_full:
        assert f"of {ROUNDS // 2 * EACH:,} calls (MPI_Send)" in said[0]
        assert "counts by place are estimates" in said[0]
    assert watch.attributed.world.level == 2


THINNED_ROUNDS, STANDS_FOR = 64, 100
THINNED_S = 1e-3
WINDOW_ROUNDS_KEPT = 4
THINNED_SLOWER = 2.3  # calls of a window in which each event is written, as in the draws of docs/results/watch.md


def program_of(level: int, levels: dict[int, int] | None = None) -> Program:
    """Small messages in rounds; one window of four rounds in 2^level is kept, in which calls take longer.

    Args: levels: of ranks that keep more windows.
    """
    program = Program(4)
    for rank in program.job.ranks:
        rank.window_ns = round(WINDOW_ROUNDS_KEPT * THINNED_S * 1e9)
        rank.level = (levels or {}).get(rank.rank, level)
    for number in range(THINNED_ROUNDS):
        program.now = [number * THINNED_S + 1e-6] * 4
        program.call_s = 1e-6 * (THINNED_SLOWER if number // WINDOW_ROUNDS_KEPT % 4 == 0 else 1.0)
        program.all(size=2048, site=ELSEWHERE)
        for at in [program.send(0, 1) for _ in range(STANDS_FOR)]:
            program.receive(1, 0, at)
        program.all(size=2048, site=ELSEWHERE)
    return program


def finding_of(program: Program, folder: Path) -> WatchFinding:
    (finding,) = program.watched(folder).findings
    assert finding.rule == "SP079"
    return finding


@pytest.mark.parametrize("levels", [{}, {0: 1}, {0: 1, 1: 0}], ids=["alike", "the sender keeps more", "both do"])
def test_a_thinned_record_has_the_counts_of_a_full_one(levels: dict[int, int], tmp_path: Path) -> None:
    full = finding_of(program_of(0), tmp_path / "full")
    thin = finding_of(program_of(2, levels), tmp_path / "thin")
    assert full.messages == thin.messages == THINNED_ROUNDS * STANDS_FOR
    assert f"{THINNED_ROUNDS * STANDS_FOR:,} messages of 8 B" in thin.text
    assert full.saved_s is not None
    assert thin.saved_s is not None
    assert thin.saved_interval is not None
    assert thin.saved_interval[0] <= full.saved_s <= thin.saved_interval[1]
    assert thin.saved_s == pytest.approx(full.saved_s, rel=0.25)


def waits(program: Program) -> None:
    """Rank 0 sends a long message, which goes when rank 1 has computed."""
    start, posted = program.now[0], program.now[1] + 300e-6
    program.at(0).send(1, start_s=start, end_s=posted + 50e-6, message_bytes=2**20, site=HERE)
    program.at(1).receive(0, start_s=posted, end_s=posted + 50e-6, message_bytes=2**20, site=THERE)
    program.now = [posted + 350e-6, posted + 50e-6, posted, posted]


def by_hand(program: Program) -> None:
    sent = [program.send(0, rank, 2048, offset=64) for rank in (1, 2, 3)]
    for rank, at in enumerate(sent, 1):
        program.receive(rank, 0, at, 2048, offset=64)


@pytest.mark.parametrize(("code", "once"), [("SP079", by_hand), ("SP081", chained), ("SP081", waits)])
def test_all_patterns_of_messages_count_those_that_were_not_kept(
    code: str, once: Callable[[Program], None], tmp_path: Path
) -> None:
    patterns = []
    for level in (0, 1):
        program = Program(4)
        for rank in program.job.ranks:
            rank.window_ns, rank.level = round(WINDOW_ROUNDS_KEPT * THINNED_S * 1e9), level
        for number in range(2 * THINNED_ROUNDS):
            program.now = [number * THINNED_S + 1e-6] * 4
            once(program)
            program.all(size=2048, site=ELSEWHERE)
        program.watched(tmp_path / str(level))
        (pattern,) = [pattern for path, pattern in seen_in(calls_in(tmp_path / str(level))) if path.code == code]
        patterns.append(pattern)
    full, thin = patterns
    assert thin.count == full.count >= 2 * THINNED_ROUNDS
    assert f"{full.count:,}" in thin.text
    assert thin.more_s == pytest.approx(full.more_s, rel=0.01)


def test_no_kind_of_call_stands_for_more_seconds_than_the_profile_counts(tmp_path: Path) -> None:
    """Counts times what a call takes in a kept window would be 1.7 times what all calls took."""
    program_of(2).watched(tmp_path)
    calls = calls_in(tmp_path)
    for call, site, rank in {tuple(row) for row in calls.counted[:, :3].tolist()}:
        mine = (calls.call == call) & (calls.site == site) & (calls.rank == rank)
        kind = (calls.counted[:, :3] == [call, site, rank]).all(axis=1)
        assert calls.weight[mine].sum() == pytest.approx(calls.counted[kind, 3].sum())
        own_s = calls.own_s[mine]
        assert (own_s * calls.seconds_weight[mine]).sum() <= 1.001 * calls.counted_s[kind].sum()
        if calls.names[call] == "MPI_Send":
            assert (own_s * calls.weight[mine]).sum() > 1.3 * calls.counted_s[kind].sum()


def calls_in(folder: Path) -> ProgramCalls:
    return read_watched(folder).calls


def watch(tmp_path: Path, job: Job, end_s: float | None = None) -> AttributedWatch:
    job.write(tmp_path / "ranks", end_s)
    watch = watched(described(tmp_path))
    msgspec.json.decode(msgspec.json.encode(watch.results), type=WatchResults)
    for i, rank in enumerate(watch.results.ranks):
        assert sum(account.by_rank[i] for account in watch.results.accounts) == pytest.approx(rank.span_s)
    return watch


def of_name(results: WatchResults, name: AccountName) -> tuple[float, ...]:
    """Seconds of each rank."""
    return next(account.by_rank for account in results.accounts if account.name == name)


def late_rank(job: Job, rounds: int = 40, late: int = 3) -> None:
    """Every round a ring in which one rank computes longer."""
    size = job.size
    for i in range(rounds):
        at = i * 0.02
        entries = [at + (0.010 if rank == late else 0.002) for rank in range(size)]
        for rank in range(size):
            left = (rank - 1) % size
            end = max(entries[rank], entries[left]) + 0.001
            job.ranks[rank].sendrecv(
                (rank + 1) % size, left, start_s=entries[rank], end_s=end, message_bytes=100, site=1, allocation=0
            )


def planted(size: int = 4) -> Job:
    job = Job(size)
    for rank in job.ranks:
        rank.site(0x1234)
        rank.allocation(1_000_000)
    return job


def test_a_late_rank_is_named(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    results = watch(tmp_path, job).results
    assert results.program.ranks == results.program.recorded_ranks == 4
    assert of_name(results, "late sender") == pytest.approx((0.32, 0, 0, 0))
    assert results.coverage.matched_share == 1.0
    assert results.coverage.messages == results.coverage.recorded_messages == 160
    assert results.coverage.kept_share == pytest.approx(1.0)
    assert results.coverage.own_cost_s == pytest.approx(40 * 50e-9)
    assert {(pair.source, pair.destination, pair.messages) for pair in results.pairs} == {
        (rank, (rank + 1) % 4, 40) for rank in range(4)
    }


def test_calls_that_were_only_counted_have_a_cost_of_their_own(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    for rank in job.ranks:
        rank.level, rank.thinned = 1, 30
        rank.header["thinned_call_cost_ns"] = 20
    coverage = watch(tmp_path, job).results.coverage
    assert coverage.own_cost_s == pytest.approx(10 * 50e-9 + 30 * 20e-9)
    assert any("times of 120 calls are estimates" in note for note in coverage.notes)


def test_thinned_ranks_stand_for_the_whole_run(tmp_path: Path) -> None:
    """One window in four is kept: times are scaled, counts are exact, and the stretches without events are said so."""
    whole = planted()
    late_rank(whole, rounds=400)
    thin = planted()
    late_rank(thin, rounds=400)
    for rank in thin.ranks:
        rank.level, rank.window_ns = 2, 400_000_000
    exact = watch(tmp_path / "whole", whole).results
    watched_program = watch(tmp_path / "thin", thin).results
    assert watched_program.coverage.kept_share < 0.3
    assert watched_program.coverage.messages == exact.coverage.messages
    assert of_name(watched_program, "late sender")[0] == pytest.approx(of_name(exact, "late sender")[0], rel=0.15)
    assert watched_program.ranks[0].mpi_s == pytest.approx(exact.ranks[0].mpi_s)
    assert watched_program.coverage.matched_share == 1.0
    assert {entry.is_kept for entry in watched_program.slices} == {True, False}
    assert {entry.is_kept for entry in exact.slices} == {True}


def test_classes_hold_counts_waits_and_transfer(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    classes = watch(tmp_path, job).results.classes
    send = next(entry for entry in classes if entry.side == "send")
    receive = next(entry for entry in classes if entry.side == "receive")
    assert (send.call, send.count, send.bytes, send.ranks) == ("MPI_Sendrecv", 160, 16000, 4)
    assert (send.bytes_low, send.bytes_high) == (64, 127)
    assert (send.memory, send.page_bytes, send.is_odd) == ("mapping", 4096, False)
    assert receive.wait_s == pytest.approx(40 * 0.008 / 4)
    assert (send.transfer_s or 0) + (receive.transfer_s or 0) == pytest.approx(40 * 0.001)


def test_a_killed_rank_and_a_missing_one_are_said(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    job.ranks[2].state = RecordState.RUNNING
    job.ranks.pop(1)
    results = watch(tmp_path, job).results
    assert results.program.recorded_ranks == 3
    assert [rank.ended for rank in results.ranks] == ["finalized", "killed", "finalized"]
    notes = " ".join(results.coverage.notes)
    assert "1 of 4 ranks left no readable record" in notes
    assert "did not end with MPI_Finalize: 2" in notes


def test_the_own_cost_is_never_above_the_run(tmp_path: Path) -> None:
    """A second a call, by the record: of two ranks that run for less than that in all."""
    job = planted(2)
    late_rank(job, late=1)
    for rank in job.ranks:
        rank.header["call_cost_ns"] = 10**9
    results = watch(tmp_path, job).results
    assert 0.0 < results.coverage.own_cost_s <= (results.program.span_s or 0.0)


def test_calls_without_events_have_their_time(tmp_path: Path) -> None:
    job = planted(2)
    late_rank(job, late=1)
    job.ranks[0].profile_row("MPI_Comm_rank", 100, count=1_000_000)
    results = watch(tmp_path, job).results
    assert of_name(results, "management")[0] == pytest.approx(0.1)
    assert next(call for call in results.calls if call.name == "MPI_Comm_rank").family == "management"


def test_slices_add_up_to_the_time_in_mpi(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    results = watch(tmp_path, job).results
    for rank, waited_s in zip(results.ranks, of_name(results, "late sender"), strict=True):
        own = [entry for entry in results.slices if entry.rank == rank.rank]
        inside = sum((1 - entry.computing) * (entry.end_s - entry.start_s) for entry in own)
        assert inside == pytest.approx(rank.mpi_s, rel=1e-6)
        waiting = sum(entry.waiting * (entry.end_s - entry.start_s) for entry in own)
        assert waiting == pytest.approx(waited_s, abs=1e-9)
