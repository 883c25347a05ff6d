# SPDX-License-Identifier: Apache-2.0
"""Predicted savings against a program that is run again with other costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import pytest

from slowpath.watch.what_if import (
    CallOrder,
    KindCounts,
    Prediction,
    Scenario,
    what_if,
)
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


def saved(order: CallOrder, prices: Sequence[Mapping[int, tuple[float, float, float]]], span_s: float) -> Prediction:
    counts = np.bincount(order.done[:, 1], minlength=2) / 2
    messages = KindCounts(counts, counts, np.array([COSTS[0], COSTS[1]]))
    return what_if(order, [Scenario(one) for one in prices], messages, span_s)


def exact(price: float) -> tuple[float, float, float]:
    return price, price, price


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("factor", [0.3, 0.8, 1.5, 2.0])
def test_a_replay_predicts_the_run_with_other_costs(ranks: int, eager: bool, factor: float) -> None:
    programs = ring(ranks, 60, eager=eager)
    order, span_s = run(programs, COSTS)
    _, other_s = run(programs, {**COSTS, 0: COSTS[0] * factor})
    price = COSTS[0] * (1 - factor)
    found = saved(order, [{0: exact(price)}], span_s)
    assert found.error_ratio < 1e-9
    assert found.saved[0].value_s == pytest.approx(span_s - other_s, rel=0.1, abs=0.01 * span_s)


def test_what_nobody_waits_for_saves_nothing() -> None:
    """Rank 0 computes far longer: cheaper messages shorten waits alone."""
    programs: list[list[Step]] = [[], []]
    for _ in range(20):
        programs[0] += [Compute(1e-3), Receive(1)]
        programs[1] += [Send(0, 0, eager=True), Compute(1e-6)]
    programs[0].append(Compute(1e-3))
    order, span_s = run(programs, COSTS)
    adding_up = 20 * 80e-6
    value = saved(order, [{0: exact(80e-6)}], span_s).saved[0].value_s
    assert value is not None
    assert value < 0.55 * adding_up  # the receiver's half of each message


def test_together_is_not_the_sum_where_one_hides_the_other() -> None:
    programs: list[list[Step]] = [[], [], [], []]
    for _ in range(20):
        programs[0] += [Send(1, 0), Meet()]
        programs[1] += [Receive(0), Meet()]
        programs[2] += [Send(3, 1), Send(3, 1), Send(3, 1), Send(3, 1), Meet()]
        programs[3] += [Receive(2)] * 4 + [Meet()]
    order, span_s = run(programs, COSTS)
    alone, other, both = saved(
        order, [{0: exact(80e-6)}, {1: exact(16e-6)}, {0: exact(80e-6), 1: exact(16e-6)}], span_s
    ).saved
    assert alone.value_s == pytest.approx(20 * 20e-6)
    assert other.value_s == pytest.approx(0, abs=1e-9)
    assert both.value_s == pytest.approx(20 * 80e-6)


def test_an_interval_is_that_of_the_price() -> None:
    order, span_s = run(ring(2, 40), COSTS)
    found = saved(order, [{0: (50e-6, 30e-6, 70e-6)}, {0: exact(30e-6)}, {0: exact(70e-6)}], span_s).saved
    assert found[0].interval == (found[1].value_s, found[2].value_s)


def test_kept_calls_stand_for_all_of_their_kind() -> None:
    order, span_s = run(ring(2, 40), COSTS)
    kept = np.bincount(order.done[:, 1], minlength=2) / 2
    part = what_if(
        order, [Scenario({0: exact(30e-6)})], KindCounts(3 * kept, kept, np.array([COSTS[0], COSTS[1]])), 3 * span_s
    )
    whole = saved(order, [{0: exact(30e-6)}], span_s)
    assert part.saved[0].value_s == pytest.approx(3 * (whole.saved[0].value_s or 0))
    nothing = what_if(order, [Scenario({0: exact(1e-6)})], KindCounts(kept, 0 * kept, np.array([1.0, 1.0])), span_s)
    assert nothing.saved[0].value_s is None
    assert nothing.saved[0].reason
