# SPDX-License-Identifier: Apache-2.0
"""Metrics of the experiment put: bursts of one-sided operations. Definitions: docs/reference/metrics.md. Pure.

A block's field `allocation` says what its samples span (docs/internals/record.md): whole bursts, or the puts and the
synchronisation of single bursts apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, Absent, Derived, MetricSamples, SampleBlock, per_operation

WHOLE, PUTS, SYNCHRONISATION = 0, 1, 2

# Other processes only ever add to a burst of some 10 us. Under load a lower quantile repeats from launch to launch
# where the median does not; the minimum would be the luckiest burst instead of a usual one.
LOCATION = 0.25


def burst(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Bursts, timed on the origin, rank 0."""
    puts = int(p.get("puts", "1000"))

    def part(number: int, operations: int) -> dict[str, MetricSamples] | Absent:
        mine = [b for b in blocks if b.allocation == number]
        return per_operation(mine, 0, operations, location=LOCATION, batches=True) or NO_SAMPLES

    return {
        "time_per_put_s": part(WHOLE, puts),
        "put_call_s": part(PUTS, puts),
        "synchronisation_s": part(SYNCHRONISATION, 1),
    }
