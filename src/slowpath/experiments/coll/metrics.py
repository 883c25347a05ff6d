# SPDX-License-Identifier: Apache-2.0
"""Metrics of the experiment coll. Definitions: docs/reference/metrics.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from slowpath.experiments.coll.calls import BOTH, CALL, COMPUTATION, callers, calls
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.overlap import longest, with_exposed
from slowpath.experiments.measured.series import (
    MEDIAN,
    NO_SAMPLES,
    NS,
    PHASES,
    Absent,
    Derived,
    MetricSamples,
    Order,
    SampleBlock,
    chosen,
)

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
    found: dict[str, dict[str, MetricSamples]] = {WORK: {}, SPAN: {}, OWN: {}}
    absent: dict[str, Absent] = {}
    for phase in PHASES:
        one = calls(p, blocks, job, phase)
        if isinstance(one, Absent):
            if one is not NO_SAMPLES:
                return dict.fromkeys(found, one)
            continue
        for metric, values_s in ((WORK, one.work_s), (SPAN, one.span_s), (OWN, one.own_s)):
            if isinstance(values_s, Absent):
                absent[metric] = values_s
            else:
                found[metric][phase] = MetricSamples(values_s, 1, location=LOCATION, clean=one.clean, order=one.order)
    return {metric: phases or absent.get(metric, NO_SAMPLES) for metric, phases in found.items()}


def by_communicator(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=communicators: one value a communicator, the median of its calls to which no rank came late, in the order
    in which the communicators were made; of all its calls where a rank came late to each.
    """
    derived = call_by_call(p, blocks, job)
    whose = {phase: _communicators(chosen(blocks, 0, phase)) for phase in PHASES}
    for phases in derived.values():
        if not isinstance(phases, Absent):
            phases.update({phase: _medians(one, whose[phase]) for phase, one in phases.items()})
    return derived


def in_loop(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=after_barrier and pattern=back_to_back: the mean of calls that follow each other, as benchmarks print it:
    over the ranks, and on the slowest one.
    """
    found: dict[str, dict[str, MetricSamples]] = {LOOP_MEAN: {}, LOOP_SLOWEST: {}}
    for phase in PHASES:
        one = calls(p, blocks, job, phase)
        if isinstance(one, Absent):
            if one is not NO_SAMPLES:
                return dict.fromkeys(found, one)
            continue
        count = one.duration_ns.shape[1]
        parts = np.array_split(one.duration_ns, max(1, count // CALLS_OF_A_SAMPLE), axis=1)
        by_rank_s = np.array([part.mean(axis=1) for part in parts]) * NS  # shape (samples, ranks)
        batch = max(1, min(count, CALLS_OF_A_SAMPLE))
        found[LOOP_MEAN][phase] = MetricSamples(by_rank_s.mean(axis=1), batch, location=LOCATION)
        found[LOOP_SLOWEST][phase] = MetricSamples(by_rank_s.max(axis=1), batch, location=LOCATION)
    return {metric: phases or NO_SAMPLES for metric, phases in found.items()}


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
