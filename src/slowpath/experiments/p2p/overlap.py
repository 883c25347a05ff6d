# SPDX-License-Identifier: Apache-2.0
"""Metrics of the pattern overlap of p2p: messages both ways while both sides compute. Pure.

Definitions: docs/reference/metrics.md.

A block's part says what its samples span: communication alone, computation alone, both at once
(docs/internals/record.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import (
    NO_SAMPLES,
    NS,
    PHASES,
    Absent,
    Derived,
    MetricSamples,
    SampleBlock,
    chosen,
)
from slowpath.experiments.p2p.metrics import receiver
from slowpath.stats.inputs import Floats

COMMUNICATION, COMPUTATION, BOTH = 0, 1, 2
HIDDEN = Absent(
    "in no launch did both at once take longer than computing alone: the communication is hidden; see overlapped_s"
)
_NO_MATCH = Absent("the blocks of the two ends do not match")


def overlap(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The slower end of each sample counts. What is exposed is one value a launch: in single samples the difference
    of two nearly equal times may be negative, and then has no logarithm."""
    last = receiver(p, job.size)
    found: Derived = {
        name: _part(blocks, last, part)
        for name, part in (("communication_s", COMMUNICATION), ("compute_s", COMPUTATION), ("overlapped_s", BOTH))
    }
    exposed_s, whole_s = _exposed_s(found), _median_s(found["communication_s"])
    if exposed_s is None or whole_s is None:
        return found | {"exposed_s": NO_SAMPLES, "exposed_communication_ratio": NO_SAMPLES}
    if exposed_s <= 0:
        return found | {"exposed_s": HIDDEN, "exposed_communication_ratio": HIDDEN}
    return found | {
        "exposed_s": _one_value(exposed_s),
        "exposed_communication_ratio": _one_value(exposed_s / whole_s),
    }


def _part(blocks: Sequence[SampleBlock], last: int, part: int) -> dict[str, MetricSamples] | Absent:
    """By phase, seconds of one operation on the slower end, sample by sample."""
    mine = [block for block in blocks if block.part == part]
    phases: dict[str, MetricSamples] = {}
    for phase in PHASES:
        ends = [{(b.allocation, b.seq0): b for b in chosen(mine, rank, phase)} for rank in (0, last)]
        if not ends[0]:
            continue
        slower: list[Floats] = []
        for place, one in ends[0].items():
            other = ends[1].get(place)
            if other is None or len(other.duration_ns) != len(one.duration_ns):
                return _NO_MATCH
            slower.append(np.maximum(one.duration_ns, other.duration_ns) * (NS / one.batch))
        batch = max(block.batch for block in ends[0].values())
        phases[phase] = MetricSamples(np.concatenate(slower), batch)
    return phases or NO_SAMPLES


def _exposed_s(found: Derived) -> float | None:
    """Median over the samples of a launch of both at once minus computing alone."""
    both, alone = _steady(found["overlapped_s"]), _steady(found["compute_s"])
    if both is None or alone is None or both.shape != alone.shape:
        return None
    return float(np.median(both - alone))


def _median_s(part: dict[str, MetricSamples] | Absent) -> float | None:
    values = _steady(part)
    return None if values is None else float(np.median(values))


def _steady(part: dict[str, MetricSamples] | Absent) -> Floats | None:
    series = None if isinstance(part, Absent) else part.get("steady")
    return None if series is None else series.values_s


def _one_value(value: float) -> dict[str, MetricSamples]:
    return {"steady": MetricSamples(np.array([value]), 1)}
