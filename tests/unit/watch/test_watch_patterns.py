# SPDX-License-Identifier: Apache-2.0
"""Calls that a program could do without: each pattern is named where it was planted, its corrected twin is clean."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from slowpath.slowpaths import placement
from slowpath.slowpaths.program import sp056_receives_late
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS
from slowpath.watch.record.layout import EventKind
from slowpath.watch.results import WaitKind, WatchFinding, WatchResults
from support.program_plants import PLANTS, hot_spot, new_buffers
from support.watched_program import CALL_S, ELSEWHERE, HERE, ITERATIONS, STEP_S, THERE, Program

RANKS = {"SP054": 8}


def found(code: str, twin: bool, folder: Path) -> tuple[WatchResults, list[WatchFinding]]:
    program = Program(RANKS.get(code, 4))
    PLANTS[code](program, twin)
    results = program.watched(folder)
    return results, list(results.findings)


def test_every_pattern_is_planted() -> None:
    """Those about processors and memory are planted in records: tests/unit/watch/test_watch_shares.py."""
    assert sorted(PLANTS) == [path.code for path in PROGRAM_SLOW_PATHS if path not in placement.FAMILY]


def test_waits_that_are_named_are_kinds_of_waits() -> None:
    assert {path.is_wait for path in PROGRAM_SLOW_PATHS} <= {"", *get_args(WaitKind)}


@pytest.mark.parametrize("code", list(PLANTS))
def test_what_is_planted_is_named_alone_at_its_place(code: str, tmp_path: Path) -> None:
    results, findings = found(code, False, tmp_path)
    assert {finding.rule for finding in findings} == {code}
    assert len(findings) == 1
    assert findings[0].status == "estimated"
    assert findings[0].sites
    assert results.verdict[0].endswith("could be saved") or not findings[0].saved_s


@pytest.mark.parametrize("code", list(PLANTS))
def test_the_corrected_twin_is_clean(code: str, tmp_path: Path) -> None:
    assert found(code, True, tmp_path)[1] == []


@pytest.mark.parametrize(
    "code", ["SP049", "SP050", "SP051", "SP052", "SP053", "SP055", "SP056", "SP058", "SP059", "SP075", "SP076", "SP077"]
)
def test_the_estimate_is_the_time_that_the_twin_takes_less(code: str, tmp_path: Path) -> None:
    faulty, findings = found(code, False, tmp_path / "faulty")
    clean, _ = found(code, True, tmp_path / "clean")
    less_s = (faulty.program.span_s or 0.0) - (clean.program.span_s or 0.0)
    steps_s = sum(finding.messages for finding in findings) * STEP_S  # loops' steps are no calls
    assert sum(finding.saved_s or 0.0 for finding in findings) == pytest.approx(less_s, abs=steps_s + 0.1 * less_s)
    for finding in findings:
        assert finding.saved_interval is not None
        assert finding.saved_interval[0] <= (finding.saved_s or 0.0) <= finding.saved_interval[1]
    assert faulty.saved_s == pytest.approx(sum(finding.saved_s or 0.0 for finding in findings), rel=0.05)


def test_a_rank_that_waited_before_it_computed_as_long_as_others_does_not_compute_longer(tmp_path: Path) -> None:
    """Rank 0 is outside MPI while rank 1 waits for it, but no longer than rank 1 was: its own wait made it late."""
    results, _ = found("SP075", False, tmp_path)
    wait = next(wait for wait in results.waits if wait.kind == "collective imbalance")
    assert (wait.culprit, wait.began) == (0, "inside MPI")
    program = Program(2)
    for _ in range(40):
        program.now[0] += 1e-3
        program.all(size=2048, site=ELSEWHERE)
    wait = next(wait for wait in program.watched(tmp_path / "longer").waits if wait.kind == "collective imbalance")
    assert (wait.culprit, wait.began) == (0, "outside MPI")


@pytest.mark.parametrize(("count", "freed", "is_named"), [(2000, 0, True), (2000, 2000, False), (500, 0, False)])
def test_datatypes_that_are_never_freed_are_named(count: int, freed: int, is_named: bool, tmp_path: Path) -> None:
    program = Program(2)
    for _ in range(20):
        program.compute()
        program.all(size=2048, site=ELSEWHERE)
    for rank in program.job.ranks:
        rank.profile_row("MPI_Type_vector", 50, count, site=HERE)
        rank.profile_row("MPI_Type_free", 50, freed, site=THERE)
    rules = {finding.rule for finding in program.watched(tmp_path).findings}
    assert ("SP057" in rules) is is_named


@pytest.mark.parametrize(
    ("count", "completed", "freed", "is_named"),
    [(200, 0, 0, True), (200, 10, 0, True), (200, 200, 0, False), (200, 100, 0, False), (50, 0, 0, False),
     (200, 0, 200, False)],
)  # fmt: skip
def test_requests_that_are_never_completed_are_named(
    count: int, completed: int, freed: int, is_named: bool, tmp_path: Path
) -> None:
    program = Program(2)
    for number in range(count):
        program.compute(10e-6)
        start = program.now[0]
        request = program.at(0).isend(1, start_s=start, end_s=start + CALL_S, site=HERE)
        program.now[0] = start + CALL_S + STEP_S
        if number < completed:
            program.at(0).wait(request, start_s=program.now[0], end_s=program.now[0] + CALL_S, call="MPI_Wait")
            program.now[0] += CALL_S
        program.receive(1, 0, start)
    if freed:
        program.at(0).profile_row("MPI_Request_free", 50, freed, site=ELSEWHERE)
    findings = [finding for finding in program.watched(tmp_path).findings if finding.rule == "SP057"]
    assert bool(findings) is is_named
    for finding in findings:
        assert f"{count - completed:,} requests by MPI_Isend" in finding.text


def test_a_receiver_that_computes_since_both_met_begins_the_delay_itself(tmp_path: Path) -> None:
    """Rank 1 waits for rank 0 in the collective, but not since: it computes before it receives."""
    results, _ = found("SP076", False, tmp_path)
    wait = next(wait for wait in results.waits if wait.kind == "late receiver")
    assert (wait.culprit, wait.began) == (1, "outside MPI")
    wait = next(wait for wait in results.waits if wait.kind == "collective imbalance")
    assert (wait.culprit, wait.began) == (0, "inside MPI")  # it computes no longer than rank 1 from one to the next


@pytest.mark.parametrize(("away_every", "is_named"), [(1, True), (3, False)])
def test_a_target_that_is_away_now_and_then_had_no_core(away_every: int, is_named: bool, tmp_path: Path) -> None:
    program = Program(2)
    for number in range(60):
        start = program.now[0]
        program.now[1] += 1e-3 if number % away_every == 0 else 5e-6
        program.at(0).event("MPI_Win_lock", start, program.now[1] + 5e-6, EventKind.ONE_SIDED | EventKind.WAIT, peer=1)
        program.now[0] = program.now[1] + 1e-3
        program.all(size=2048, site=ELSEWHERE, took_s=5e-6)
    rules = {finding.rule for finding in program.watched(tmp_path).findings}
    assert ("SP075" in rules) is is_named


def test_barriers_on_both_sides_of_a_collective_are_priced_together(tmp_path: Path) -> None:
    """Each of the two takes 0.6 % of the run, which alone is worth no line."""
    program = Program(4)
    for _ in range(500):
        program.compute(320e-6)
        program.all("MPI_Barrier", size=0, site=THERE, took_s=2e-6)
        program.all(size=64, took_s=4e-6)
        program.all("MPI_Barrier", size=0, site=ELSEWHERE, took_s=2e-6)
    results = program.watched(tmp_path)
    (finding,) = results.findings
    assert finding.rule == "SP053"
    assert {results.sites[site].offset for site in finding.sites} == {0x1000 * THERE, 0x1000 * ELSEWHERE}
    assert "before and after MPI_Allreduce" in finding.text
    assert (finding.saved_s or 0.0) / 2 < 0.01 * (results.program.span_s or 0.0) <= (finding.saved_s or 0.0)


def test_a_search_that_takes_no_longer_for_more_messages_is_not_named() -> None:
    """Receives that pass over hundreds and take 0.5 to 1.5 us by chance: the fastest twentieth is no shorter search."""
    random = np.random.default_rng(1)
    passed = np.arange(600)
    own_s = random.uniform(0.5e-6, 1.5e-6, passed.size)
    assert np.median(own_s) >= sp056_receives_late.LONGER * np.percentile(own_s, sp056_receives_late.FASTEST)
    assert not sp056_receives_late.grows(own_s, passed)
    assert sp056_receives_late.grows(own_s + passed * 10e-9, passed)


def test_a_record_that_begins_within_a_round_shows_the_hot_spot_as_well(tmp_path: Path) -> None:
    """As a window of a thinned record does: the rest of a round comes first."""
    program = Program(4)
    every = [(rank, other) for rank in range(4) for other in [one for one in range(4) if one != rank][1:]]
    sent = [program.send(*pair, 2**18) for pair in every]
    for (rank, other), at in zip(every, sent, strict=True):
        program.receive(other, rank, at, 2**18)
    program.all(size=2048, site=ELSEWHERE)
    hot_spot(program, twin=False)
    (finding,) = program.watched(tmp_path).findings
    assert finding.rule == "SP049"
    assert finding.messages == 3 * 40
    assert "rank 0" in finding.text


def rounds_to_all(program: Program, from_zero: bool, apart_s: float, more_s: float = 0.0) -> None:
    """Rounds of long messages to all others, from rank 0 or from the neighbour on, receives posted first.

    The ranks are behind by multiples of `apart_s`, another one the most in each round; each computes `more_s` longer
    than the one before it.
    """
    ranks, took_s, length = 4, 20e-6, 2**18
    for number in range(40):
        late_s = [(rank + number) % ranks * apart_s + rank * more_s for rank in range(ranks)]
        begin_s = [at + 100e-6 + late_s[rank] for rank, at in enumerate(program.now)]
        posted_s = [at + ranks * 1e-6 for at in begin_s]
        requests: list[list[int]] = [[] for _ in range(ranks)]
        for rank in range(ranks):
            for at, other in enumerate(one for one in range(ranks) if one != rank):
                start_s = begin_s[rank] + at * 1e-6
                fields = {"start_s": start_s, "end_s": start_s + 0.2e-6, "message_bytes": length, "site": THERE}
                requests[rank].append(program.at(rank).irecv(other, **fields))
        free_s, ends_s = list(posted_s), [list[float]() for _ in range(ranks)]
        for rank in range(ranks):
            for other in range(ranks) if from_zero else [(rank + step) % ranks for step in range(1, ranks)]:
                if other != rank:
                    end_s = max(free_s[rank], posted_s[other]) + took_s
                    program.at(rank).send(other, start_s=free_s[rank], end_s=end_s, message_bytes=length, site=HERE)
                    free_s[rank] = end_s + STEP_S
                    ends_s[other].append(end_s)
        for rank in range(ranks):
            end_s = max(free_s[rank], *ends_s[rank]) + CALL_S
            program.at(rank).wait(*requests[rank], start_s=free_s[rank], end_s=end_s, site=ELSEWHERE)
            program.now[rank] = end_s + STEP_S


def test_rounds_from_rank_0_whose_sends_wait_for_ranks_that_are_behind_are_a_hot_spot(tmp_path: Path) -> None:
    """The first messages take no longer than others. A rank may be late by itself: nothing is saved for certain."""
    program = Program(4)
    rounds_to_all(program, from_zero=True, apart_s=30e-6)
    (finding,) = program.watched(tmp_path).findings
    assert finding.rule == "SP049"
    assert "rank 0" in finding.text
    assert "wait for their receive" in finding.text
    assert (finding.saved_s or 0.0) > 0.0
    assert finding.saved_interval is not None
    assert finding.saved_interval[0] == 0.0


@pytest.mark.parametrize(
    ("from_zero", "apart_s", "more_s"), [(True, 0.0, 0.0), (False, 30e-6, 0.0), (True, 0.0, 30e-6)]
)
def test_rounds_that_begin_apart_or_wait_for_nobody_or_for_a_rank_that_computes_are_no_hot_spot(
    from_zero: bool, apart_s: float, more_s: float, tmp_path: Path
) -> None:
    program = Program(4)
    rounds_to_all(program, from_zero, apart_s, more_s)
    assert not [one for one in program.watched(tmp_path).findings if one.rule == "SP049"]


def without_room(program: Program, twin: bool, room: int = 64) -> None:
    """There is room for so many messages; a sender of more waits until the receiver has searched the round before."""
    count = 400
    for _ in range(8):
        program.compute()
        sent = []
        for number in range(count):
            starts = program.now[0]
            if not twin and number >= room and program.now[1] > starts:
                took_s, program.call_s = program.call_s, program.now[1] - starts + CALL_S
                sent.append(program.send(0, 1, 2048, tag=number))
                program.call_s = took_s
            else:
                sent.append(program.send(0, 1, 2048, tag=number))
            if twin:
                program.receive(1, 0, sent[number], 2048, tag=number)
        program.all("MPI_Barrier", size=0, site=ELSEWHERE)
        for number in () if twin else reversed(range(count)):
            program.call_s = CALL_S + number * 30e-9
            program.receive(1, 0, sent[number], 2048, tag=number)
        program.call_s = CALL_S
    program.all(size=2048, site=ELSEWHERE)


def test_a_sender_that_waits_for_room_while_its_receiver_searches_is_priced(tmp_path: Path) -> None:
    spans = []
    for twin in (False, True):
        program = Program(4)
        without_room(program, twin)
        results = program.watched(tmp_path / str(twin))
        spans.append(results.program.span_s or 0.0)
        if twin:
            assert not results.findings
        else:
            (finding,) = results.findings
    less_s = spans[0] - spans[1]
    assert finding.rule == "SP056"
    assert [results.sites[site].offset for site in finding.sites] == [0x1000 * THERE, 0x1000 * HERE]
    assert "for room" in finding.text
    assert finding.saved_s == pytest.approx(less_s, rel=0.25)
    assert finding.saved_interval is not None
    assert 0.0 < finding.saved_interval[0] < less_s < 1.1 * finding.saved_interval[1]  # the last round is received late


def test_a_sender_with_room_for_all_messages_waits_for_none(tmp_path: Path) -> None:
    """Its receiver searches as long, and it is ahead of it: the sends are no part of the price."""
    program = Program(4)
    without_room(program, twin=False, room=400)
    (finding,) = program.watched(tmp_path).findings
    assert "for room" not in finding.text
    assert len(finding.sites) == 1


def test_rounds_in_which_all_send_at_once_are_no_chain(tmp_path: Path) -> None:
    program = Program(4)
    for number in range(100):
        program.now = [at + 0.3e-6 * ((7 * rank + 3 * number) % 5) for rank, at in enumerate(program.now)]
        sent = [program.send(rank, (rank + 1) % 4, 2048, offset=64) for rank in range(4)]
        program.compute(20e-6)
        for rank in range(4):
            program.receive(rank, (rank + 3) % 4, sent[(rank + 3) % 4], 2048, offset=4096)
    assert not program.watched(tmp_path).findings


def test_several_that_are_made_together_in_each_iteration_are_named(tmp_path: Path) -> None:
    program = Program(4)
    for _ in range(ITERATIONS):
        program.compute()
        for _ in range(4):
            program.all("MPI_Win_create", size=0, took_s=30e-6)
        program.all(size=2048, site=ELSEWHERE, took_s=4e-6)
        for _ in range(4):
            program.all("MPI_Win_free", size=0, site=THERE, took_s=20e-6)
    (finding,) = program.watched(tmp_path).findings
    assert (finding.rule, finding.messages) == ("SP052", 4 * 4 * ITERATIONS)
    assert finding.saved_s == pytest.approx((ITERATIONS - 1) * 4 * 50e-6, rel=0.05)


def test_buffers_that_are_made_and_kept_are_not_named(tmp_path: Path) -> None:
    program = Program(4)
    new_buffers(program, False)
    for rank in program.job.ranks:
        rank.text = [(key, value.replace(f"resident_bytes={2**24}", f"resident_bytes={2**27}"))
                     if value.startswith("end") else (key, value) for key, value in rank.text]  # fmt: skip
    assert list(program.watched(tmp_path).findings) == []
