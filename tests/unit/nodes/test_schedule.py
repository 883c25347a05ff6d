# SPDX-License-Identifier: Apache-2.0
"""What is measured of n nodes: rings, turns, and what they cover."""

from __future__ import annotations

import math

import pytest

from slowpath.experiments.nodes import NODES
from slowpath.plan.cost import LAUNCH_S, RANK_S
from slowpath.studies.nodes.infer import (
    MOST_ALONE,
    MOST_STRIDES,
    ROUNDS,
    confirmation,
    controls_for,
    coverage,
    pairs_of,
    screening,
    strides_of,
    turns_of,
)

COUNTS = [2, 3, 4, 5, 8, 9, 16, 17, 18, 64, 257, 1000]


@pytest.mark.parametrize("count", COUNTS)
def test_no_node_is_in_two_pairs_of_a_turn_and_each_pair_of_a_ring_is_in_one(count: int) -> None:
    for stride in strides_of(count):
        seen = set()
        for turn in turns_of(count, stride):
            pairs = pairs_of(count, stride, turn)
            nodes = [node for pair in pairs for node in pair]
            assert pairs
            assert len(nodes) == len(set(nodes))
            assert all((b - a) % count == stride for a, b in pairs)
            seen |= {frozenset(pair) for pair in pairs}
        assert seen == {frozenset((node, (node + stride) % count)) for node in range(count)}


@pytest.mark.parametrize("count", COUNTS)
def test_few_nodes_are_measured_in_all_pairs_and_of_many_each_has_enough_partners(count: int) -> None:
    covered = coverage(count, strides_of(count))
    if count <= 2 * MOST_STRIDES + 1:
        assert covered.pairs == covered.all_pairs
        assert covered.missed(1e-6) == 0
    else:
        assert covered.partners == 2 * MOST_STRIDES
        assert covered.pairs == count * MOST_STRIDES


def test_what_rings_miss_is_stated() -> None:
    covered = coverage(1000, strides_of(1000))
    share = covered.shortest_share(0.01)
    assert covered.missed(share) == pytest.approx(0.01)
    assert share < 0.001
    assert covered.missed(1 / covered.all_pairs) > 0.9  # a fault of one pair alone is mostly not among them


def seconds(campaign: object, count: int) -> float:
    """As plan.cost has it: the starts of jobs and their cells."""
    cells = 0.0
    for table in campaign.cells:  # type: ignore[attr-defined]
        values = {"array_bytes": 64 << 20, "in_flight": 8, "message_bytes": 8, "samples": 40, **table.parameters}
        times = math.prod(len(value) for value in values.values() if isinstance(value, list))
        cells += times * NODES.seconds({key: str(value) for key, value in values.items()}, count)
    return ROUNDS * (LAUNCH_S + RANK_S * (count - 2) + cells)


def test_a_thousand_nodes_take_at_most_ten_minutes() -> None:
    pairs = [(0, stride) for stride in strides_of(1000)] * MOST_ALONE
    screen_s = seconds(screening(1000), 1000)
    alone_s = seconds(confirmation(1000, list(dict.fromkeys(pairs)), controls_for(1000, [], [], MOST_ALONE)), 1000)
    assert screen_s + alone_s < 600
    # Ten times the nodes take far less than ten times as long.
    assert seconds(screening(10_000), 10_000) < 10 * screen_s


def test_controls_touch_no_suspicious_node() -> None:
    suspects = [(3, 4)]
    controls = controls_for(64, suspects, {3, 4, 20})
    assert len(controls) == 6
    assert not {3, 4, 20} & {node for pair in controls for node in pair}
    assert controls_for(2, [(0, 1)], {0}) == []


def test_a_confirmation_measures_each_pair_alone() -> None:
    campaign = confirmation(64, [(3, 4)], [(10, 11), (3, 4)])
    only = [table.parameters["only"] for table in campaign.cells if "only" in table.parameters]
    assert sorted(only) == [3, 3, 10, 10]
