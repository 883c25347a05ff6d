# SPDX-License-Identifier: Apache-2.0
"""What a rank did outside MPI, by samples: shares of running and of system calls, and what the kernel counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.findings.program_pattern import Activity
from slowpath.watch.record.activity import activity
from slowpath.watch.record.job import ticks_of
from slowpath.watch.record.reader import RankRecord, read_rank
from support.watch_record import BASE_NS, Rank


def record_of(rank: Rank, folder: Path) -> RankRecord:
    path = folder / "a.watch"
    path.write_bytes(rank.content(end_s=10.0))
    return read_rank(path)


def between(record: RankRecord, *stretches: tuple[float, float]) -> Activity | None:
    (clock,), _ = ticks_of([record])
    start_s, end_s = (np.array([stretch[i] for stretch in stretches]) + BASE_NS * 1e-9 for i in (0, 1))
    return activity(record, clock, start_s, end_s)


def sampled() -> Rank:
    """Half of the time it sleeps: in a timer, for a page and in what has no name; it touches 100 pages a second."""
    rank = Rank(0, 2)
    rank.say("machine", "x86_64")
    sleeps = [("S", 230), ("D", -1), ("S", 9999), ("S", -3)]
    for i in range(400):
        state, call = sleeps[i // 2 % 4] if i % 2 else ("R", -2)
        rank.sample(i * 0.01, state, call, ran_ns=i * 5_000_000, waited_ns=i * 1_000_000, minor_faults=7 + i,
                    written_bytes=1000 * i)  # fmt: skip
    return rank


def test_shares_are_those_of_the_samples_and_sums_those_of_the_kernel(tmp_path: Path) -> None:
    seen = between(record_of(sampled(), tmp_path), (0.5, 1.5), (2.0, 3.0))
    assert seen is not None
    assert seen.length_s == pytest.approx(2.0)
    assert seen.samples == 200
    assert seen.slept_s == pytest.approx(1.0, rel=0.02)
    assert set(seen.sleeping_s) == {"clock_nanosleep", "a page", "system call 9999", "not known"}
    assert seen.sleeping_s["clock_nanosleep"] == pytest.approx(0.25, rel=0.05)
    assert seen.ran_s == pytest.approx(1.0, rel=0.02)
    assert seen.minor_faults == pytest.approx(200, rel=0.02)
    assert seen.written_bytes == pytest.approx(200_000, rel=0.02)
    assert seen.queued_s == pytest.approx(0.2, rel=0.02)


def test_samples_that_come_more_rarely_stand_for_more(tmp_path: Path) -> None:
    rank = Rank(0, 2)
    for i in range(100):
        rank.sample(i * 0.01)
    for i in range(20):
        rank.sample(1.0 + i * 0.05, "S", 35)
    seen = between(record_of(rank, tmp_path), (0.0, 2.0))
    assert seen is not None
    assert sum(seen.sleeping_s.values()) == pytest.approx(1.0, rel=0.05)


def test_too_few_samples_say_nothing(tmp_path: Path) -> None:
    record = record_of(sampled(), tmp_path)
    assert between(record, (0.5, 0.515)) is None
    assert between(record) is None
    assert between(record_of(Rank(0, 2), tmp_path), (0.0, 1.0)) is None


def test_a_sample_that_comes_twice_counts_once(tmp_path: Path) -> None:
    rank = sampled()
    rank.rows["samples"][10:10] = rank.rows["samples"][:10]
    assert record_of(rank, tmp_path).samples.size == 400
