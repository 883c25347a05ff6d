# SPDX-License-Identifier: Apache-2.0
"""Predicted savings against a program that is run again with other costs."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import pytest

from slowpath.watch.what_if import CallOrder, Change, possible, replay, transfers
from support.ordered import Compute, Meet, Receive, Send, Step, run

COSTS = {0: 100e-6, 1: 20e-6}


def ring(ranks: int, steps: int, seed: int = 1, eager: bool = False) -> list[list[Step]]:
    """Each rank computes, sends to the next, and receives; even ranks send first. All meet now and then."""
    draw = Random(seed)
    programs: list[list[Step]] = [[] for _ in range(ranks)]
    for step in range(steps):
        for rank, program in enumerate(programs):
            send, receive = Send((rank + 1) % ranks, step % 2, eager), Receive((rank - 1) % ranks)
            program.append(Compute(draw.uniform(10e-6, 150e-6)))
            program += [send, receive] if rank % 2 == 0 or eager else [receive, send]
            if step % 10 == 9:
                program.append(Meet())
    return programs


def saved(order: CallOrder, *prices: Mapping[int, float]) -> tuple[list[float], float]:
    """Of the run with each of these taken off every message of a kind, and the error of a replay without changes.

    No call saves a larger share of its own time than its messages do of theirs.
    """
    order = possible(order)
    call, kind = order.done.T
    whole_s = np.bincount(call, weights=np.array([COSTS[0], COSTS[1]])[kind], minlength=order.calls)
    scale = np.minimum(1.0, transfers(order) / np.where(whole_s > 0, whole_s, 1.0))
    off_s = [
        np.bincount(call, weights=np.array([price.get(0, 0.0), price.get(1, 0.0)])[kind], minlength=order.calls) * scale
        for price in prices
    ]
    replayed = replay(order, Change(np.stack(off_s, axis=1)))
    return replayed.saved_s.sum(axis=0).tolist(), replayed.error_ratio


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("factor", [0.3, 0.8, 1.5, 2.0])
def test_a_replay_predicts_the_run_with_other_costs(ranks: int, eager: bool, factor: float) -> None:
    programs = ring(ranks, 60, eager=eager)
    order, span_s = run(programs, COSTS)
    _, other_s = run(programs, {**COSTS, 0: COSTS[0] * factor})
    price = COSTS[0] * (1 - factor)
    (value_s,), error_ratio = saved(order, {0: price})
    assert error_ratio < 1e-9
    assert value_s == pytest.approx(span_s - other_s, rel=0.1, abs=0.01 * span_s)


def test_what_nobody_waits_for_saves_nothing() -> None:
    """Rank 0 computes far longer: cheaper messages shorten waits alone."""
    programs: list[list[Step]] = [[], []]
    for _ in range(20):
        programs[0] += [Compute(1e-3), Receive(1)]
        programs[1] += [Send(0, 0, eager=True), Compute(1e-6)]
    programs[0].append(Compute(1e-3))
    order, _ = run(programs, COSTS)
    (value_s,), _ = saved(order, {0: 80e-6})
    assert value_s < 0.55 * 20 * 80e-6  # the receiver's half of each message


def test_together_is_not_the_sum_where_one_hides_the_other() -> None:
    programs: list[list[Step]] = [[], [], [], []]
    for _ in range(20):
        programs[0] += [Send(1, 0), Meet()]
        programs[1] += [Receive(0), Meet()]
        programs[2] += [Send(3, 1), Send(3, 1), Send(3, 1), Send(3, 1), Meet()]
        programs[3] += [Receive(2)] * 4 + [Meet()]
    order, _ = run(programs, COSTS)
    (alone_s, other_s, both_s), _ = saved(order, {0: 80e-6}, {1: 16e-6}, {0: 80e-6, 1: 16e-6})
    assert alone_s == pytest.approx(20 * 20e-6)
    assert other_s == pytest.approx(0, abs=1e-9)
    assert both_s == pytest.approx(20 * 80e-6)
