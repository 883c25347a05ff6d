# SPDX-License-Identifier: Apache-2.0
"""The experiment `coll`: what the blocks of its ranks are made into, late starts, and what its cells cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from slowpath.analyse.cells import estimate
from slowpath.experiments.coll import COLL, LOOP_MEAN, LOOP_SLOWEST, OWN, SPAN, WORK
from slowpath.experiments.measured import Absent, LaunchContext, MetricSamples, SampleBlock, reduce

CELL = {
    "pattern": "calls",
    "collective": "bcast",
    "way": "library",
    "message_bytes": "65536",
    "members": "all",
    "duplicates": "0",
    "calls": "16",
    "samples": "60",
    "time_limit_s": "1",
    "warmup_s": "0.005",
    "validate": "on",
}
TWO_NODES = LaunchContext(size=3, one_clock=False, one_node=False, hosts=("a", "a", "b"))


def block(
    rank: int,
    begins_ns: Sequence[int] | None,
    times_ns: Sequence[int],
    phase: str = "steady",
    seq0: int = 0,
    allocation: int = 0,
    part: int = 0,
) -> SampleBlock:
    begins = None if begins_ns is None else np.array(begins_ns, dtype=np.int64)
    return SampleBlock(rank, phase, allocation, 1, seq0, np.array(times_ns, dtype=np.int64), begins, part)


def late(rank: int, by_ns: Sequence[int]) -> SampleBlock:
    return block(rank, None, by_ns, part=1)


def derived(
    blocks: Sequence[SampleBlock], ranks: int = 2, job: LaunchContext | None = None, phase: str = "steady", **cell: str
) -> dict[str, MetricSamples | Absent]:
    job = job or LaunchContext(size=ranks, one_clock=True)
    derived = COLL.derive({**CELL, **cell}, blocks, job)
    return {name: metric if isinstance(metric, Absent) else metric[phase] for name, metric in derived.items()}


def values(samples: MetricSamples | Absent) -> list[float]:
    assert isinstance(samples, MetricSamples)
    return [round(float(value) * 1e9, 6) for value in samples.values_s]


def test_work_span_and_own_of_each_call() -> None:
    """The first call: rank 1 enters 40 ns later. The second: rank 0 does, and leaves first."""
    metrics = derived([block(0, [1000, 2030], [100, 20]), block(1, [1040, 2000], [90, 200])])
    assert values(metrics[WORK]) == [90, 170]
    assert values(metrics[SPAN]) == [130, 200]
    assert values(metrics[OWN]) == [100, 200]


def test_what_a_late_rank_waits_for_is_own_time_of_the_others_and_no_work() -> None:
    metrics = derived([block(0, [1000], [550]), block(1, [1500], [60])], arrival="one_late")
    assert (values(metrics[WORK]), values(metrics[SPAN]), values(metrics[OWN])) == ([60], [560], [550])


def test_calls_are_matched_by_communicator_and_number() -> None:
    """Blocks come in any order."""
    first = [block(rank, [1000], [100 + rank], allocation=0) for rank in (0, 1)]
    second = [block(rank, [5000], [300 + rank], allocation=1) for rank in (1, 0)]
    metrics = derived([*second, *first], pattern="communicators")
    assert values(metrics[OWN]) == [101, 301]
    assert isinstance(metrics[OWN], MetricSamples)
    assert metrics[OWN].order is not None
    assert metrics[OWN].order.number.tolist() == [0, 1]


def test_counted_calls_keep_their_numbers() -> None:
    metrics = derived(
        [block(rank, [1, 2, 3], [90, 40, 40], "first") for rank in (0, 1)], phase="first", pattern="counted"
    )
    assert isinstance(metrics[WORK], MetricSamples)
    assert metrics[WORK].order is not None
    assert metrics[WORK].order.number.tolist() == [0, 1, 2]


def test_on_several_nodes_only_what_needs_no_common_clock() -> None:
    blocks = [block(rank, [1000 + 10**9 * rank], [400 + rank]) for rank in range(3)]
    metrics = derived(blocks, job=TWO_NODES)
    why = Absent("ranks on several nodes, whose clocks differ")
    assert (metrics[WORK], metrics[SPAN], values(metrics[OWN])) == (why, why, [402])


def test_a_call_that_a_rank_came_late_to_is_not_clean() -> None:
    """Late by more than 200 ns and by more than 10 % of the typical call."""
    calls = [block(rank, [10**5 * i for i in range(5)], [9000] * 5) for rank in (0, 1)]
    metrics = derived([*calls, late(0, [0, 100, 0, 0, 0]), late(1, [0, 0, 890, 910, 50_000])])
    for metric in (WORK, SPAN, OWN):
        series = metrics[metric]
        assert isinstance(series, MetricSamples)
        assert series.clean is not None
        assert series.clean.tolist() == [True, True, True, False, False]


def test_a_launch_stands_for_its_clean_calls() -> None:
    calls = [block(0, [1000 * i for i in range(20)], [100] * 3 + [900] * 17)]
    calls.append(block(1, [1000 * i for i in range(20)], [100] * 20))
    metrics = derived([*calls, late(0, [0] * 20), late(1, [0] * 3 + [800] * 17)])
    assert isinstance(metrics[OWN], MetricSamples)
    reduced = reduce(metrics[OWN])
    assert reduced is not None
    assert reduced.centre_s == pytest.approx(100e-9)
    known = estimate([reduced], None)
    assert (known.by_rank, known.mean_by_rank) == (pytest.approx([900e-9, 100e-9]), None)


def test_a_launch_stands_by_its_lower_quartile() -> None:
    """Calls that another program disturbed are longer, none is shorter."""
    calls = [block(rank, [1000 * i for i in range(10)], [100] * 4 + [500] * 6) for rank in (0, 1)]
    metrics = derived(calls)
    assert isinstance(metrics[OWN], MetricSamples)
    reduced = reduce(metrics[OWN])
    assert reduced is not None
    assert (reduced.centre_s, reduced.location) == (pytest.approx(100e-9), 0.25)


def test_late_starts_are_counted_over_launches() -> None:
    assert COLL.observer is not None
    observer = COLL.observer()
    job = LaunchContext(size=4, one_clock=True)
    for launch in (0, 1):
        calls = [block(rank, [1, 2, 3, 4], [100] * 4) for rank in (0, 1)]
        observer.add(7, launch, [*calls, late(0, [0] * 4), late(1, [0, 0, 0, 900])], job)
    counts, _ = observer.repetitions(7)
    assert counts is not None
    assert (counts.all, counts.clean, counts.late, counts.launches_of_clean, counts.launches) == (8, 6, 2, 2, 2)
    assert observer.repetitions(8) == (None, "the record does not state when ranks were to enter")


@pytest.mark.parametrize(
    "more",
    [{"message_bytes": "4194304"}, {"warmup_s": "0.1"}, {"way": "scatter+allgather"}, {"pattern": "communicators"}],
)
def test_cost_follows_the_parameters(more: dict[str, str]) -> None:
    assert COLL.seconds(CELL, 4) < COLL.seconds({**CELL, **more}, 4)
    assert COLL.seconds(CELL, 4) < COLL.seconds(CELL, 8)


@pytest.mark.parametrize("pattern", ["after_barrier", "back_to_back"])
def test_a_loop_is_ten_calls_together_over_ranks_and_on_the_slowest_one(pattern: str) -> None:
    # A root that runs ahead: nine quick calls, then one that waits for all; single calls would say a third of it.
    root, other = [1000] * 9 + [21000], [3000] * 10
    metrics = derived([block(0, None, root * 2), block(1, None, other * 2)], pattern=pattern)
    assert values(metrics[LOOP_MEAN]) == [3000, 3000]
    assert values(metrics[LOOP_SLOWEST]) == [3000, 3000]
    metrics = derived([block(0, None, [1000] * 25), block(1, None, [2000] * 25)], pattern=pattern)
    assert values(metrics[LOOP_MEAN]) == [1500, 1500], "what is left over joins the others"
    assert values(metrics[LOOP_SLOWEST]) == [2000, 2000]
    metrics = derived([block(0, None, [1000] * 8), block(1, None, [2000] * 8)], pattern=pattern)
    assert values(metrics[LOOP_SLOWEST]) == [2000]
    other_shape = derived([block(0, None, [1000] * 8), block(1, None, [2000] * 7)], pattern=pattern)
    assert isinstance(other_shape[LOOP_MEAN], Absent)
