# SPDX-License-Identifier: Apache-2.0
"""The experiment `coll`: collectives, and what the library's other calls make of them.

Definitions of its metrics: docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slowpath.core.cell_results import RepetitionCounts
from slowpath.core.engine_description import recorded_roles
from slowpath.core.units import whole_number
from slowpath.experiments.experiment import Experiment, Pattern, timed
from slowpath.experiments.measured import (
    BLOCK_BYTES,
    ENOUGH_CLEAN,
    EVENT_BYTES,
    MEDIAN,
    NO_MATCH,
    NO_SAMPLES,
    NS,
    OTHER_NODES_REASON,
    PHASES,
    SAMPLE_BYTES,
    UNSTATED,
    Absent,
    Derived,
    LaunchContext,
    MetricSamples,
    Order,
    SampleBlock,
    chosen,
    longest,
    order_of,
    with_exposed,
)
from slowpath.stats.estimate import Floats

CALL, LATE = 0, 1  # parts: the call itself; how long after its deadline the rank entered it
COMPUTATION, BOTH = 2, 3  # parts of pattern=overlap: computing alone, and between start and wait

LATE_NS = 200  # leaving a loop that reads the clock takes up to this long
LATE_RATIO = 0.1  # of the typical span: so much of a skew says nothing about the call

_NO_MATCH = NO_MATCH
_NO_BEGINS = UNSTATED.format("when ranks entered")
_OTHER_NODES = OTHER_NODES_REASON


@dataclass(frozen=True)
class Calls:
    """duration_ns: of each rank's call, int64, shape (ranks, calls), in the order of the calls.

    entry_ns: on one clock, same shape; or why there is none.  late_ns: how long after its deadline each rank entered,
    same shape; None: not recorded.  order: where the calls stand in their launch, by the first rank's begin.
    """

    duration_ns: NDArray[np.int64]
    entry_ns: NDArray[np.int64] | Absent
    late_ns: NDArray[np.int64] | None
    order: Order | None

    @property
    def own_s(self) -> Floats:
        """T_own of the slowest rank, shape (calls,)."""
        own_s: Floats = self.duration_ns.max(axis=0).astype(np.float64) * NS
        return own_s

    @property
    def span_s(self) -> Floats | Absent:
        """T_span: last exit - first entry, shape (calls,)."""
        if isinstance(self.entry_ns, Absent):
            return self.entry_ns
        span_ns: NDArray[np.int64] = (self.entry_ns + self.duration_ns).max(axis=0) - self.entry_ns.min(axis=0)
        return span_ns.astype(np.float64) * NS

    @property
    def work_s(self) -> Floats | Absent:
        """T_work: last exit - last entry, shape (calls,)."""
        if isinstance(self.entry_ns, Absent):
            return self.entry_ns
        work_ns: NDArray[np.int64] = (self.entry_ns + self.duration_ns).max(axis=0) - self.entry_ns.max(axis=0)
        return work_ns.astype(np.float64) * NS

    @property
    def clean(self) -> NDArray[np.bool_] | None:
        """Calls to which no rank came late, shape (calls,); None: not recorded."""
        if self.late_ns is None:
            return None
        allowed = max(LATE_NS, LATE_RATIO * float(np.median(self.own_s)) / NS)
        in_time: NDArray[np.bool_] = self.late_ns.max(axis=0) <= allowed
        return in_time


def callers(p: Mapping[str, str], ranks: int) -> int:
    """How many ranks call the collective of a cell: the first ones of the job."""
    members = p.get("members", "all")
    return ranks if members == "all" else min(ranks, whole_number(members) or ranks)


def calls(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext, phase: str) -> Calls | Absent:
    """One phase of a cell in a launch: the calls of all ranks matched by communicator and number."""
    size = callers(p, job.size)
    ranks = [_of_part(chosen(blocks, rank, phase), CALL) for rank in range(size)]
    if not any(ranks):
        return NO_SAMPLES
    if len({_shape(rank) for rank in ranks}) > 1:
        return Absent(_NO_MATCH)
    return Calls(
        np.array([_durations(rank) for rank in ranks]),
        _entries(ranks, job, size),
        _late([_of_part(chosen(blocks, rank, phase), LATE) for rank in range(size)], _shape(ranks[0])),
        order_of(ranks[0]),
    )


def _of_part(blocks: Sequence[SampleBlock], part: int) -> list[SampleBlock]:
    return [block for block in blocks if block.part == part]


def _shape(blocks: Sequence[SampleBlock]) -> tuple[tuple[int, int, int], ...]:
    return tuple((block.allocation, block.seq0, block.duration_ns.size) for block in blocks)


def _durations(blocks: Sequence[SampleBlock]) -> NDArray[np.int64]:
    return np.concatenate([block.duration_ns for block in blocks])


def _entries(ranks: Sequence[Sequence[SampleBlock]], job: LaunchContext, size: int) -> NDArray[np.int64] | Absent:
    if not (job.shares_clock or _on_one_node(job, size)):
        return Absent(_OTHER_NODES)
    begins = [[block.start_ns for block in rank if block.start_ns is not None] for rank in ranks]
    if any(len(got) != len(rank) for got, rank in zip(begins, ranks, strict=True)):
        return Absent(_NO_BEGINS)
    return np.array([np.concatenate(got) for got in begins])


def _on_one_node(job: LaunchContext, size: int) -> bool:
    """The ranks that call share a node, even where others do not."""
    if len(job.hosts) != job.size:
        return job.one_node
    return len(set(job.hosts[:size])) == 1


def _late(ranks: Sequence[Sequence[SampleBlock]], shape: tuple[tuple[int, int, int], ...]) -> NDArray[np.int64] | None:
    if any(_shape(rank) != shape for rank in ranks):
        return None
    return np.array([_durations(rank) for rank in ranks])


# Other programs only ever add to a call. Under load the lower quartile repeats from launch to launch where the median
# does not: on a machine with twelve times more to do than cores the spread of a ratio fell from 32 to 17 %.
LOCATION = 0.25

WORK, SPAN, OWN = "collective_work_s", "collective_span_s", "collective_own_s"
LOOP_MEAN, LOOP_SLOWEST = "collective_loop_mean_s", "collective_loop_slowest_s"
CALLS_OF_A_SAMPLE = 10  # that follow each other: a call that fills a buffer is as much of a loop as one that waits


def call_by_call(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=calls and pattern=counted. Ranks wait for a deadline before each call, so that calls do not follow one
    another without a pause and no warm-up is looked for at their head: the engine has warmed up by then.
    """
    by_metric: dict[str, dict[str, MetricSamples]] = {WORK: {}, SPAN: {}, OWN: {}}
    absent: dict[str, Absent] = {}
    for phase in PHASES:
        phase_calls = calls(p, blocks, job, phase)
        if isinstance(phase_calls, Absent):
            if phase_calls is not NO_SAMPLES:
                return dict.fromkeys(by_metric, phase_calls)
            continue
        for metric, values_s in ((WORK, phase_calls.work_s), (SPAN, phase_calls.span_s), (OWN, phase_calls.own_s)):
            if isinstance(values_s, Absent):
                absent[metric] = values_s
            else:
                by_metric[metric][phase] = MetricSamples(
                    values_s,
                    1,
                    location=LOCATION,
                    clean=phase_calls.clean,
                    order=phase_calls.order,
                    by_rank_s=np.quantile(phase_calls.duration_ns, [LOCATION], axis=1) * NS if metric == OWN else None,
                )
    return {metric: phases or absent.get(metric, NO_SAMPLES) for metric, phases in by_metric.items()}


