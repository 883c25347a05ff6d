# SPDX-License-Identifier: Apache-2.0
"""One launch's samples of one metric and phase, reduced to what estimates and contrasts need. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.analyse.metrics import Series
from slowpath.stats import outliers, spread, tails, warmup

KEPT_WHOLE = 4096  # samples of a launch kept for intervals within it; more say nothing more about a median


@dataclass(frozen=True)
class Reduced:
    """Seconds per operation of one launch. `kept_s`: the steady part, at most KEPT_WHOLE samples, evenly taken."""

    median_s: float
    total_s: float
    samples: int
    cut_samples: int  # at the head, before the steady state began; not in median_s
    steady_class: str | None
    kept_s: NDArray[np.float64]
    tails: tails.Tails
    outliers: outliers.Outliers
    within_ratio: float | None
    batch: int
    operations: int


def reduce(series: Series, find_cut: bool) -> Reduced | None:
    """Summary of one launch's series; None when it holds no positive time.

    Args: find_cut: the samples are consecutive batches on one allocation, so a warm-up may stand at their head.
          Only the median leaves it out; tails and outliers are of all samples.
    """
    values = series.values_s
    if values.size == 0 or not (values > 0).all():
        return None
    state = warmup.steady_state(values) if find_cut else warmup.SteadyState(0, None)
    cut = state.cut if state.cut <= values.size / 2 else 0
    steady = values[cut:]
    return Reduced(
        median_s=float(np.median(steady)),
        total_s=float(values.sum()),
        samples=values.size,
        cut_samples=cut,
        steady_class=state.steady_class,
        kept_s=steady[:: max(1, -(-steady.size // KEPT_WHOLE))].copy(),
        tails=tails.tails(values),
        outliers=outliers.tukey(values),
        within_ratio=spread.within(values),
        batch=series.batch,
        operations=series.operations,
    )
