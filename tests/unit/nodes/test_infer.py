# SPDX-License-Identifier: Apache-2.0
"""Simulated machines: planted slow nodes, links and directions are found, and healthy machines have none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from simulated import Machine, name, screened, screened_again

from slowpath.experiments.measured import LaunchContext, LaunchRecord, MetricSamples, SampleBlock
from slowpath.experiments.nodes import FASTEST, MEAN, NODES
from slowpath.plan.cost import LAUNCH_S, RANK_S
from slowpath.studies.nodes.infer import (
    MOST_ALONE,
    MOST_STRIDES,
    ROUNDS,
    NodesVerdict,
    Observations,
    Slow,
    SlowLink,
    SlowNode,
    confirmation,
    controls_for,
    infer,
    observe,
    ring,
    ring_pairs,
    screening,
    shortest_share,
    strides_of,
)
from slowpath.studies.nodes.measure import (
    MOST_LINES,
    confirm,
    fails,
    silent_nodes,
    suspicious_pairs,
    verdict_lines,
)


def measures(verdict: NodesVerdict) -> dict[str, set[str]]:
    return {node.node: {slow.measure for slow in node.slow} for node in verdict.nodes}


def ends(verdict: NodesVerdict) -> dict[frozenset[str], int]:
    return {frozenset((link.a, link.b)): link.ways for link in verdict.links}


def confirmed(machine: Machine, verdict: NodesVerdict, seed: int) -> NodesVerdict:
    seen = screened(machine, seed)
    suspects = suspicious_pairs(verdict, seen.links, MOST_ALONE)
    numbers = {node: number for number, node in enumerate(seen.nodes)}
    bad = {numbers[node.node] for node in verdict.nodes}
    bad |= {numbers[end] for link in verdict.links for end in (link.a, link.b)}
    controls = [
        (name(a), name(b)) for a, b in controls_for(machine.count, [(numbers[a], numbers[b]) for a, b in suspects], bad)
    ]
    return confirm(verdict, screened_again(machine, seed, [*suspects, *controls]), controls)


@pytest.fixture(scope="module")
def thousand() -> tuple[Machine, NodesVerdict]:
    """A machine of 1,000 nodes with one of each."""
    far = list(ring_pairs(1000))[-1]
    machine = Machine(
        alone={
            5: {"clock": 1.25, "processors": 1.25},
            6: {"processors": 2.0, "copy": 1.3},
            7: {"access": 1.35, "single_copy": 1.3},
            8: {"copy": 1.5, "access": 1.4},
        },
        sends={41: 1.5},
        receives={77: 1.5},
        latency={300: 1.6},
        links={(10, 11): 2.0, (11, 10): 2.0, far: 1.6},
    )
    return machine, infer(screened(machine, seed=9))


def test_each_planted_node_is_found_by_its_own_measure_and_none_else(thousand: tuple[Machine, NodesVerdict]) -> None:
    slow_measures = measures(thousand[1])
    assert slow_measures.keys() == {name(node) for node in (5, 6, 7, 8, 41, 77, 300)}
    assert slow_measures[name(5)] == {"clock"}
    assert {"processors"} <= slow_measures[name(6)] <= {"processors", "copy"}
    assert slow_measures[name(7)] == {"access", "single_copy"}
    assert slow_measures[name(8)] == {"copy", "access"}
    assert slow_measures[name(41)] == {"sends"}
    assert slow_measures[name(77)] == {"receives"}
    assert slow_measures[name(300)] == {"latency"}


def test_links_are_found_with_their_direction(thousand: tuple[Machine, NodesVerdict]) -> None:
    a, b = list(ring_pairs(1000))[-1]
    assert ends(thousand[1]) == {frozenset((name(10), name(11))): 2, frozenset((name(a), name(b))): 1}
    one_way = next(link for link in thousand[1].links if link.ways == 1)
    assert (one_way.a, one_way.b) == (name(a), name(b))
    assert one_way.others > 20


def test_fresh_launches_confirm_what_is_there(thousand: tuple[Machine, NodesVerdict]) -> None:
    held = confirmed(*thousand, seed=9)
    assert {node.node for node in held.nodes} == {node.node for node in thousand[1].nodes}
    assert len(held.links) == 2
    assert not held.loaded_nodes + held.loaded_links


@pytest.mark.parametrize("count", [4, 5, 8, 17, 40])
def test_a_slow_link_of_a_small_machine_is_found(count: int) -> None:
    verdict = infer(screened(Machine(count=count, disturbed=0, links={(0, 1): 3.0, (1, 0): 3.0}), seed=1))
    assert ends(verdict) == {frozenset((name(0), name(1))): 2}
    assert not verdict.nodes


def test_a_slow_node_does_not_hide_another_nor_a_link() -> None:
    machine = Machine(
        count=16, disturbed=0, sends={1: 3.0, 5: 1.5}, receives={1: 3.0}, latency={1: 3.0}, links={(8, 9): 2.0}
    )
    verdict = infer(screened(machine, seed=1))
    assert measures(verdict) == {name(1): {"sends", "receives", "latency"}, name(5): {"sends"}}
    assert ends(verdict) == {frozenset((name(8), name(9))): 1}


@pytest.mark.needs("minutes")
def test_no_healthy_machine_has_a_slow_node_or_link() -> None:
    """100 machines, each with lasting spread, launches that differ, disturbed values, and racks."""
    counts = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64] * 9 + [100] * 8 + [1000] * 2
    for seed, count in enumerate(counts):
        verdict = infer(screened(Machine(count=count), seed))
        assert not verdict.nodes, (seed, count, measures(verdict))
        assert not verdict.links, (seed, count, verdict.links)


BUSY_MS = {
    (1, 2): (28.06, 30.07, 26.93, 28.41, 28.98),
    (2, 1): (23.07, 27.41, 25.98, 26.43, 28.03),
    (4, 1): (27.98, 28.13, 26.99, 28.02, 26.98),
    (4, 2): (26.99, 26.71, 74.77, 26.65, 27.98),
    (4, 3): (24.27, 26.33, 28.02, 26.60, 26.99),
    (1, 3): (7.26, 5.14, 74.28, 7.94, 6.02),
    (1, 4): (7.90, 5.42, 6.06, 4.02, 0.03),
    (2, 3): (1.98, 4.83, 3.00, 4.49, 3.42),
    (2, 4): (0.02, 4.49, 89.16, 6.00, 3.55),
    (3, 1): (4.99, 7.00, 2.74, 7.95, 4.74),
    (3, 2): (7.91, 5.46, 2.90, 4.30, 0.03),
    (3, 4): (2.51, 6.08, 4.97, 2.06, 3.40),
}  # streams of five launches on a busy machine, node 4 and the wire between 1 and 2 slowed down to 20 Mbit/s


QUIET_MS = {
    (1, 2): (27.467, 27.460, 27.463, 27.443, 27.456),
    (2, 1): (27.470, 27.465, 27.462, 27.444, 27.444),
    (4, 1): (27.448, 27.468, 27.457, 27.456, 27.440),
    (4, 2): (27.438, 27.445, 27.428, 27.442, 27.439),
    (4, 3): (27.448, 27.505, 27.462, 27.443, 27.482),
    (1, 3): (0.026, 0.029, 0.026, 0.060, 0.030),
    (1, 4): (0.036, 0.025, 0.057, 0.024, 0.015),
    (2, 3): (0.019, 0.039, 0.025, 0.018, 0.026),
    (2, 4): (0.026, 0.048, 0.046, 0.022, 0.058),
    (3, 1): (0.025, 0.029, 0.025, 0.064, 0.025),
    (3, 2): (0.028, 0.035, 0.031, 0.127, 0.015),
    (3, 4): (0.014, 0.055, 0.017, 0.055, 0.058),
}  # the same on a quiet one: nodes 1 and 2 get fast from node 3 alone

# Answers of the slow sender are slow, too, and hold up what node 1 sends it: that is no slow link.
HELD_UP_MS = {**QUIET_MS, (1, 4): (0.081, 0.079, 0.080, 0.082, 0.080)}


@pytest.mark.parametrize("times_of", [BUSY_MS, QUIET_MS, HELD_UP_MS])
def test_a_slow_link_and_a_slow_sender_do_not_make_a_slow_receiver(
    times_of: dict[tuple[int, int], tuple[float, ...]],
) -> None:
    """Nodes 1 and 2 get from the sender, along the link, and from node 3: two of three are slow."""
    seen = Observations(nodes=[name(node) for node in range(4)])
    for (a, b), times_ms in times_of.items():
        for launch, time_ms in enumerate(times_ms):
            seen.add_between("stream", (name(a - 1), name(b - 1)), launch, time_ms * 1e-3)
    verdict = infer(seen)
    assert measures(verdict) == {name(3): {"sends"}}
    assert ends(verdict) == {frozenset((name(0), name(1))): 2}


# From blocks of launches to values of nodes and pairs.


CELLS = {0: {"pattern": "work"}, 1: {"pattern": "latency"}, 2: {"pattern": "stream"}, 3: {"pattern": "single_copy"}}


def block(rank: int, times_ns: Sequence[int], part: int = 0, batch: int = 1) -> SampleBlock:
    return SampleBlock(rank, "steady", 0, batch, 0, np.array(times_ns, dtype=np.int64), None, part)


@dataclass
class Launch:
    """As much of a LaunchRecord as is read. Ranks 0 and 1 are on n1, rank 2 on n2."""

    blocks: Mapping[int, Sequence[SampleBlock]]
    number: int = 1
    cell_notes: Mapping[int, str] = field(default_factory=dict)

    @property
    def info(self) -> Any:
        return SimpleNamespace(launch=self.number)

    @property
    def events(self) -> Any:
        return SimpleNamespace(ranks=[SimpleNamespace(rank=r, host=h) for r, h in enumerate(("n1", "n1", "n2"))])

    def cell_blocks(self, cells: Sequence[int]) -> dict[int, list[SampleBlock]]:
        return {cell: list(self.blocks.get(cell, ())) for cell in cells}


def seen_in(*launches: Launch) -> Any:
    return observe(cast(list[LaunchRecord], launches), CELLS)


# Microseconds of five launches on two busy processors: n1 and n2 are joined by a slow wire, and n4 sends slowly. All
# other times depend on when the receiver has its turn.
BUSY_US = {
    "n1>n2": (27279, 27089, 27401, 27035, 26008), "n3>n4": (16, 235, 103, 326, 2133), "n2>n3": (37, 275, 418, 19, 345),
    "n4>n1": (28008, 26660, 26500, 27373, 27819), "n2>n1": (27790, 27527, 27932, 26760, 28004),
    "n4>n3": (26609, 26934, 28188, 27148, 27546), "n1>n4": (20, 687, 1995, 1628, 1996),
    "n3>n2": (2479, 18, 775, 19, 2072), "n1>n3": (2352, 731, 16, 16, 151), "n2>n4": (1995, 299, 23, 2012, 385),
    "n3>n1": (1144, 109, 1178, 19, 288), "n4>n2": (26342, 27706, 27679, 28364, 28062),
}  # fmt: skip


def test_what_is_never_fast_is_found_where_times_differ_by_a_hundred() -> None:
    seen = Observations(nodes=["n1", "n2", "n3", "n4"])
    for pair, times_us in BUSY_US.items():
        a, b = pair.split(">")
        for launch, time_us in enumerate(times_us):
            seen.add_between("stream", (a, b), launch, 1e-6 * time_us)
    verdict = infer(seen)
    assert measures(verdict) == {"n4": {"sends"}}
    assert ends(verdict) == {frozenset(("n1", "n2")): 2}


def test_busy_nodes_of_which_none_is_slow_are_seldom_called_slow() -> None:
    """Each time is that of a message, or of a turn of the receiver, of up to 200 times as much."""
    named = 0
    for seed in range(40):
        random, nodes = np.random.default_rng(seed), [name(node) for node in range(6)]
        seen = Observations(nodes=nodes)
        for a, b in ring_pairs(len(nodes)):
            for launch in range(ROUNDS):
                turns = np.exp(random.uniform(1.0, 5.3, 2)) * (random.random(2) < 0.5) + 1.0
                seen.add_between("stream", (nodes[a], nodes[b]), launch, float(16e-6 * turns[0]))
                seen.add_between("stream", (nodes[b], nodes[a]), launch, float(16e-6 * turns[1]))
        verdict = infer(seen)
        named += bool(verdict.nodes or verdict.links)
    assert named <= 2


def test_work_gives_the_clock_the_processors_and_those_that_share() -> None:
    fastest, mean = [100, 100, 101, 102], [101, 103, 210, 200]
    seen = seen_in(Launch({0: [block(0, fastest, FASTEST), block(0, mean, MEAN)]}))
    assert seen.alone["clock"]["n1"][1] == pytest.approx(100e-9)
    assert seen.alone["processors"]["n1"][1] == pytest.approx(153.5e-9)
    assert seen.busy["n1"] == (2, 4)


def test_pairs_are_those_of_the_nodes_of_both_ranks() -> None:
    launch = Launch({1: [block(0, [4000, 4400, 4200], part=2, batch=2)], 2: [block(2, [8000], part=0, batch=4)]})
    seen = seen_in(launch)
    assert seen.between["latency"] == {("n1", "n2"): {1: pytest.approx(1050e-9)}}
    assert seen.between["stream"] == {("n2", "n1"): {1: pytest.approx(2000e-9)}}
    assert seen.nodes == ["n1", "n2"]


def test_a_node_without_a_measure_has_its_reason() -> None:
    seen = seen_in(Launch({3: [block(0, [100])]}, cell_notes={3: "process_vm_readv is refused"}))
    assert seen.reasons == {"n2": "single_copy is missing: process_vm_readv is refused"}


def test_a_cell_of_the_report_has_one_value_for_each_node() -> None:
    blocks = [block(0, [100, 300, 200]), block(2, [400])]
    derived = NODES.derive({"pattern": "copy"}, blocks, LaunchContext(size=3, one_clock=False))["node_copy_s"]
    assert isinstance(derived, dict)
    steady = derived["steady"]
    assert isinstance(steady, MetricSamples)
    assert steady.values_s == pytest.approx([200e-9, 400e-9])


# What is measured of n nodes: rings, turns, and what they cover.


COUNTS = [2, 3, 4, 5, 8, 9, 16, 17, 18, 64, 257, 1000]


@pytest.mark.parametrize("count", COUNTS)
def test_no_node_is_in_two_pairs_of_a_turn_and_each_pair_of_a_ring_is_in_one(count: int) -> None:
    for stride in strides_of(count):
        turns = ring(count, stride)
        for turn in set(turns.values()):
            nodes = [node for pair, its_turn in turns.items() for node in pair if its_turn == turn]
            assert len(nodes) == len(set(nodes))
        assert all((b - a) % count == stride for a, b in turns)
        assert {frozenset(pair) for pair in turns} == {frozenset((n, (n + stride) % count)) for n in range(count)}


@pytest.mark.parametrize("count", COUNTS)
def test_few_nodes_are_measured_in_all_pairs_and_of_many_each_has_enough_partners(count: int) -> None:
    pairs, all_pairs = ring_pairs(count), count * (count - 1) // 2
    if count <= 2 * MOST_STRIDES + 1:
        assert len(pairs) == all_pairs
        assert shortest_share(len(pairs), all_pairs) == 0
    else:
        assert len(pairs) == count * MOST_STRIDES
        assert all(sum(node in pair for pair in pairs) == 2 * MOST_STRIDES for node in range(0, count, 50))


def test_what_rings_miss_is_stated() -> None:
    pairs = len(ring_pairs(1000))
    share = shortest_share(pairs, 499_500)
    assert (1 - share) ** pairs == pytest.approx(0.01)
    assert share < 0.001


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


# The verdict in words, Slurm's list of nodes, exit by ratio.


def slow(measure: str, ratio: float = 2.0, pairs: int = 0) -> Slow:
    return Slow(measure, ratio, (0.95 * ratio, 1.05 * ratio), 170e-6, 85e-6, pairs, pairs)  # type: ignore[arg-type]


SENDS = SlowNode("n3", (slow("sends", pairs=7),))
BUSY = SlowNode("n5", (slow("processors", 1.5),), (4, 8))
LINK = SlowLink("n1", "n2", (slow("stream", 3.0),), 1, 12)


def verdict(**changes: object) -> NodesVerdict:
    made = NodesVerdict(nodes=(SENDS, BUSY), links=(LINK,), compared=8, pairs=28, launches=5, wall_s=42.0)
    return msgspec.structs.replace(made, **changes)


def test_each_line_has_the_node_the_ratio_its_interval_and_its_evidence() -> None:
    lines = verdict_lines(verdict())
    assert lines[0] == "2 nodes are slow, 1 link is slow"
    assert lines[1].startswith("n3: messages from it 2.00x [1.90, 2.10] slower, 7 of 7 partners")
    assert "other pairs as usual" in lines[1]
    assert "4 of 8 shared" in lines[2]
    assert lines[3].startswith("from n1 to n2, one way: messages 3.00x [2.85, 3.15] slower")
    assert "12 other pairs of these nodes as usual" in lines[3]
    assert lines[-1].startswith("compared: 8 nodes, 28 of 28 pairs, 5 launches, 42 s")


def test_no_more_than_twelve_lines_and_what_is_left_out_is_counted() -> None:
    links = tuple(SlowLink(f"n{n}", f"m{n}", (slow("stream"),), 1, 3) for n in range(40))
    lines = verdict_lines(verdict(links=links))
    assert len(lines) == MOST_LINES
    assert any("more: see verdict.json" in line for line in lines)


def test_a_healthy_machine_is_said_to_be_so() -> None:
    assert verdict_lines(verdict(nodes=(), links=()))[0].startswith("no node or link is more than 10 % slower")


def test_the_lower_end_of_an_interval_decides() -> None:
    sender = verdict(nodes=(SENDS,), links=())
    assert fails(sender, 1.85)
    assert not fails(sender, 1.95)
    assert fails(verdict(nodes=(), links=(), silent={"n9": "no route"}), 10)


def test_a_silent_node_is_found_in_two_steps() -> None:
    names = [f"n{number}" for number in range(1000)]
    asked: list[int] = []

    def starts(groups: object) -> list[str | None]:
        asked.append(len(list(groups)))  # type: ignore[call-overload]
        return ["no route" if {"n500", "n7"} & set(group) else None for group in groups]  # type: ignore[attr-defined]

    assert silent_nodes(names, starts) == {"n7": "no route", "n500": "no route"}
    assert len(asked) == 2
    assert max(asked) < 70
