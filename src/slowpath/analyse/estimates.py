# SPDX-License-Identifier: Apache-2.0
"""A cell's ESTIMATE objects (docs/results.md) from its launches. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from slowpath.analyse.reduce import Reduced
from slowpath.stats.estimate import LAG_SAMPLES, Estimate, estimate_over_launches, estimate_within_launch
from slowpath.stats.modes import launch_modes
from slowpath.stats.spread import between

SINGLE_OPERATIONS = 60  # up to here the samples of a launch are messages one by one, not a series of batches


def estimate(launches: Sequence[Reduced], quantum_ns: float | None) -> dict[str, Any]:
    """One metric and phase over launches.

    Args: launches: at least one.
          quantum_ns: largest clock quantum of the launches, None when unknown (an imported log).
    """
    centre = _centre(launches)
    medians = [one.median_s for one in launches]
    modes = launch_modes(medians) if len(medians) > 1 else None
    batch = max(one.batch for one in launches)
    inside = [one.within_ratio for one in launches if one.within_ratio is not None]
    return {
        "value": centre.value,
        "interval": list(centre.interval) if centre.interval else None,
        "interval_kind": centre.kind,
        "level": centre.level,
        "launches": len(launches),
        "launch_values": medians,
        **_samples(launches),
        "within_ratio": float(np.median(inside)) if inside else None,
        "between_ratio": between(medians),
        "modes": modes
        and [{"value": m.value, "launches": m.launches, "share_interval": [m.share.low, m.share.high]} for m in modes],
        "batch": batch,
        "quantum_ratio": quantum_ns and quantum_ns * 1e-9 / (centre.value * batch * launches[0].operations),
    }


def _centre(launches: Sequence[Reduced]) -> Estimate:
    if len(launches) > 1:
        return estimate_over_launches([one.median_s for one in launches])
    kept = launches[0].kept_s
    return estimate_within_launch(kept, lag=1 if kept.size <= SINGLE_OPERATIONS else LAG_SAMPLES)


def _samples(launches: Sequence[Reduced]) -> dict[str, Any]:
    """Tails and outliers. A quantile of the tail is the median over launches of the launch's own."""

    def typical(name: str) -> float | None:
        values = [getattr(one.tails, name) for one in launches]
        return None if any(v is None for v in values) else float(np.median(values))

    classes = Counter(one.steady_class for one in launches if one.steady_class)
    severe_s = sum(one.outliers.severe_time_ratio * one.total_s for one in launches)
    return {
        "samples": sum(one.samples for one in launches),
        "cut_samples": sum(one.cut_samples for one in launches),
        "p50": typical("p50"),
        "p90": typical("p90"),
        "p99": typical("p99"),
        "p999": typical("p999"),
        "p999_reason": next((one.tails.reason for one in launches if one.tails.reason), None),
        "min": min(one.tails.min for one in launches),
        "max": max(one.tails.max for one in launches),
        "outliers": {
            "mild": sum(one.outliers.mild for one in launches),
            "severe": sum(one.outliers.severe for one in launches),
            "severe_time_ratio": severe_s / sum(one.total_s for one in launches),
        },
        "steady_class": classes.most_common(1)[0][0] if classes else None,
    }
