# SPDX-License-Identifier: Apache-2.0
"""Simulated machines: planted slow nodes, links and directions are found, and healthy machines have none."""

from __future__ import annotations

import pytest
from simulated import Machine, name, ring_pairs, screened, screened_again

from slowpath.studies.nodes.infer import MOST_ALONE, Found, Observations, controls_for, infer, links_of
from slowpath.studies.nodes.measure import Confirmed, confirm, suspicious_pairs


def measures(found: Found) -> dict[str, set[str]]:
    return {node.node: {one.measure for one in node.slow} for node in found.nodes}


def ends(found: Found) -> dict[frozenset[str], int]:
    return {frozenset((link.a, link.b)): link.ways for link in found.links}


def confirmed(machine: Machine, found: Found, seed: int) -> Confirmed:
    seen = screened(machine, seed)
    suspects = suspicious_pairs(found, links_of(seen), MOST_ALONE)
    numbers = {node: number for number, node in enumerate(seen.nodes)}
    bad = {numbers[node.node] for node in found.nodes}
    bad |= {numbers[end] for link in found.links for end in (link.a, link.b)}
    controls = [
        (name(a), name(b)) for a, b in controls_for(machine.count, [(numbers[a], numbers[b]) for a, b in suspects], bad)
    ]
    return confirm(found, screened_again(machine, seed, [*suspects, *controls]), controls)


@pytest.fixture(scope="module")
def thousand() -> tuple[Machine, Found]:
    """A machine of 1,000 nodes with one of each."""
    far = ring_pairs(1000)[-1]
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


def test_each_planted_node_is_found_by_its_own_measure_and_none_else(thousand: tuple[Machine, Found]) -> None:
    found = measures(thousand[1])
    assert found.keys() == {name(node) for node in (5, 6, 7, 8, 41, 77, 300)}
    assert found[name(5)] == {"clock"}
    assert {"processors"} <= found[name(6)] <= {"processors", "copy"}
    assert found[name(7)] == {"access", "single_copy"}
    assert found[name(8)] == {"copy", "access"}
    assert found[name(41)] == {"sends"}
    assert found[name(77)] == {"receives"}
    assert found[name(300)] == {"latency"}


def test_links_are_found_with_their_direction(thousand: tuple[Machine, Found]) -> None:
    a, b = ring_pairs(1000)[-1]
    assert ends(thousand[1]) == {frozenset((name(10), name(11))): 2, frozenset((name(a), name(b))): 1}
    one_way = next(link for link in thousand[1].links if link.ways == 1)
    assert (one_way.a, one_way.b) == (name(a), name(b))
    assert one_way.others > 20


def test_fresh_launches_confirm_what_is_there(thousand: tuple[Machine, Found]) -> None:
    held = confirmed(*thousand, seed=9)
    assert {node.node for node in held.nodes} == {node.node for node in thousand[1].nodes}
    assert len(held.links) == 2
    assert not held.loaded_nodes + held.loaded_links
    assert not held.gone


@pytest.mark.parametrize("count", [4, 5, 8, 17, 40])
def test_a_slow_link_of_a_small_machine_is_found(count: int) -> None:
    found = infer(screened(Machine(count=count, disturbed=0, links={(0, 1): 3.0, (1, 0): 3.0}), seed=1))
    assert ends(found) == {frozenset((name(0), name(1))): 2}
    assert not found.nodes


def test_a_slow_node_does_not_hide_another_nor_a_link() -> None:
    machine = Machine(
        count=16, disturbed=0, sends={1: 3.0, 5: 1.5}, receives={1: 3.0}, latency={1: 3.0}, links={(8, 9): 2.0}
    )
    found = infer(screened(machine, seed=1))
    assert measures(found) == {name(1): {"sends", "receives", "latency"}, name(5): {"sends"}}
    assert ends(found) == {frozenset((name(8), name(9))): 1}


@pytest.mark.needs("minutes")
def test_no_healthy_machine_has_a_slow_node_or_link() -> None:
    """100 machines, each with lasting spread, launches that differ, disturbed values, and racks."""
    counts = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64] * 9 + [100] * 8 + [1000] * 2
    for seed, count in enumerate(counts):
        found = infer(screened(Machine(count=count), seed))
        assert not found.nodes, (seed, count, measures(found))
        assert not found.links, (seed, count, found.links)


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


@pytest.mark.parametrize("times_of", [BUSY_MS, QUIET_MS])
def test_a_slow_link_and_a_slow_sender_do_not_make_a_slow_receiver(
    times_of: dict[tuple[int, int], tuple[float, ...]],
) -> None:
    """Nodes 1 and 2 get from the sender, along the link, and from node 3: two of three are slow."""
    seen = Observations(nodes=[name(node) for node in range(4)])
    for (a, b), times_ms in times_of.items():
        for launch, time_ms in enumerate(times_ms):
            seen.add_between("stream", (name(a - 1), name(b - 1)), launch, time_ms * 1e-3)
    found = infer(seen)
    assert measures(found) == {name(3): {"sends"}}
    assert ends(found) == {frozenset((name(0), name(1))): 2}
