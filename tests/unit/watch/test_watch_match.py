# SPDX-License-Identifier: Apache-2.0
"""Matching and attribution by their laws, on programs that are simulated: whatever is sent, when and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowpath.watch.attributed import Presence, TimePart, attributed
from slowpath.watch.match import hashed
from slowpath.watch.record.job import read_job
from support.watch_record import Job

RANKS = 3
SYNTHETIC = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MESSAGE = st.tuples(
    st.integers(0, RANKS - 1),
    st.integers(1, RANKS - 1),
    st.integers(0, 2),
    st.booleans(),
    st.integers(0, 5),
    st.integers(0, 5),
)


@dataclass
class Simulated:
    """A program of blocking calls, one message after the other. late_s: what each receive truly waited for its send."""

    job: Job
    late_s: list[float]
    tags: list[int]


def simulated(messages: list[tuple[int, int, int, bool, int, int]]) -> Simulated:
    """Ranks compute before each call; short sends return at once, long ones once their receive has begun."""
    job, clock = Job(RANKS), [0.001] * RANKS
    late, tags = [], []
    for source, shift, tag, is_long, before_send, before_receive in messages:
        target = (source + shift) % RANKS
        send_at = clock[source] + 0.001 * before_send + 1e-5
        receive_at = clock[target] + 0.001 * before_receive + 2e-5
        length = 1 << 20 if is_long else 100
        send_end = max(send_at, receive_at if is_long else send_at) + 1e-5
        receive_end = max(receive_at, send_at) + 2e-5
        job.ranks[source].send(target, tag=tag, start_s=send_at, end_s=send_end, message_bytes=length)
        job.ranks[target].receive(source, tag=tag, start_s=receive_at, end_s=receive_end, message_bytes=length)
        clock[source], clock[target] = send_end, receive_end
        late.append(max(send_at - receive_at, 0.0))
        tags.append(tag)
    return Simulated(job, late, tags)


@SYNTHETIC
@given(st.lists(MESSAGE, min_size=1, max_size=30))
def test_what_is_planted_is_found(tmp_path: Path, messages: list[tuple[int, int, int, bool, int, int]]) -> None:
    planted = simulated(messages)
    folder = tmp_path / "ranks"
    for path in folder.glob("*"):
        path.unlink()
    planted.job.write(folder)
    found = attributed(read_job(tmp_path))
    assert found.matched.send.size == len(messages)
    assert found.contradictions == found.matched.repeated == 0
    timed = found.events.is_timed
    assert found.split.parts_s.sum(axis=1)[timed] == pytest.approx(found.events.duration_s[timed])
    assert found.split.parts_s[:, TimePart.LATE_SENDER].sum() == pytest.approx(sum(planted.late_s), abs=1e-7)
    assert (found.events.start_s[found.depends[:, 1]] <= found.events.end_s[found.depends[:, 0]] + 1e-9).all()


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31), st.integers(0, 2**32 - 1)), unique=True, max_size=200))
def test_rows_that_differ_have_keys_that_differ(rows: list[tuple[int, int]]) -> None:
    columns = (np.array([row[0] for row in rows], dtype=np.int64), np.array([row[1] for row in rows], dtype=np.int64))
    assert len(set(hashed(columns).tolist())) == len(rows)


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0.001, 3)), min_size=1, max_size=20),
    st.lists(st.floats(-1, 15), min_size=1, max_size=10),
)
def test_time_in_mpi_of_threads_that_overlap_counts_once(spans: list[tuple[float, float]], times: list[float]) -> None:
    spans = sorted((start, start + length) for start, length in spans)
    starts = np.array([start for start, _ in spans])
    ends = np.maximum.accumulate([end for _, end in spans])
    presence = Presence((starts,), (ends,), (np.zeros(len(spans), dtype=np.int64),), (False,))
    grid = np.linspace(-1, 15, 4001)
    inside = np.zeros(grid.size, dtype=bool)
    for start, end in spans:
        inside |= (grid >= start) & (grid < end)
    found = presence.inside_s(np.zeros(len(times), dtype=np.int64), np.array(times))
    for time_s, seconds in zip(times, found.tolist(), strict=True):
        assert seconds == pytest.approx(float(inside[grid < time_s].sum()) * 0.004, abs=0.01 * (len(spans) + 1))