def by_communicator(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=communicators: one value a communicator, the median of its calls to which no rank came late, in the order
    in which the communicators were made; of all its calls where a rank came late to each.
    """
    derived = call_by_call(p, blocks, job)
    whose = {phase: _communicators(chosen(blocks, 0, phase)) for phase in PHASES}
    for phases in derived.values():
        if not isinstance(phases, Absent):
            phases.update({phase: _medians(phase_calls, whose[phase]) for phase, phase_calls in phases.items()})
    return derived


def in_loop(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=after_barrier and pattern=back_to_back: the mean of calls that follow each other, as benchmarks print it:
    over the ranks, and on the slowest one.
    """
    by_metric: dict[str, dict[str, MetricSamples]] = {LOOP_MEAN: {}, LOOP_SLOWEST: {}}
    for phase in PHASES:
        phase_calls = calls(p, blocks, job, phase)
        if isinstance(phase_calls, Absent):
            if phase_calls is not NO_SAMPLES:
                return dict.fromkeys(by_metric, phase_calls)
            continue
        count = phase_calls.duration_ns.shape[1]
        parts = np.array_split(phase_calls.duration_ns, max(1, count // CALLS_OF_A_SAMPLE), axis=1)
        by_rank_s = np.array([part.mean(axis=1) for part in parts]) * NS  # shape (samples, ranks)
        batch = max(1, min(count, CALLS_OF_A_SAMPLE))
        by_metric[LOOP_MEAN][phase] = MetricSamples(by_rank_s.mean(axis=1), batch, location=LOCATION)
        by_metric[LOOP_SLOWEST][phase] = MetricSamples(by_rank_s.max(axis=1), batch, location=LOCATION)
    return {metric: phases or NO_SAMPLES for metric, phases in by_metric.items()}


def overlap(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=overlap: a nonblocking call alone, computing alone, and both at once, each on its slowest rank."""
    ranks = range(callers(p, job.size))
    parts = ((OWN, CALL), ("compute_s", COMPUTATION), ("overlapped_s", BOTH))
    return with_exposed(OWN, {name: longest(blocks, ranks, part) for name, part in parts})


def _communicators(blocks: Sequence[SampleBlock]) -> NDArray[np.int64]:
    """Of each call the number of its communicator, shape (calls,)."""
    mine = [block for block in blocks if block.part == CALL]
    return np.repeat([block.allocation for block in mine], [block.duration_ns.size for block in mine])


def _medians(samples: MetricSamples, communicator: NDArray[np.int64]) -> MetricSamples:
    numbers, begins = np.unique(communicator, return_index=True)
    clean = np.ones(communicator.size, dtype=np.bool_) if samples.clean is None else samples.clean
    groups = [communicator == number for number in numbers]
    kept = [group & clean if (group & clean).any() else group for group in groups]
    values_s = np.array([np.median(samples.values_s[group]) for group in kept], dtype=np.float64)
    order = None if samples.order is None else Order(numbers, samples.order.begin_ns[begins])
    return replace(samples, values_s=values_s, location=MEDIAN, clean=None, order=order)


Parameters = Mapping[str, str]

PARTS = 2  # the call, and how late the rank was

# Of all others each rank has a block for each other one: the bytes of a call grow with the ranks.
_ONE_MESSAGE = ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan")


@dataclass(frozen=True)
class CollCost:
    """Assumed speeds of a slow machine of 2 cores, as in `P2pCost`."""

    cell_s: float = 0.0015  # a fresh communicator, agreement, gathering, the record
    communicator_s: float = 0.0005  # one more
    step_s: float = 5e-6  # a message between two ranks that run
    turn_s: float = 20e-6  # until a rank that shares a core runs again
    cores: int = 2
    bytes_per_s: float = 2e9
    released_s: float = 20e-6  # a barrier of our own, and waiting for the deadline
    check_s_per_byte: float = 2e-9
    fewest_samples: int = 8
    fewest_warmup: int = 8
    fewest_counted: int = 24
    fewest_communicators: int = 16
    fewest_on_each: int = 8
    crossing_s: float = 60e-6  # a message between two nodes, over TCP
    crossing_bytes_per_s: float = 1e9
    agreements: int = 10  # of all ranks, around the calls of a cell


_COST = CollCost()


def coll_seconds(p: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch, all ranks on one node."""
    return _cell_s(p, ranks, 1)


def coll_across_s(p: Parameters, ranks: int, nodes: int) -> float:
    """Seconds that it takes more where its ranks are on several nodes."""
    return _cell_s(p, ranks, nodes) - _cell_s(p, ranks, 1)


def _cell_s(p: Parameters, ranks: int, nodes: int) -> float:
    size = callers(p, ranks)
    one_s = _call_s(p, size, nodes) + _released_s(ranks, nodes)
    checked_s = _bytes(p, size) * _COST.check_s_per_byte if p["validate"] == "on" else 0.0
    agreed_s = _COST.agreements * _crossings(nodes) * _COST.crossing_s
    made_s = _COST.communicator_s + 2 * _crossings(nodes) * _COST.crossing_s
    around_s = _COST.cell_s + agreed_s + checked_s + int(p["duplicates"]) * (made_s + _COST.fewest_warmup * one_s)
    limit_s, calls = float(p["time_limit_s"]), int(p["calls"])
    if p["pattern"] == "counted":
        return around_s + _limited_s(one_s, calls, _COST.fewest_counted, limit_s)
    if p["pattern"] == "overlap":
        one_s *= 4  # alone, as long computing, and at worst one after the other
    warmup_s = max(_COST.fewest_warmup * one_s, float(p["warmup_s"]))
    if p["pattern"] == "communicators":
        on_each_s = _limited_s(one_s, int(p["samples"]), _COST.fewest_on_each, limit_s)
        each_s = made_s + _COST.fewest_warmup * one_s + on_each_s
        all_s = calls * (limit_s + float(p["warmup_s"]))
        return around_s + _limited_s(each_s, calls, _COST.fewest_communicators, all_s)
    return around_s + warmup_s + _limited_s(one_s, int(p["samples"]), _COST.fewest_samples, limit_s)


def _limited_s(each_s: float, number: int, fewest: int, limit_s: float) -> float:
    """What `number` of them take, or fewer that end after the limit, but `fewest` at least."""
    return min(number * each_s, max(fewest * each_s, limit_s))


def coll_recorded_bytes(p: Parameters, ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    blocks = int(p["calls"]) if p["pattern"] == "communicators" else 2
    samples = int(p["calls"]) if p["pattern"] == "counted" else int(p["samples"]) * blocks
    parts = PARTS + 2 if p["pattern"] == "overlap" else PARTS
    return ranks * (parts * (blocks * BLOCK_BYTES + (samples + 1) * SAMPLE_BYTES) + 2 * EVENT_BYTES)


def _call_s(p: Parameters, size: int, nodes: int) -> float:
    """One call by a tree, each part of a mock-up one more."""
    steps = max(1, (size - 1).bit_length())
    parts = 1 + p["way"].count("+")
    turns = _COST.turn_s if size > _COST.cores else 0.0
    crossed_s = _crossings(nodes) * _COST.crossing_s
    if nodes > 1:
        crossed_s += _bytes(p, size) / _COST.crossing_bytes_per_s
    return parts * (steps * (_COST.step_s + turns) + _bytes(p, size) / _COST.bytes_per_s + crossed_s)


def _released_s(ranks: int, nodes: int) -> float:
    steps = max(1, (ranks - 1).bit_length())
    turns_s = steps * _COST.turn_s if ranks > _COST.cores else 0.0
    return _COST.released_s + turns_s + _crossings(nodes) * _COST.crossing_s


def _crossings(nodes: int) -> int:
    """Messages between nodes one after the other, by a tree."""
    return (nodes - 1).bit_length()


def _bytes(p: Parameters, size: int) -> int:
    """That all ranks together receive, at least."""
    message = int(p["message_bytes"])
    blocks = size if p["collective"] in _ONE_MESSAGE else size * size
    return message * blocks


_NOT_RECORDED = UNSTATED.format("when ranks were to enter")


@dataclass(frozen=True)
class _Launch:
    calls: int
    clean: int
    enough: bool  # clean calls to stand for the launch alone


class LateStarts:
    """By cell, gathered launch by launch; first and later calls together."""

    def __init__(self) -> None:
        self._launches: dict[int, list[_Launch]] = {}

    def add(self, cell: int, launch: int, blocks: Sequence[SampleBlock], job: LaunchContext) -> None:
        """One launch's blocks of a cell of this experiment."""
        members = {"members": str(1 + max((block.rank for block in blocks), default=0))}
        masks = []
        for phase in PHASES:
            phase_calls = calls(members, blocks, job, phase)
            if not isinstance(phase_calls, Absent) and phase_calls.clean is not None:
                masks.append(phase_calls.clean)
        if masks:
            clean = int(sum(mask.sum() for mask in masks))
            enough = int(masks[-1].sum()) >= ENOUGH_CLEAN
            self._launches.setdefault(cell, []).append(_Launch(sum(mask.size for mask in masks), clean, enough))

    def repetitions(self, cell: int) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""
        known = self._launches.get(cell)
        if not known:
            return None, _NOT_RECORDED
        every, clean = sum(launch.calls for launch in known), sum(launch.clean for launch in known)
        counts = RepetitionCounts(
            all=every,
            clean=clean,
            switched=None,
            loaded=None,
            late=every - clean,
            launches_of_clean=sum(launch.enough for launch in known),
            launches=len(known),
        )
        return counts, "only late starts are recorded"


EXPERIMENT = "coll"

COLL = Experiment(
    name=EXPERIMENT,
    patterns=(
        Pattern("calls", call_by_call, timed(EXPERIMENT, "calls")),
        Pattern("counted", call_by_call, timed(EXPERIMENT, "counted")),
        Pattern("communicators", by_communicator, timed(EXPERIMENT, "communicators")),
        Pattern("overlap", overlap, timed(EXPERIMENT, "overlap")),
        Pattern("after_barrier", in_loop, timed(EXPERIMENT, "after_barrier")),
        Pattern("back_to_back", in_loop, timed(EXPERIMENT, "back_to_back")),
    ),
    roles=recorded_roles(EXPERIMENT),
    seconds=coll_seconds,
    across_s=coll_across_s,
    recorded_bytes=coll_recorded_bytes,
    observer=LateStarts,
    views=("coll",),
    brief={"samples": "60", "time_limit_s": "0.01", "warmup_s": "0.003"},
)
