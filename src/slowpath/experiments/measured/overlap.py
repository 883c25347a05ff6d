# SPDX-License-Identifier: Apache-2.0
"""Communication around a computation: parts of samples, and what of the communication is exposed. Pure.

A block's part says what its samples span (docs/internals/record.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
from slowpath.stats.inputs import Floats

HIDDEN = Absent(
    "in no launch did both at once take longer than computing alone: the communication is hidden; see overlapped_s"
)
_NO_MATCH = Absent("the blocks of the ranks do not match")


def longest(blocks: Sequence[SampleBlock], ranks: Sequence[int], part: int) -> dict[str, MetricSamples] | Absent:
    """Return one part by phase: seconds of one operation on the slowest of the ranks, sample by sample."""
    mine = [block for block in blocks if block.part == part]
    phases: dict[str, MetricSamples] = {}
    for phase in PHASES:
        of_ranks = [{(b.allocation, b.seq0): b for b in chosen(mine, rank, phase)} for rank in ranks]
        if not of_ranks or not of_ranks[0]:
            continue
        slowest: list[Floats] = []
        for place, one in of_ranks[0].items():
            others = [of_rank.get(place) for of_rank in of_ranks]
            durations = [block.duration_ns for block in others if block is not None]
            if len(durations) != len(others) or len({len(values) for values in durations}) > 1:
                return _NO_MATCH
            slowest.append(np.max(durations, axis=0) * (NS / one.batch))
        batch = max(block.batch for block in of_ranks[0].values())
        phases[phase] = MetricSamples(np.concatenate(slowest), batch)
    return phases or NO_SAMPLES


def with_exposed(alone: str, found: Derived) -> Derived:
    """Return the parts with what is exposed, which is one value a launch: in single samples the difference of two
    nearly equal times may be negative, and then has no logarithm.

    Args: alone: the metric of the communication alone.  found: it, compute_s and overlapped_s.
    """
    exposed_s, whole_s = _exposed_s(found), _median_s(found[alone])
    if exposed_s is None or whole_s is None:
        return found | {"exposed_s": NO_SAMPLES, "exposed_communication_ratio": NO_SAMPLES}
    if exposed_s <= 0:
        return found | {"exposed_s": HIDDEN, "exposed_communication_ratio": HIDDEN}
    return found | {
        "exposed_s": _one_value(exposed_s),
        "exposed_communication_ratio": _one_value(exposed_s / whole_s),
    }


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
