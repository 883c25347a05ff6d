# SPDX-License-Identifier: Apache-2.0
"""What a rank that others wait for does outside MPI, by samples: its name, what to change, and what that saves."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace as changed

from slowpath.findings.program_pattern import (
    Activity,
    Code,
    Floats,
    Messages,
    ProgramCalls,
    ProgramResources,
    RankShare,
    Sampled,
    SeenPattern,
    grouped,
)
from slowpath.slowpaths.program import excess, outside, waiting
from slowpath.slowpaths.program.repeats import fewer_words
from slowpath.watch.analysis import read_watched
from slowpath.watch.patterns import SMALLER, patterns_of, why_words
from slowpath.watch.record.layout import EventKind
from slowpath.watch.report.page import render_watch_html
from support.program_plants import another_rank, late_rank, polls
from support.watch_record import Job
from support.watched_program import ELSEWHERE, HERE, THERE, Program, calls_in_turn, described, made_calls


def calls_of(plant: Callable[[Program], None], folder: Path) -> ProgramCalls:
    program = Program(4)
    plant(program)
    program.watched(folder)
    return read_watched(folder).calls


def does(sleeping: Mapping[str, float], **shares: float) -> Callable[[int, Floats, Floats], Activity]:
    """Of any stretch; system calls of rank 1, or `of_all`. Args: shares of its length; writes a second."""

    def activity(rank: int, start_s: Floats, end_s: Floats) -> Activity:
        length_s = float((end_s - start_s).sum())
        asleep = {name: share * length_s for name, share in sleeping.items()}
        ran, queued, system = (shares.get(name, 0.0) * length_s for name in ("ran", "queued", "system"))
        system *= rank == 1 or "of_all" in shares
        writes = shares.get("writes", 0.0) * length_s
        return Activity(length_s, 100, asleep, ran, queued, system, 0.0, 0.0,
                        shares.get("bytes_each", 30.0) * writes, 0.0, writes)  # fmt: skip

    return activity


def seen(calls: ProgramCalls) -> SeenPattern:
    (pattern,) = waiting.see(calls)
    return pattern


@pytest.mark.parametrize(
    ("activity", "words", "change"),
    [
        (does({"clock_nanosleep": 0.6}, ran=0.4), "sleeps", "a sleep, files, pipes"),
        (does({"fsync": 0.6}, ran=0.4), "waits in fsync", "a sleep, files, pipes"),
        (does({}, ran=1.0, system=0.5, writes=1e5), "writes (", "write larger pieces"),
        (does({}, ran=1.0, system=0.5, writes=1e3, bytes_each=1e6), "is in system calls", "a sleep, files, pipes"),
        (does({}, ran=0.4, queued=0.6), "computes or has no core", "a core of its own"),
        (does({}, ran=1.0, system=0.5), "computes", "give rank 1 less to compute"),
        (does({}, ran=1.0, system=0.5, writes=1e5, of_all=1), "computes", "give rank 1 less to compute"),
    ],
)
def test_what_a_late_rank_does_is_in_its_name(
    activity: Callable[[int, Floats, Floats], Activity], words: str, change: str, tmp_path: Path
) -> None:
    calls = calls_of(lambda program: late_rank(program, twin=False), tmp_path)
    pattern = seen(dataclasses.replace(calls, activity=activity))
    assert pattern.name.startswith(f"rank 1 is late: it {words}")
    assert change in pattern.change
    assert (pattern.before, "between" in pattern.text) == (True, "{other}" in pattern.text)
    value, low, high = (pattern.sooner_s.sum(axis=0) / pattern.sooner.size).tolist()
    assert 0 < low <= value <= high == pytest.approx(100e-6, rel=1e-3)
    counted = np.array([[len(calls.names), HERE, 1, 10**6]])  # of which no event tells
    asking = dataclasses.replace(calls, names=(*calls.names, "MPI_T_cvar_read"), counted=counted, counted_s=np.ones(1))
    assert bool(waiting.see(dataclasses.replace(asking, activity=activity))) is not words.startswith("computes")


@pytest.mark.parametrize("messages", [False, True])
@pytest.mark.parametrize("second_s", [2.4e-3, 1.8e-3])
def test_of_two_ranks_with_too_much_both_are_given_less(second_s: float, messages: bool, tmp_path: Path) -> None:
    """With less for one alone the others wait for the other one: an even share saves what the first has beyond it."""
    program, work_s = Program(5), np.array([2.4e-3, second_s, 6e-4, 6e-4, 6e-4])
    for _ in range(40):
        program.now = (np.array(program.now) + work_s).tolist()
        sides = [(rank, rank + side) for rank in range(5) for side in (-1, 1) if 0 <= rank + side < 5] * messages
        sent = {pair: program.send(*pair, 2048) for pair in sides}
        for rank, other in sides:
            program.receive(rank, other, sent[other, rank], 2048)
        program.all(size=2048, site=ELSEWHERE)
    (finding,) = program.watched(tmp_path).findings
    assert finding.saved_s == pytest.approx(40 * (work_s.max() - work_s.mean()), rel=0.05)
    assert "give ranks 0 and 1 less to compute there" in (finding.change or "")


def test_a_late_rank_computes_in_the_function_that_takes_it_longer_than_others(tmp_path: Path) -> None:
    calls = calls_of(lambda program: late_rank(program, twin=False), tmp_path)
    own = "relax::{lambda()#1}"  # as C++ has it
    codes = (Code("", own, "x", "x.c", 7), Code("", own, "x", "x.c", 8), Code("exp", "pack", "x", "x.c", 9))
    mine, theirs = (np.flatnonzero(which & np.isfinite(calls.gap_s)) for which in (calls.rank == 1, calls.rank != 1))
    code = np.resize([0, 2, 2, 1, 2, 2, 0, 2], mine.size)  # all pack as long
    late = "rank 1 is late: it computes"
    for kept, words in ((mine.size, f"{late} in {own} (x.c:7)"), (5, late)):
        of_all = (np.append(code[:kept], 0 * theirs + 2), np.append(np.full(kept, 1e-3), np.full(theirs.size, 5e-4)))
        sampled = Sampled(np.append(mine[:kept], theirs), *of_all, codes)
        sampled_calls = dataclasses.replace(calls, activity=does({}, ran=1.0), sampled=sampled)
        assert seen(sampled_calls).name == words
        whole = read_watched(tmp_path)
        assert words in patterns_of(sampled_calls, whole.kept.order, whole.results.sites).findings[0].name


@pytest.mark.parametrize(
    ("activity", "others_s", "words"),
    [
        (does({}, ran=1.0), 1e-4, ["computes"]),
        (does({}, ran=0.4, queued=0.6), 1e-4, []),
        (does({}, ran=0.4, queued=0.6), 1e-5, ["computes on a shared processor"]),
        (lambda *_: None, 1e-4, []),
    ],
)
def test_of_ranks_that_share_processors_only_samples_make_one_late(
    activity: Callable[[int, Floats, Floats], Activity | None], others_s: float, words: list[str], tmp_path: Path
) -> None:
    def plant(program: Program) -> None:
        for _ in range(40):
            program.compute(others_s)
            program.now[1] += 1e-4
            program.all(size=2048, site=ELSEWHERE)

    calls = calls_of(plant, tmp_path)
    ranks = tuple(RankShare(i, "a", frozenset({0, 1}), 2, 1.0, 0.5, 0.1, 1, 0.1, ran_s=0.9) for i in range(4))
    shared = dataclasses.replace(calls, activity=activity, resources=ProgramResources(ranks, 1.0))
    assert [pattern.name for pattern in waiting.see(shared)] == [f"rank 1 is late: it {word}" for word in words]


@pytest.mark.parametrize(("ranks", "name"), [(1, "rank 0 is late: it computes"), (4, "another rank is late at each")])
def test_ranks_meet_in_what_is_waited_for_at_once(ranks: int, name: str, tmp_path: Path) -> None:
    """One rank is late in each of the nonblocking collectives, or another one each time."""

    def plant(program: Program) -> None:
        for number in range(60):
            program.compute(5e-6)
            program.now[number % ranks] += 100e-6
            late_s = max(program.now)
            for rank, at in zip(program.job.ranks, list(program.now), strict=True):
                sent = rank.icollective("MPI_Iallreduce", start_s=at, end_s=at + 1e-6, site=HERE, message_bytes=8)
                rank.wait(sent, start_s=at + 2e-6, end_s=late_s + 5e-6, site=THERE)
            program.now = [late_s + 6e-6] * program.ranks

    calls = dataclasses.replace(calls_of(plant, tmp_path), activity=does({}, ran=1.0))
    assert seen(calls).name.startswith(name)
    told = [pattern.change[:22] for pattern in waiting._in_turns(calls)]  # where ranks share processors
    assert told == ["synchronise once after"] * (ranks > 1)


@pytest.mark.parametrize("call", ["MPI_File_write_at_all_c", "MPI_File_sync"])
def test_ranks_meet_in_collective_calls_on_files(call: str, tmp_path: Path) -> None:
    """Each of which is numbered as a fence is, with another rank late each time; two files take turns."""

    def plant(program: Program) -> None:
        for number in range(120):
            program.now[number // 2 % 4] += 100e-6
            ended_s = max(program.now) + 20e-6
            for rank, at in zip(program.job.ranks, program.now, strict=True):
                rank.event(call, at, ended_s, EventKind(0), sequence=number // 2, communicator=0, site=HERE)
            program.now = [ended_s] * program.ranks

    pattern = seen(calls_of(plant, tmp_path))
    assert pattern.name == f"another rank is late at each {call}"
    assert ("call MPI_File_write_at, which waits for nobody" in pattern.change) is ("_all" in call)
    accounts = {account.name: account.seconds for account in read_watched(tmp_path).results.accounts}
    assert (accounts["wait at N x N"], accounts["files"]) == pytest.approx((120 * 75e-6, 120 * 20e-6), rel=0.05)


@pytest.mark.parametrize(("queued_s", "is_named"), [(1e-3, True), (20e-3, False)])
def test_of_ranks_that_share_processors_another_is_late_each_time_where_queues_do_not_explain_it(
    queued_s: float, is_named: bool, tmp_path: Path
) -> None:
    """Ranks wait 12 ms each, for parts that are even over four of them."""
    calls = calls_of(lambda program: another_rank(program, twin=False), tmp_path)
    ranks = tuple(RankShare(i, "a", frozenset({0, 1}), 2, 1.0, 0.5, queued_s, 1, queued_s) for i in range(4))
    shared = dataclasses.replace(calls, resources=ProgramResources(ranks, 1.0))
    named = [pattern.name for pattern in waiting.see(shared)]
    assert named == ["another rank is late at each MPI_Allreduce"] * is_named


@pytest.mark.parametrize(
    ("ranks", "more", "spread", "is_named"),
    [(2, 0.08, 0.01, False), (2, 0.4, 0.01, True), (4, 0.15, 0.01, True), (4, 0.15, 0.1, False), (2, 0.0, 0.5, False)],
)
def test_a_rank_is_late_where_it_computes_more_than_equal_ranks_do_by_chance(
    ranks: int, more: float, spread: float, is_named: bool, tmp_path: Path
) -> None:
    random, program = np.random.default_rng(3), Program(ranks)
    cores = 1.0 + spread * np.linspace(-0.5, 0.5, ranks) * (ranks > 2)
    for _ in range(60):
        each = 100e-6 * cores * (1.0 + spread * random.uniform(-0.5, 0.5, ranks))
        each[1] += 100e-6 * more
        program.now = [at + float(spent) for at, spent in zip(program.now, each, strict=True)]
        program.all(size=2048, site=ELSEWHERE)
    program.watched(tmp_path)
    named = [pattern.name for pattern in waiting.see(read_watched(tmp_path).calls)]
    assert any(name.startswith("rank 1 is late") for name in named) == is_named
    assert is_named or not any("is late: " in name for name in named)


@pytest.mark.parametrize(("call", "to", "fits"), [("Send", 2, True), ("Send", 1, False), ("Sendrecv", 2, False)])
def test_answers_and_exchanges_take_no_turns(call: str, to: int, fits: bool, tmp_path: Path) -> None:
    """Received from rank 1; 100 us lie between the calls."""
    calls = calls_of(lambda program: late_rank(program, twin=False), tmp_path)
    n, rows = 40, np.arange(40)
    passed = dataclasses.replace(
        calls, **{name: getattr(calls, name)[:n] for name in ("rank", "start_s", "end_s", "communicator", "weight")},
        thread=0 * rows, call=rows % 2, names=("MPI_Recv", f"MPI_{call}"), offset=rows % 2, is_collective=rows < 0,
        messages=dataclasses.replace(calls.messages, arrived=rows[::2]), target=np.where(rows % 2, to, 1),
    )  # fmt: skip
    assert waiting._passed_on(passed, rows[1::2]) is fits


def behind(program: Program) -> None:
    """Ranks 0 and 1 exchange and compute as long; rank 1 takes longer to receive, and so rank 0 waits for it."""
    for _ in range(40):
        program.compute(100e-6)
        sent = [program.send(rank, 1 - rank, 2048) for rank in (0, 1)]
        program.receive(0, 1, sent[1], 2048)
        program.receive(1, 0, program.now[1] + 60e-6, 2048)


def test_a_rank_that_never_waits_takes_no_turns(tmp_path: Path) -> None:
    assert waiting.see(calls_of(behind, tmp_path)) == []


def sleeping_polls(program: Program) -> None:
    """Rank 1 looks for a message each millisecond; rank 0 sends one each 2.5 ms, as long as the others compute."""
    for _ in range(40):
        sent = program.now[0] = program.now[0] + 2.5e-3
        program.now[2:] = [at + 2.5e-3 for at in program.now[2:]]
        for site in (THERE, HERE, HERE):
            at_s = program.now[1] = program.now[1] + 1e-3
            kind = EventKind.WAIT | (EventKind.NOTHING if at_s < sent else EventKind(0))
            program.at(1).event("MPI_Iprobe", at_s, at_s + 1e-6, kind, site=site)
            program.now[1] += 1e-6
        program.receive(1, 0, program.send(0, 1, 2048), 2048, site=THERE)
        program.all(size=2048, site=ELSEWHERE)


@pytest.mark.parametrize("asleep", [0.95, 0.1])
def test_a_sleep_between_two_polls_is_named_where_the_rank_sleeps(asleep: float, tmp_path: Path) -> None:
    calls = calls_of(sleeping_polls, tmp_path)
    calls = dataclasses.replace(calls, activity=does({"clock_nanosleep": asleep}, ran=1 - asleep))
    named = [pattern for pattern in waiting.see(calls) if pattern.name == "sleep between two MPI_Iprobe"]
    assert len(named) == (asleep > 0.5)
    for pattern in named:
        assert "MPI_Mprobe" in pattern.change
        assert np.allclose(pattern.sooner_s[:, 0], 1e-3, rtol=0.01)


@pytest.mark.parametrize("asleep", [0.95, 0.1])
def test_a_sleep_between_one_sided_calls_is_named(asleep: float) -> None:
    calls = calls_in_turn(("MPI_Fetch_and_op", "MPI_Win_flush"), 40)
    calls = dataclasses.replace(calls, start_s=1e3 * calls.start_s, end_s=1e3 * calls.start_s + 1e-6)
    named = waiting.see(dataclasses.replace(calls, activity=does({"clock_nanosleep": asleep}, ran=1 - asleep)))
    assert ["MPI_Probe" not in each.change and "send a message then" in each.change for each in named
            if each.name.startswith("sleep")] == [True] * (asleep > 0.5)  # fmt: skip


@pytest.mark.parametrize("between_s", [10e-6, 0.0])
def test_polls_without_computing_between_them_are_a_wait(between_s: float, tmp_path: Path) -> None:
    calls = calls_of(lambda program: polls(program, twin=False), tmp_path)
    vars(calls)["gap_s"] = np.minimum(calls.gap_s, between_s)
    assert any(pattern.name == "MPI_Test finds nothing" for pattern in waiting.see(calls)) is (between_s > 0)


def test_of_polls_that_are_one_event_what_they_take_is_saved(tmp_path: Path) -> None:
    calls = calls_of(lambda program: polls(program, twin=False), tmp_path)
    saved_s = [next(pattern.saved_s[:, 0].sum() for pattern in waiting.see(each) if pattern.name.startswith("MPI_Test"))
               for each in (calls, dataclasses.replace(calls, weight=0.3 * calls.weight))]  # fmt: skip
    assert saved_s[1] == pytest.approx(0.3 * saved_s[0])


@pytest.mark.parametrize(
    ("work_s", "size", "call_s", "words"),
    [(3e-4, 8, 2e-5, "9. % of that waits for rank 0, which .* between MPI_Recv in .* and MPI_Send in .*: give rank 0"),
     (0.0, 8, 2e-5, r"\d+ % of that is spent in .* themselves: fewer .* it, such as one message"),
     (0.0, 4096, 2e-5, r"\d+ % of that is spent in .* themselves, with 4 KiB each: fewer .* it, such as one message"),
     (0.0, 8, 4e-3, r"\d+ % of that is spent in the calls themselves: fewer would"),
     (0.0, 2**20, 2e-5, r"\d+ % of that moves bytes, 1 MiB a call at [\d.]+ GB/s: fewer bytes would")],
)  # fmt: skip
def test_why_most_time_in_mpi(work_s: float, size: int, call_s: float, words: str | None, tmp_path: Path) -> None:
    program = Program(2, call_s=call_s)
    for _ in range(40):
        program.receive(0, 1, program.send(1, 0, size), size, site=ELSEWHERE)
        program.now[0] += work_s
        program.receive(1, 0, program.send(0, 1, size), size)
    said = program.watched(tmp_path).most
    assert said == words if said is None or words is None else re.match(words, said)
    whole, kinds = read_watched(tmp_path), program.watched(tmp_path).classes[:1]
    sites, shares = whole.results.sites, [RankShare(i, "a", frozenset(), 1, 9, 5, 9, 1, 9) for i in range(2)]
    without = dataclasses.replace(whole.calls, messages=Messages(*[np.zeros(0, np.int64)] * 7))
    assert work_s or why_words(without, sites, kinds) is None, "it is not known what a call completed"
    most = [changed(kinds[0], time_s=10 * kinds[0].time_s)]
    assert why_words(whole.calls, sites, most) is None, "few calls were kept"
    names = tuple("MPI_Iprobe" if name == kinds[0].call else name for name in whole.calls.names)
    probes = dataclasses.replace(without, names=names)
    said = why_words(probes, sites, [changed(kinds[0], call="MPI_Iprobe")])
    assert work_s or "fewer would shorten it, such as one in many steps" in (said or ""), "a poll's time is its own"
    opens = dataclasses.replace(whole.calls, names=(*whole.calls.names, "MPI_File_open"))
    assert "or behind it" in (why_words(opens, sites, [changed(kinds[0], call="MPI_File_open")]) or "")
    loaded = why_words(dataclasses.replace(whole.calls, resources=ProgramResources(tuple(shares), 9.0)), sites, kinds)
    is_queued = "with the queue for a processor: fewer would" in (loaded or "")
    assert work_s or is_queued == (size < 2**16 and call_s < 1e-3)


def test_work_of_some_late_ranks_is_shared_more_evenly_and_that_of_all_is_not(tmp_path: Path) -> None:
    for late, took_s in ((2, 20e-6), (4, 150e-6)):
        program, folder = Program(4), tmp_path / str(late)
        for number in range(40):
            program.compute()
            program.now[number % late] += 300e-6
            program.all(size=2048, took_s=took_s, site=ELSEWHERE)
        kinds, whole = program.watched(folder).classes[:1], read_watched(folder)
        said = why_words(whole.calls, whole.results.sites, kinds) or ""
        assert said.endswith("share what ranks compute there more evenly") is (late == 2)
    told = (program.watched(folder).most, why_words(whole.calls, whole.results.sites, kinds, whole.kept.order))
    less = ["; without any the run may take 0.0060 s [" in (each or "") for each in told]
    assert less == [False, True], "40 times 150 us; a change says more"
    unfit = dataclasses.replace(whole.calls, own_s=np.zeros(len(whole.calls)))
    assert (why_words(unfit, whole.results.sites, kinds) or "").endswith(f"share what ranks compute there {SMALLER}")
    assert re.search(r"waits for 4 ranks, .*; \d+ % of that is spent .*, if the result is not needed each time", said)
    own = dataclasses.replace(whole.calls, names=("MPI_Op_create",), counted=np.zeros((1, 4), np.int64))
    assert ["commutative" in fewer_words(name, own) for name in ("MPI_Reduce", "MPI_Bcast")] == [True, False]


def test_ranks_that_wait_for_one_by_messages_of_their_own_count_once(tmp_path: Path) -> None:
    program = Program(4)
    for _ in range(40):
        program.compute(20e-6)
        program.now[0] += 300e-6
        for rank, at in [(rank, program.send(0, rank)) for rank in (1, 2, 3)]:
            program.receive(rank, 0, at)
    (finding,) = program.watched(tmp_path).findings
    assert finding.name.startswith("rank 0 is late")
    assert finding.saved_s == pytest.approx(40 * 300e-6, rel=0.05)


@pytest.mark.parametrize(("lasts_s", "ended_s"), [(0.0203, 0.031), (0.05, 0.011)])
def test_a_long_wait_for_sends_ends_with_a_receive_right_before(lasts_s: float, ended_s: float, tmp_path: Path) -> None:
    """Of two messages in one wait it is not known whether they go at once."""
    job = Job(2)
    both = [job.ranks[0].isend(1, tag=i, start_s=0.01, end_s=0.0101, message_bytes=14000) for i in (0, 1)]
    job.ranks[0].wait(*both, start_s=0.011, end_s=0.011 + lasts_s)
    for i, at in enumerate((0.02, 0.031)):
        job.ranks[1].receive(0, tag=i, start_s=at, end_s=at + 0.0002, message_bytes=14000)
    job.write(tmp_path / "ranks", 0.1)
    calls = read_watched(described(tmp_path)).calls
    assert abs(calls.waits.until_s[calls.rank == 0].max() - ended_s) < 1e-4


def test_time_that_passes_while_another_rank_is_in_other_calls_says_in_which(tmp_path: Path) -> None:
    program = Program(3, call_s=20e-6)
    for _ in range(40):
        for _ in range(4):
            program.receive(0, 2, program.send(2, 0, 8), 8, site=ELSEWHERE)
        program.receive(1, 0, program.send(0, 1, 8), 8)
    assert "which is in MPI_Recv in" in (program.watched(tmp_path).most or "")


def test_the_critical_path_is_on_the_late_rank_in_the_results_and_on_the_page(tmp_path: Path) -> None:
    program = Program(4)
    late_rank(program, twin=False)
    results = program.watched(tmp_path)
    part = results.path[0]
    assert (part.rank, part.call, part.is_outside) == (1, "MPI_Allreduce", True)
    assert part.share > 0.8
    assert sum(part.share for part in results.path) == pytest.approx(1.0)
    on_path = {rank: [slice.path for slice in results.slices if slice.rank == rank and slice.path] for rank in range(4)}
    assert len(on_path[1]) > 10 * max(len(on_path[rank]) for rank in (0, 2, 3))
    page = render_watch_html(results)
    assert "line s2" in page
    assert "outside MPI, before MPI_Allreduce" in page


def reduced(program: Program, *, leaves_early: bool) -> None:
    """Rank 0, the root, naps before a reduction: in some libraries the others leave before it comes, in others not."""
    for _ in range(40):
        program.compute()
        program.now[0] += 200e-6
        came = list(program.now)
        for rank in program.job.ranks:
            first = max(came[1:]) if leaves_early and rank.rank else max(came)
            rank.collective("MPI_Reduce", start_s=came[rank.rank], end_s=first + 1e-6, message_bytes=8, site=HERE,
                            root=0, start_offset=0)  # fmt: skip
            program.now[rank.rank] = first + 1e-6
        if leaves_early:
            program.now[1:] = [max(program.now)] * 3


@pytest.mark.parametrize("leaves_early", [False, True])
def test_whether_a_reduction_holds_all_ranks_is_seen_in_the_program(leaves_early: bool, tmp_path: Path) -> None:
    calls = calls_of(lambda program: reduced(program, leaves_early=leaves_early), tmp_path)
    assert (calls.meets >= 0).all() == (not leaves_early)
    assert [pattern.name.startswith("rank 0 is late") for pattern in waiting.see(calls)] == [True] * (not leaves_early)


@pytest.mark.parametrize(("pause_s", "processors"), [(1e-3, 1), (1e-3, 2), (1e-3, 8), (1e-6, 2)])
def test_ranks_that_compute_one_after_the_other_are_named(pause_s: float, processors: int) -> None:
    """One rank begins and ends its epoch, and computes in between, while the other waits in a call."""
    calls = dataclasses.replace(calls_in_turn(("MPI_Win_lock", "MPI_Win_unlock"), 20), span_s=0.02)
    round_, turn = (np.tile(part, 2) for part in np.divmod(np.arange(40), 2))
    is_first, at_s = round_ % 2 == calls.rank, round_ * 10e-3
    start_s = at_s + np.where(is_first, turn * pause_s, np.where(turn == 0, 1e-6, 9.9e-3))
    end_s = np.where(turn == 1, at_s + 9.999e-3, np.where(is_first, start_s + 1e-6, at_s + 9.8e-3))
    shares = tuple(RankShare(i, "a", frozenset(range(processors)), 8, 0.2, 0.1, 0.0, 1, 0.0) for i in range(2))
    timed = dataclasses.replace(calls, start_s=start_s, end_s=end_s, resources=ProgramResources(shares, 0.2))
    named = [pattern for pattern in waiting.see(timed) if pattern.name == "ranks compute one after the other"]
    assert len(named) == (pause_s > 1e-4 and processors > 1)
    for pattern in named:
        assert "epoch" in pattern.change
        assert pattern.more_s[0] >= 9 * pause_s


@pytest.mark.parametrize(
    ("call", "source", "gap_s", "receivers", "is_named"),
    [("MPI_Sendrecv", 1, 1e-6, 2, True), ("MPI_Recv", 1, 1e-6, 2, True), ("MPI_Recv", -1, 1e-6, 2, False),
     ("MPI_Sendrecv", 1, 30e-6, 2, False), ("MPI_Wait", 1, 1e-6, 1, False), ("MPI_Rsend", 1, 1e-6, 0, True)],
)  # fmt: skip
def test_a_barrier_beside_messages_is_redundant_where_all_receive_from_named_sources(
    call: str, source: int, gap_s: float, receivers: int, is_named: bool
) -> None:
    calls = calls_in_turn(("MPI_Barrier", call), 20)
    turn = np.tile(np.arange(40), 2)
    moved = dataclasses.replace(
        calls, is_collective=turn % 2 == 0, is_message=turn % 2 == 1, is_one_sided=turn < 0,
        brings=(turn % 2 == 1) & (calls.rank < receivers), group=turn,
        start_s=turn * (1e-6 + gap_s), end_s=turn * (1e-6 + gap_s) + 1e-6, target=np.full(turn.size, source),
    )  # fmt: skip
    seen = [(pattern.name, "in place of MPI_Rsend" in pattern.change) for pattern in waiting.see(moved)]
    assert seen == [("redundant barrier", call == "MPI_Rsend")] * is_named


@pytest.mark.parametrize(("reads", "each_s"), [(0.0, 5e-6), (1e6, 1.2e-6)])
def test_page_faults_take_what_the_kernel_took_where_nothing_else_does(reads: float, each_s: float) -> None:
    share = RankShare(0, "a", frozenset({1}), 2, 0.2, 0.1, 0.0, 1, 0.0, faults=10**4, fault_s=(1e-6,), grown_bytes=0)
    seen = Activity(0.2, 9, {}, 0.1, 0.0, 0.06, 1e4, 0.0, 0.0, reads, 0.0, least_system_s=0.05)
    none = np.zeros(9, dtype=np.int64)
    calls = made_calls(none, np.arange(9) * 1e-3, 1e-6, call=none, site=none, names=("MPI_Send",),
                       resources=ProgramResources((share,), 0.2), activity=lambda *_: seen)  # fmt: skip
    assert outside.mapped_again(calls)[0].each_s == pytest.approx(each_s)


def test_rows_are_grouped_as_unique_groups_them() -> None:
    draw = np.random.default_rng(45)
    for columns in (
        [draw.integers(-3, 4, 500)],
        [draw.integers(0, 3, 500), draw.integers(-1, 2**40, 500)],
        [draw.integers(0, 5, 500), draw.integers(-9, 9, 500), draw.integers(0, 2, 500)],
    ):
        number, first = grouped(*columns)
        table = np.stack(columns, axis=1)
        _, of_first, of_number = np.unique(table, axis=0, return_index=True, return_inverse=True)
        assert number.tolist() == of_number.reshape(-1).tolist()
        assert first.tolist() == of_first.tolist()


@pytest.mark.parametrize(("name", "of_run", "at"), [("x", 0.2, "op.c:4"), ("x", 0.05, None), ("python3", 0.2, "")])
def test_operations_of_the_programs_own_are_named(name: str, of_run: float, at: str | None, tmp_path: Path) -> None:
    calls = calls_of(lambda program: late_rank(program, twin=False), tmp_path)
    every, each_s = np.arange(len(calls)), np.full(len(calls), of_run * calls.span_s * calls.ranks / len(calls))
    back = Sampled(every, 0 * every, each_s, (Code("", "best", name, "op.c", 4),))
    seen = [each for each in excess.see(dataclasses.replace(calls, called_back=back)) if "operations" in each.name]
    assert [each.at for each in seen] == [at] * (at is not None)
    assert ["numpy" in each.change for each in seen] == [at == ""] * len(seen)
    assert ["if it is commutative" in each.change for each in seen] == [bool(at)] * len(seen)


@pytest.mark.parametrize("in_turn", [True, False])
def test_a_fixed_order_of_receives_that_holds_answers_up_is_told(in_turn: bool, tmp_path: Path) -> None:
    """Rank 0 gives tasks, of which one in three takes 1 ms: 27.2 ms, or 16.8 where nobody waits for a third."""
    program = Program(4)
    came = {rank: program.send(rank, 0, 24) for rank in (1, 2, 3)}
    for number in range(120):
        rank = 1 + number % 3 if in_turn else min(came, key=lambda rank: came[rank])
        program.receive(0, rank, came[rank], 24)
        program.receive(rank, 0, program.send(0, rank, 24, site=ELSEWHERE), 24, site=ELSEWHERE)
        program.now[rank] += 1e-3 if number % 3 == number // 3 % 3 else 1e-4
        came[rank] = program.send(rank, 0, 24)
    told = [each for each in program.watched(tmp_path).findings if each.name == "messages taken in a fixed order"]
    assert len(told) == in_turn
    for finding in told:
        assert finding.saved_s == pytest.approx(10.4e-3, rel=0.05)


@pytest.mark.parametrize("order", ["one", "rotated", "to one"])
def test_an_order_in_which_all_ranks_send_to_one_after_the_other_is_told(order: str, tmp_path: Path) -> None:
    """Each of four ranks sends 1 MiB, which takes 100 us, to each other one: 1.2 ms a round, or 0.3 at once."""
    program = Program(4)
    for step in [*range({"one": 4, "rotated": 3, "to one": 1}[order])] * 40:
        begun_s = list(program.now)
        for source in range(4):
            to = (source + step + 1) % 4 if order == "rotated" else step
            posted_s = begun_s[to] if order == "rotated" else program.now[to]
            end_s = max(begun_s[source], posted_s) + 1e-4
            if source != to:
                program.at(source).send(to, start_s=begun_s[source], end_s=end_s, message_bytes=2**20, site=HERE)
                program.at(to).receive(source, start_s=posted_s, end_s=end_s, message_bytes=2**20, site=THERE)
                program.now[source] = program.now[to] = end_s
    told = [each for each in program.watched(tmp_path).findings if each.name == "all ranks exchange in one order"]
    assert [15e-3 <= (each.saved_s or 0.0) <= 32e-3 for each in told] == [True] * (order == "one"), "32 ms are saved"


@pytest.mark.parametrize("late", ["origin", "target"])
def test_an_epoch_of_some_ranks_waits_for_the_side_that_is_late(late: str, tmp_path: Path) -> None:
    """Rank 1 puts into rank 0's window, and one of them computes 1 ms before each epoch; ranks 2 and 3 do not care."""
    program, wait = Program(4), EventKind.ONE_SIDED | EventKind.WAIT
    for number in range(40):
        program.now[late == "origin"] += 1e-3
        posted_s, started_s = program.now[:2]
        ended_s = max(posted_s, started_s) + 30e-6
        for rank, call, begun_s, until_s, kind, peer in (
            (0, "MPI_Win_post", posted_s, posted_s + 5e-6, EventKind.ONE_SIDED, -1),
            (0, "MPI_Win_wait", posted_s + 6e-6, ended_s, wait, -1),
            (1, "MPI_Win_start", started_s, started_s + 5e-6, EventKind.ONE_SIDED, -1),
            (1, "MPI_Put", started_s + 6e-6, started_s + 9e-6, EventKind.ONE_SIDED | EventKind.SEND, 0),
            (1, "MPI_Win_complete", started_s + 10e-6, ended_s, wait, -1),
        ):
            program.at(rank).event(call, begun_s, until_s, kind, peer=peer, sequence=number, site=HERE + rank)
        program.now[:2] = [ended_s + 1e-6] * 2
    results = program.watched(tmp_path)
    assert [each.name[:14] for each in results.findings] == [f"rank {int(late == 'origin')} is late"]
    waits_s = {account.name: account.by_rank[late == "target"] for account in results.accounts}
    assert waits_s["wait at fence"] == pytest.approx(40e-3, rel=0.05)
