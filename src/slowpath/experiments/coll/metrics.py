# SPDX-License-Identifier: Apache-2.0
"""Metrics of the experiment coll. Definitions: docs/reference/metrics.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.coll.calls import Calls, calls
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, PHASES, Absent, Derived, MetricSamples, SampleBlock
from slowpath.stats.inputs import Floats

WORK, SPAN, OWN = "collective_work_s", "collective_span_s", "collective_own_s"


def one_communicator(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=calls: the first call, and later ones, which follow one another."""
    return _derive(p, blocks, job, consecutive=True)


def numbered(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """pattern=counted and pattern=communicators: calls that differ by their number, or by that of their communicator,
    so that nothing at their head is a warm-up.
    """
    return _derive(p, blocks, job, consecutive=False)


def _derive(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext, *, consecutive: bool) -> Derived:
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
                found[metric][phase] = _series(values_s, one, consecutive and phase == "steady")
    return {metric: phases or absent.get(metric, NO_SAMPLES) for metric, phases in found.items()}


def _series(values_s: Floats, one: Calls, consecutive: bool) -> MetricSamples:
    return MetricSamples(values_s, 1, consecutive=consecutive, clean=one.clean, order=one.order)
