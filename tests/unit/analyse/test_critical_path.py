# SPDX-License-Identifier: Apache-2.0
"""The critical path of orders written by hand, what waits were spent on, and a replay of other changes."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.watch.critical_path import critical_path, waits_in
from slowpath.watch.what_if import ENTRY, CallOrder, Change, possible, replay
from support.ordered import Compute, Meet, Receive, Send, Step, run

MESSAGE_S = {0: 2e-6}
MEET = Meet(1e-6)


def token(ranks: int, work_s: float) -> list[list[Step]]:
    """Each computes when it has the message of the one before; then all meet."""
    programs: list[list[Step]] = []
    for rank in range(ranks):
        program: list[Step] = [Receive(rank - 1)] if rank else []
        program.append(Compute(work_s))
        programs.append([*program, *([Send(rank + 1, 0, eager=True)] if rank < ranks - 1 else []), MEET])
    return programs


def test_the_path_goes_over_all_ranks_where_they_take_turns() -> None:
    order, span_s = run(token(4, 1e-3), MESSAGE_S)
    path = critical_path(possible(order))
    assert (path.end_s[:-1] == path.start_s[1:]).all()
    assert path.end_s[-1] == pytest.approx(span_s)
    length_s = path.end_s - path.start_s
    computed_s = np.bincount(order.chain[path.call], weights=length_s * path.outside)
    assert computed_s.tolist() == pytest.approx([1e-3] * 4)


def test_the_path_stays_on_the_rank_that_is_late() -> None:
    programs: list[list[Step]] = [[], [], []]
    for _ in range(10):
        for rank, program in enumerate(programs):
            program += [Compute(3e-4 if rank == 1 else 1e-4), MEET]
    order, _ = run(programs, MESSAGE_S)
    path = critical_path(possible(order))
    outside = path.outside & (path.end_s - path.start_s > 1e-5)
    assert set(order.chain[path.call[outside]].tolist()) == {1}


def test_a_wait_is_spent_on_what_the_ranks_did_that_were_waited_for() -> None:
    order = possible(run(token(3, 1e-3), MESSAGE_S)[0])
    waits = waits_in(order)
    last = np.flatnonzero(order.chain == 0)[-1]  # rank 0 waits at the meeting while ranks 1 and 2 compute
    mine = waits.wait == last
    by_rank = np.bincount(order.chain[waits.cause[mine]], weights=(waits.spent_s * waits.outside)[mine])
    assert by_rank.tolist() == pytest.approx([0.0, 1e-3, 1e-3])
    assert waits.spent_s[mine].sum() == pytest.approx(waits.until_s[last] - order.start_s[last])


def test_ranks_that_do_not_wait_for_the_message_compute_at_once() -> None:
    order = possible(run(token(4, 1e-3), MESSAGE_S)[0])
    waits = waits_in(order)
    receives = np.flatnonzero((waits.other >= 0) & (order.start_s < 1e-6))
    freed = np.stack([receives, waits.other[receives]], axis=1)
    saved_s = replay(order, Change(np.zeros((order.calls, 1)), None, freed)).saved_s
    assert saved_s[0, 0] == pytest.approx(3e-3, rel=0.01)


@pytest.mark.parametrize("less_s", [0.5e-4, 1e-4, 3e-4])
def test_a_late_rank_on_time_saves_no_more_than_the_next_one_allows(less_s: float) -> None:
    """Ranks 0, 1 and 2 compute 100, 300 and 200 us before they meet; the order names the last one of each meeting."""
    count, work_s, length_s = 10, np.array([1e-4, 3e-4, 2e-4]), 301e-6
    meeting, rank = (each.ravel() for each in np.meshgrid(np.arange(count), np.arange(3)))
    last = meeting + count  # rank 1's calls
    others = np.flatnonzero(rank != 1)
    order = CallOrder(
        chain=rank,
        stretch=np.zeros(3 * count, dtype=np.int64),
        start_s=meeting * length_s + work_s[rank],
        end_s=(meeting + 1) * length_s,
        after=np.stack([others, last[others], np.full(others.size, ENTRY)], axis=1),
        done=np.zeros((0, 2), dtype=np.int64),
        meets=meeting,
    )
    sooner_s = np.where(rank == 1, less_s, 0.0)[:, None]
    replayed = replay(possible(order), Change(np.zeros((order.calls, 1)), sooner_s))
    assert replayed.error_ratio < 1e-9
    assert replayed.saved_s[0, 0] == pytest.approx(count * min(less_s, 1e-4))
