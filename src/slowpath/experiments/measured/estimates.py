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
    centres = [launch.centre_s for launch in launches]
    modes = launch_modes(centres) if len(centres) > 1 else None
    batch = max(launch.batch for launch in launches)
    classes = Counter(launch.steady_class for launch in launches if launch.steady_class)
    inside = [launch.within_ratio for launch in launches if launch.within_ratio is not None]
    return MetricEstimate(
        value=centre.value,
        interval=centre.interval,
        interval_kind=centre.kind,
        level=centre.level,
        launches=len(launches),
        location=launches[0].location,
        launch_values=centres,
        by_repetitions=_by_repetitions(launches),
        samples=sum(launch.samples for launch in launches),
        cut_samples=sum(launch.cut_samples for launch in launches),
        p50=float(np.median([launch.tails.p50 for launch in launches])),
        p90=_typical([launch.tails.p90 for launch in launches]),
        p99=_typical([launch.tails.p99 for launch in launches]),
        p999=_typical([launch.tails.p999 for launch in launches]),
        p999_reason=next((launch.tails.reason for launch in launches if launch.tails.reason), None),
        min=min(launch.tails.min for launch in launches),
        max=max(launch.tails.max for launch in launches),
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
        return estimate_over_launches([launch.centre_s for launch in launches])
    only = launches[0]
    lag = 1 if only.kept_s.size <= SINGLE_OPERATIONS else LAG_SAMPLES
    if only.location == MEDIAN:
        return estimate_within_launch(only.kept_s, lag=lag)
    return _quantile_within(only, lag)


def _by_repetitions(launches: Sequence[Reduced]) -> ByCleanness | None:
    """Where clean samples are distinguished: the value over them, over all, and the number of launches with enough."""
    everything = [launch.all_s for launch in launches if launch.all_s is not None]
    if not everything:
        return None
    clean = [launch.clean_s for launch in launches if launch.clean_s is not None]
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
    known = [quantile for quantile in quantiles if quantile is not None]
    return float(np.median(known)) if len(known) == len(quantiles) else None


def _outliers(launches: Sequence[Reduced]) -> Outliers:
    severe_s = sum(launch.outliers.severe_time_ratio * launch.total_s for launch in launches)
    return Outliers(
        mild=sum(launch.outliers.mild for launch in launches),
        severe=sum(launch.outliers.severe for launch in launches),
        severe_time_ratio=severe_s / sum(launch.total_s for launch in launches),
    )
