# SPDX-License-Identifier: Apache-2.0
"""Loops of polls: which are one call that waits, which are not, and what their time becomes in the profile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.watch.attributed import Attributed, TimePart, attributed
from slowpath.watch.record.job import read_job
from slowpath.watch.record.layout import EventKind
from slowpath.watch.totals import call_seconds, rank_times, time_weights
from support.watch_record import Job, Rank

LOOP = 50e-6  # of polls without a pause, which are one event


def read(tmp_path: Path, job: Job) -> Attributed:
    job.write(tmp_path / "ranks")
    return attributed(read_job(tmp_path))


def polls(rank: Rank, begin_s: float, end_s: float, gap_s: float, poll_s: float = LOOP, site: int = 0) -> float:
    """Polls in vain up to a time; returns when the last one ended."""
    at_s = begin_s
    while at_s + poll_s + gap_s < end_s:
        rank.event("MPI_Test", at_s, at_s + poll_s, EventKind.NOTHING | EventKind.WAIT, requests=1, site=site)
        at_s += poll_s + gap_s
    return at_s


def late(gap_s: float, poll_s: float = LOOP) -> tuple[Job, Rank, int]:
    """Rank 1 polls from 10 ms on for a message that is sent at 30 ms, and finds it at 31 ms."""
    job = Job(2)
    sender, receiver = job.ranks
    sender.send(1, start_s=0.030, end_s=0.0305)
    request = receiver.irecv(0, start_s=0.0099, end_s=0.010)
    at_s = polls(receiver, 0.010, 0.031, gap_s, poll_s)
    receiver.wait(request, start_s=at_s, end_s=at_s + 1e-6, call="MPI_Test")
    return job, receiver, request


def waited(found: Attributed) -> float:
    mine = found.events.rank == 1
    return float(found.split.parts_s[mine, TimePart.LATE_SENDER].sum())


def test_polls_without_a_pause_are_one_call_that_waits(tmp_path: Path) -> None:
    found = read(tmp_path, late(gap_s=3e-6)[0])
    assert waited(found) == pytest.approx(0.020, rel=1e-3)
    assert found.world.polls[0] == 0
    assert found.world.polls[1] > 300


def test_its_time_is_in_the_profile_and_is_no_cost_of_the_watch(tmp_path: Path) -> None:
    found = read(tmp_path, late(gap_s=3e-6)[0])
    weight = time_weights(found.events, found.world, np.flatnonzero(found.events.is_timed))
    time = rank_times(found, weight, call_seconds(found.world))[1]
    assert time.mpi_s == pytest.approx(0.0211, rel=0.02)
    assert time.late_sender_s == pytest.approx(0.020, rel=0.02)


def test_the_time_of_mpi_init_leaves_it_its_own(tmp_path: Path) -> None:
    """A thread's total holds MPI_Init, which the run does not."""
    job, receiver, _ = late(gap_s=3e-6)
    receiver.profile_row("MPI_Init", 300_000_000, 1)
    found = read(tmp_path, job)
    weight = time_weights(found.events, found.world, np.flatnonzero(found.events.is_timed))
    assert rank_times(found, weight, call_seconds(found.world))[1].mpi_s == pytest.approx(0.0211, rel=0.02)


@pytest.mark.parametrize(
    ("gap_s", "poll_s"),
    [(10e-6, 0.2e-6), (1e-3, 100e-6), (30e-6, LOOP)],
    ids=["computes between short polls", "computes between polls that move much", "computes half of the time"],
)
def test_polls_between_computing_stay_calls_of_their_own(tmp_path: Path, gap_s: float, poll_s: float) -> None:
    found = read(tmp_path, late(gap_s, poll_s)[0])
    assert waited(found) < 1e-3
    assert not any(found.world.polls)


def test_a_rank_that_lost_its_processor_while_it_polled_still_waits(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.0305)
    receiver = job.ranks[1]
    request = receiver.irecv(0, start_s=0.0099, end_s=0.010)
    polls(receiver, 0.010, 0.016, 3e-6)
    at_s = polls(receiver, 0.024, 0.031, 3e-6)
    receiver.wait(request, start_s=at_s, end_s=at_s + 1e-6, call="MPI_Test")
    assert waited(read(tmp_path, job)) == pytest.approx(0.020, rel=1e-3)


def test_a_call_between_the_polls_ends_the_loop(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.0305)
    receiver = job.ranks[1]
    request = receiver.irecv(0, start_s=0.0099, end_s=0.010)
    at_s = polls(receiver, 0.010, 0.016, 3e-6)
    receiver.event("MPI_Comm_rank", at_s, at_s + 1e-6, EventKind(0))
    at_s = polls(receiver, at_s + 2e-6, 0.031, 3e-6)
    receiver.wait(request, start_s=at_s, end_s=at_s + 1e-6, call="MPI_Test")
    assert waited(read(tmp_path, job)) == pytest.approx(0.014, rel=0.02)


def test_polls_at_two_places_in_turn_are_one_loop(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.0305)
    receiver = job.ranks[1]
    here, there = receiver.site(0x1000), receiver.site(0x2000)
    request = receiver.irecv(0, start_s=0.0099, end_s=0.010)
    at_s = 0.010
    while at_s < 0.0305:
        receiver.event("MPI_Test", at_s, at_s + 1e-7, EventKind.NOTHING | EventKind.WAIT, requests=1, site=here)
        receiver.event("MPI_Test", at_s + 2e-7, at_s + LOOP, EventKind.NOTHING | EventKind.WAIT, requests=1, site=there)
        at_s += LOOP + 1e-6
    receiver.wait(request, start_s=at_s, end_s=at_s + 1e-6, call="MPI_Test", site=here)
    found = read(tmp_path, job)
    assert waited(found) == pytest.approx(0.020, rel=1e-3)
    weight = time_weights(found.events, found.world, np.flatnonzero(found.events.is_timed))
    time = rank_times(found, weight, call_seconds(found.world))[1]
    assert time.mpi_s == pytest.approx(at_s - 0.0099, rel=0.01)


def test_polls_that_never_find_anything_wait_for_nobody(tmp_path: Path) -> None:
    job = Job(2)
    polls(job.ranks[1], 0.010, 0.031, 3e-6)
    found = read(tmp_path, job)
    assert waited(found) == 0
    assert not any(found.world.polls)
