# SPDX-License-Identifier: Apache-2.0
"""first_use: which rank's time counts, the pairs of the first peers, what a cell costs, and uses one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slowpath.analyse.cells import by_repetition, estimate
from slowpath.core.plan import Cell
from slowpath.experiments.experiment import Experiment
from slowpath.experiments.first_use import FIRST_USE, first_use_seconds, peers_in_order
from slowpath.experiments.measured import LaunchContext, MetricSamples, Reduced, SampleBlock, reduce

ONE_NODE = LaunchContext(2, True, hosts=("a", "a"))
TWO_NODES = LaunchContext(2, False, one_node=False, hosts=("a", "b"))
FULL = {"pattern": "shared_window", "uses": "2", "validate": "on", "window_bytes": str(64 << 20)}


def block(rank: int, begins_ns: list[int], lengths_ns: list[int], part: int = 0, phase: str = "first") -> SampleBlock:
    begins, lengths = (np.array(times_ns, dtype=np.int64) for times_ns in (begins_ns, lengths_ns))
    return SampleBlock(rank, phase, 0, 1, int(phase == "steady"), lengths, begins, part)


def values(derived: object, phase: str = "first") -> list[float]:
    assert isinstance(derived, dict)
    series: MetricSamples = derived[phase]
    return [round(float(values_) * 1e9) for values_ in series.values_s]


def derived(pattern: str, blocks: list[SampleBlock], job: LaunchContext = ONE_NODE, **given: str) -> dict[str, object]:
    return dict(FIRST_USE.derive({"pattern": pattern, **given}, blocks, job))


def test_a_late_rank_is_not_in_the_time_of_a_call_together() -> None:
    blocks = [block(0, [100], [900]), block(1, [800], [200])]
    assert values(derived("communicator", blocks)["communicator_s"]) == [200]
    assert values(derived("communicator", blocks, TWO_NODES)["communicator_s"]) == [900]


def test_what_a_rank_does_alone_is_the_longest_of_a_rank() -> None:
    blocks = [block(rank, [begin], [900 - begin], part) for part in range(6) for rank, begin in ((0, 100), (1, 700))]
    metrics = derived("init", blocks)
    assert values(metrics["init_s"]) == [800]
    assert values(metrics["first_duplicate_s"]) == [200]


def test_calls_in_a_row_share_the_time_of_their_use() -> None:
    blocks = [replace(block(rank, [begin], [1000], phase="steady"), batch=10) for rank, begin in ((0, 100), (1, 300))]
    metrics = derived("call", blocks)
    assert values(metrics["call_s"], "steady") == values(metrics["call_own_s"], "steady") == [100]


def test_each_rank_s_own_times_stay_beside_the_longest_and_tell_which_one_stalls() -> None:
    begins, stalling, other = [100, 900, 1700], [500, 700, 3600], [200, 100, 150]
    blocks = [block(rank, begins, spans, phase="steady") for rank, spans in enumerate((stalling, other))]
    series = derived("call", blocks)["call_own_s"]
    assert isinstance(series, dict)
    reduced = reduce(series["steady"])
    assert reduced is not None
    known = estimate([reduced], None)
    assert (known.by_rank, known.mean_by_rank) == (pytest.approx([7e-7, 1.5e-7]), pytest.approx([16e-7, 1.5e-7]))


@pytest.mark.parametrize("order", ["ascending", "xor"])
@pytest.mark.parametrize("size", [2, 3, 4, 7, 8])
def test_every_rank_meets_every_other_one_once_and_no_order_deadlocks(order: str, size: int) -> None:
    left = [peers_in_order(order, rank, size) for rank in range(size)]
    assert [sorted(peers) for peers in left] == [[peer for peer in range(size) if peer != rank] for rank in range(size)]
    while any(left):  # pairs that wait for each other meet
        pairs = [(rank, peers[0]) for rank, peers in enumerate(left) if peers and left[peers[0]][:1] == [rank]]
        assert pairs, left
        for rank, _ in pairs:
            left[rank].pop(0)


def test_of_a_pair_the_shorter_time_counts_since_the_other_rank_has_waited() -> None:
    # Ascending: rank 0 meets 1, 2; rank 1 meets 0, 2; rank 2 meets 0, 1.
    lengths = {0: [10, 20], 1: [15, 90], 2: [500, 30]}
    blocks = [block(rank, [0, 600], times, 1) for rank, times in lengths.items()]
    blocks += [block(rank, [0], [1000]) for rank in lengths]
    metrics = derived("peer", blocks, LaunchContext(3, True, hosts=("a",) * 3), order="ascending")
    assert values(metrics["peer_s"]) == [20]  # of (0, 1) 10, of (2, 0) 20
    assert values(metrics["peer_s"], "steady") == [30]  # of (0, 2) 20, of (1, 2) 30
    assert values(metrics["peers_s"]) == [1000]


def test_a_cell_of_windows_costs_by_its_pages_and_ranks() -> None:
    short, more_ranks = first_use_seconds(FULL, 2), first_use_seconds(FULL, 4)
    longer = first_use_seconds({**FULL, "window_bytes": str(128 << 20)}, 2)
    assert longer / short == pytest.approx(2, rel=0.05)
    assert more_ranks / short == pytest.approx(2, rel=0.05)
    assert first_use_seconds({**FULL, "pattern": "init"}, 8) == 0


def test_every_pattern_has_a_cost_and_a_size_on_disk() -> None:
    experiment: Experiment = FIRST_USE
    for pattern in experiment.patterns:
        p = {**FULL, "pattern": pattern.name}
        assert experiment.seconds(p, 4) >= 0
        assert experiment.recorded_bytes(p, 4) > 0


def reduced(times_ns: list[int]) -> Reduced:
    reduced = reduce(MetricSamples(np.array(times_ns) * 1e-9, 1))
    assert reduced is not None
    return reduced


def test_uses_of_a_launch_stand_one_by_one() -> None:
    names = {"key": "k", "group": "communicators", "label": "l", "environment": "default", "placement": "bound"}
    cell = Cell(cell=3, experiment="first_use", parameters={}, **names)
    first = {1: (1, reduced([900])), 2: (2, reduced([800]))}
    later = {1: (1, reduced([10, 20, 30])), 2: (2, reduced([11, 21, 31]))}
    uses = by_repetition(cell, [], first, later)
    assert uses is not None
    assert uses.repetitions == [1, 2, 3, 4]
    assert uses.launch_values == [
        pytest.approx([900e-9, 10e-9, 20e-9, 30e-9]),
        pytest.approx([800e-9, 11e-9, 21e-9, 31e-9]),
    ]
    assert by_repetition(cell, [], first, {1: (1, reduced([10]))}) is None  # two uses: the phases say it all
