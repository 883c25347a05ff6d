# SPDX-License-Identifier: Apache-2.0
"""A cell's ESTIMATE objects (docs/reference/results.md) from its launches. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from slowpath.core.cell_results import ByCleanness, MetricEstimate, Mode, Outliers
from slowpath.experiments.measured.reduce import Reduced
from slowpath.experiments.measured.series import MEDIAN
from slowpath.stats import orderstat
from slowpath.stats.estimate import LAG_SAMPLES, Estimate, estimate_over_launches, estimate_within_launch
from slowpath.stats.modes import launch_modes
from slowpath.stats.spread import between

SINGLE_OPERATIONS = 60  # up to here the samples of a launch are messages one by one, not a series of batches


def estimate(launches: Sequence[Reduced], quantum_ns: float | None) -> MetricEstimate:
    """One metric and phase over launches.

    Args: launches: at least one.
          quantum_ns: largest clock quantum of the launches, None when unknown (an imported log).
    """
    centre = _centre(launches)
    centres = [one.centre_s for one in launches]
    modes = launch_modes(centres) if len(centres) > 1 else None
    batch = max(one.batch for one in launches)
    classes = Counter(one.steady_class for one in launches if one.steady_class)
    inside = [one.within_ratio for one in launches if one.within_ratio is not None]
    return MetricEstimate(
        value=centre.value,
        interval=centre.interval,
        interval_kind=centre.kind,
        level=centre.level,
        launches=len(launches),
        location=launches[0].location,
        launch_values=centres,
        by_repetitions=_by_repetitions(launches),
        samples=sum(one.samples for one in launches),
        cut_samples=sum(one.cut_samples for one in launches),
        p50=float(np.median([one.tails.p50 for one in launches])),
        p90=_typical([one.tails.p90 for one in launches]),
        p99=_typical([one.tails.p99 for one in launches]),
        p999=_typical([one.tails.p999 for one in launches]),
        p999_reason=next((one.tails.reason for one in launches if one.tails.reason), None),
        min=min(one.tails.min for one in launches),
        max=max(one.tails.max for one in launches),
        outliers=_outliers(launches),
        steady_class=classes.most_common(1)[0][0] if classes else None,
        within_ratio=float(np.median(inside)) if inside else None,
        between_ratio=between(centres),
        modes=modes
        and [Mode(value=m.value, launches=m.launches, share_interval=(m.share.low, m.share.high)) for m in modes],
        batch=batch,
        quantum_ratio=quantum_ns and quantum_ns * 1e-9 / (centre.value * batch * launches[0].operations),
    )


def _centre(launches: Sequence[Reduced]) -> Estimate:
    if len(launches) > 1:
        return estimate_over_launches([one.centre_s for one in launches])
    only = launches[0]
    lag = 1 if only.kept_s.size <= SINGLE_OPERATIONS else LAG_SAMPLES
    if only.location == MEDIAN:
        return estimate_within_launch(only.kept_s, lag=lag)
    return _quantile_within(only, lag)


def _by_repetitions(launches: Sequence[Reduced]) -> ByCleanness | None:
    """Where clean samples are distinguished: the value over them, over all, and the number of launches with enough."""
    everything = [one.all_s for one in launches if one.all_s is not None]
    if not everything:
        return None
    clean = [one.clean_s for one in launches if one.clean_s is not None]
    return ByCleanness(
        clean_value=estimate_over_launches(clean).value if clean else None,
        all_value=estimate_over_launches(everything).value,
        launches_of_clean=len(clean),
    )


def _quantile_within(launch: Reduced, lag: int) -> Estimate:
    """Another quantile than the median, of one launch.

    Medians of consecutive samples have quantiles of their own, so every lag-th sample is taken instead: these are as
    good as independent and keep the distribution.
    """
    p, size = launch.location, launch.kept_s.size
    found = orderstat.quantile_interval(launch.kept_s[::lag], p)
    if found is None:
        kind = f"one launch, {size} samples < {orderstat.minimal_n(p) * lag}, no interval"
        return Estimate(launch.centre_s, None, None, kind, None, size)
    kind = f"order statistics of the {100 * p:g} % quantile within one launch"
    return Estimate(launch.centre_s, found.low, found.high, kind, found.level, size)


def _typical(quantiles: Sequence[float | None]) -> float | None:
    """Of the tail: the median over launches of the launch's own; None where one launch has too few samples."""
    known = [one for one in quantiles if one is not None]
    return float(np.median(known)) if len(known) == len(quantiles) else None


def _outliers(launches: Sequence[Reduced]) -> Outliers:
    severe_s = sum(one.outliers.severe_time_ratio * one.total_s for one in launches)
    return Outliers(
        mild=sum(one.outliers.mild for one in launches),
        severe=sum(one.outliers.severe for one in launches),
        severe_time_ratio=severe_s / sum(one.total_s for one in launches),
    )
