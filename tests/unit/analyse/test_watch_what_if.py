# SPDX-License-Identifier: Apache-2.0
"""Predicted savings against a program that is run again with other costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from slowpath.watch.patterns import between_collectives, waiting_at_ends
from slowpath.watch.what_if import (
    MOST_CALLS,
    CallOrder,
    Ints,
    KindCounts,
    Prediction,
    Scenario,
    only,
    possible,
    replay,
    sampled,
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


def test_no_call_saves_more_than_its_own_share() -> None:
    """Messages that go at once in one call save less than one by one."""
    order, span_s = run(ring(2, 40), COSTS)
    counts = np.bincount(order.done[:, 1], minlength=2) / 2
    twice = KindCounts(counts, counts, np.array([4 * COSTS[0], COSTS[1]]))
    price = [Scenario({0: exact(2 * COSTS[0])})]
    value = what_if(order, price, twice, span_s).saved[0].value_s
    half = saved(order, [{0: exact(COSTS[0] / 2)}], span_s).saved[0].value_s
    assert value == pytest.approx(half)


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


def test_clocks_that_contradict_the_order_make_no_dependency_and_no_claim() -> None:
    order, span_s = run(ring(2, 40), COSTS)
    late = np.where(order.chain == 1, 10.0, 0.0)
    off = replace(order, start_s=order.start_s + late, end_s=order.end_s + late)
    assert len(possible(off).after) < len(order.after)
    overlapping = replace(order, end_s=order.end_s + span_s / 4)  # calls of a thread that overlap can't be replayed
    found = saved(overlapping, [{0: exact(30e-6)}], span_s)
    assert found.saved[0].value_s is None or found.error_ratio < 0.1


def test_a_long_record_is_sampled_evenly() -> None:
    order, _ = run(ring(2, 1200), COSTS)
    part = sampled(possible(order), most=order.calls // 4)
    assert 0.1 * order.calls < part.calls < 0.3 * order.calls
    assert len(np.unique(part.stretch)) == 50
    assert replay(part, np.zeros((part.calls, 1))).error_ratio < 1e-9
    assert order.calls < MOST_CALLS


def test_a_sample_has_as_many_calls_as_asked_wherever_in_time_they_are() -> None:
    """Nine of ten calls lie in the first hundredth of the run: slices of equal time would keep them all."""
    begin_s = np.concatenate([np.linspace(0.0, 0.01, 9000, endpoint=False), np.linspace(0.01, 1.0, 1000)])
    zeros = np.zeros(begin_s.size, dtype=np.int64)
    nothing = np.zeros((0, 3), dtype=np.int64)
    order = CallOrder(zeros, zeros, begin_s, begin_s + 0.5e-6, nothing, nothing[:, :2])
    part = sampled(order, most=2000, slices=4)
    assert part.calls == pytest.approx(2000, rel=0.01)
    assert np.bincount(part.stretch).tolist() == pytest.approx([500] * 4, rel=0.01)


def rounds_of_a_sender() -> tuple[CallOrder, Ints]:
    """Rank 0 sends, and rank 1 waits for it in a barrier, whose number each call has, -1: none."""
    sends: list[list[Step]] = [[Compute(300e-6)] + [Send(1, 0, True)] * 40 + [Meet()], [Meet()] + [Receive(0)] * 40]
    order, _ = run([program * 60 for program in sends], {0: 20e-6})
    is_meet = np.ones(order.calls, dtype=bool)
    is_meet[order.done[:, 0]] = False
    _, number = np.unique(order.end_s, return_inverse=True)
    numbered = replace(order, done=np.stack([np.arange(order.calls)] * 2, axis=1))
    return possible(numbered), np.where(is_meet, number.reshape(-1), -1)


def numbers(part: CallOrder) -> Ints:
    return part.done[np.argsort(part.done[:, 0]), 1]


def saved_by_sends_s(whole: CallOrder, meeting: Ints, part: CallOrder) -> float:
    """Of the run, in proportion to what the kept sends have; each takes 5 us less."""
    less_s = np.where((whole.chain == 0) & (meeting < 0), 5e-6, 0.0)
    kept_s = less_s[numbers(part)]
    return float(replay(part, kept_s[:, None]).saved_s.sum() * less_s.sum() / kept_s.sum())


def test_stretches_of_a_few_rounds_are_cut_at_collectives_and_lose_nothing_at_their_edges() -> None:
    """What rank 0 saves reaches rank 1 in a barrier beyond a stretch's end as well."""
    whole, meeting = rounds_of_a_sender()
    whole_s = saved_by_sends_s(whole, meeting, whole)
    part = sampled(whole, most=whole.calls // 2, slices=12)  # 2.5 rounds each
    cut = between_collectives(part, meeting[numbers(part)])
    assert 0.25 * part.calls <= cut.calls < part.calls
    assert saved_by_sends_s(whole, meeting, part) < 0.8 * whole_s
    assert saved_by_sends_s(whole, meeting, cut) == pytest.approx(whole_s, rel=0.05)
    assert between_collectives(whole, meeting).calls == whole.calls


def test_a_thread_that_waits_when_its_stretch_ends_computes_nothing_there() -> None:
    """Windows of less than a round hold no two barriers, and the barrier that rank 1 enters may lack rank 0."""
    whole, meeting = rounds_of_a_sender()
    whole_s = saved_by_sends_s(whole, meeting, whole)
    window = (whole.start_s / 600e-6).astype(np.int64)
    part = only(whole, window % 2 == 0, window)
    waits = waiting_at_ends(part, meeting[numbers(part)], np.full(part.calls, 2))
    assert waits.before_wait.size > 5
    assert saved_by_sends_s(whole, meeting, part) < 0.5 * whole_s
    assert 0.75 * whole_s < saved_by_sends_s(whole, meeting, waits) <= 1.01 * whole_s
    assert waiting_at_ends(whole, meeting, np.full(whole.calls, 3)).calls == whole.calls
