# SPDX-License-Identifier: Apache-2.0
"""One launch's samples of one metric and phase, reduced to what estimates and contrasts need. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.experiments.measured.series import MetricSamples
from slowpath.stats import spread, warmup
from slowpath.stats.orderstat import quantiles, quantiles_of_sorted

ENOUGH_CLEAN = 3  # fewer say less than all samples together
KEPT_WHOLE = 4096  # samples of a launch kept for intervals within it; more say nothing more about a median


@dataclass(frozen=True)
class Ordered:
    """The first KEPT_WHOLE single operations of a launch in their order, shape (n,): number, begin and seconds."""

    number: NDArray[np.int64]
    begin_ns: NDArray[np.int64]
    times_s: NDArray[np.float64]


@dataclass(frozen=True)
class Reduced:
    """Seconds per operation of one launch. `kept_s`: the steady part, at most KEPT_WHOLE samples, evenly taken.

    centre_s: what stands for the launch: the quantile `location` of its steady samples, the median unless the metric
    says otherwise; of the clean ones alone where the metric tells them apart and at least ENOUGH_CLEAN are clean.
    all_s: the same quantile of all samples; None where clean samples are not distinguished. clean_s: of the clean ones
    if they are enough.
    ordered: None where samples are batches.
    """

    centre_s: float
    location: float
    total_s: float
    samples: int
    cut_samples: int  # at the head, before the steady state began; not in centre_s
    steady_class: warmup.SteadyClass | None
    kept_s: NDArray[np.float64]
    tails: spread.Tails
    outliers: spread.TukeyOutliers
    within_ratio: float | None
    batch: int
    operations: int
    all_s: float | None = None
    clean_s: float | None = None
    ordered: Ordered | None = None


def reduce(series: MetricSamples) -> Reduced | None:
    """Summary of one launch's series; None when it is empty or holds a time that is not positive.

    A warm-up at the head of consecutive samples is left out of the centre only; tails and outliers are of all samples.
    """
    values = series.values_s
    if values.size == 0 or not (values > 0).all():
        return None
    state = warmup.steady_state(values) if series.consecutive else warmup.SteadyState(0, None)
    cut = state.cut if state.cut <= values.size / 2 else 0
    steady, ordered = values[cut:], np.sort(values)
    all_s = float((quantiles(steady, [series.location]) if cut else quantiles_of_sorted(ordered, [series.location]))[0])
    by_clean = None if series.clean is None else int(series.clean.sum()) >= ENOUGH_CLEAN
    if series.clean is not None and by_clean:
        steady = values[series.clean]
    centre_s = float(quantiles(steady, [series.location])[0]) if by_clean else all_s
    return Reduced(
        centre_s=centre_s,
        location=series.location,
        total_s=float(values.sum()),
        samples=values.size,
        cut_samples=cut,
        steady_class=state.steady_class,
        kept_s=steady[:: max(1, -(-steady.size // KEPT_WHOLE))].copy(),
        tails=spread.tails(values, ordered),
        outliers=spread.tukey(values, ordered),
        within_ratio=spread.within(values, ordered),
        batch=series.batch,
        operations=series.operations,
        all_s=None if series.clean is None else all_s,
        clean_s=centre_s if by_clean else None,
        ordered=_ordered(series),
    )


def _ordered(series: MetricSamples) -> Ordered | None:
    order = series.order
    if order is None:
        return None
    kept = slice(KEPT_WHOLE)
    return Ordered(order.number[kept].copy(), order.begin_ns[kept].copy(), series.values_s[kept].copy())
