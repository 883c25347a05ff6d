# SPDX-License-Identifier: Apache-2.0
"""Who waits for whom: the neighbour that came last, never a rank that was there before."""

from __future__ import annotations

from slowpath.core.study_results import TimelineInterval, TimelineWait
from slowpath.experiments.cannon.entry import waits


def one(rank: int, part: str, begin_s: float, end_s: float, step: int = 0) -> TimelineInterval:
    return TimelineInterval(rank=rank, part=part, step=step, begin_s=begin_s, end_s=end_s)


def wait(rank: int, last: int, step: int, begin_s: float, until_s: float) -> TimelineWait:
    return TimelineWait(rank=rank, last=last, step=step, begin_s=begin_s, until_s=until_s)


def test_the_late_rank_is_named() -> None:
    found = waits([one(0, "dgemm", 0, 1), one(1, "dgemm", 0, 4), one(0, "wait", 1, 5), one(1, "wait", 4, 5)], (1, 2))
    assert found == [wait(0, 1, 0, 1, 4)]


def test_only_neighbours_count_unless_all_synchronise() -> None:
    """On a 3 x 3 grid rank 4 is no neighbour of rank 0; in a fence it is."""
    base = [one(rank, "dgemm", 0, 1) for rank in range(9) if rank != 4] + [one(4, "dgemm", 0, 8)]

    def found(part: str) -> list[tuple[int, int]]:
        parts = [one(rank, part, 8.0 if rank == 4 else 1.0, 9.0) for rank in range(9)]
        return sorted((found.rank, found.last) for found in waits(base + parts, (3, 3)))

    assert found("wait") == [(1, 4), (3, 4), (5, 4), (7, 4)]
    assert found("synchronise") == [(rank, 4) for rank in range(9) if rank != 4]


def test_steps_and_short_waits_are_distinguished() -> None:
    parts = [one(0, "wait", 1, 2, 0), one(1, "wait", 5, 6, 1), one(0, "dgemm", 2, 100)]
    assert waits(parts, (1, 2)) == []  # nobody else communicates in step 0
    parts = [one(0, "wait", 1, 2), one(1, "wait", 1.5, 2), one(0, "dgemm", 2, 100)]
    assert waits(parts, (1, 2)) == []  # half of 1 in 99 is too short
    assert waits(parts, (1, 2), least=0.001) == [wait(0, 1, 0, 1, 1.5)]
    assert waits([], (1, 2)) == []
