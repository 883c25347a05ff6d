# SPDX-License-Identifier: Apache-2.0
"""Times by a known law with the noise of real machines: launches differ, drift, have heavy tails, and lose a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.stats.estimate import Floats
from slowpath.stats.laws.law import Sweep

KIB, MIB, GIB = 2**10, 2**20, 2**30


def make_sweep(
    covariates: Mapping[str, Sequence[float] | Floats],
    launch_s: Sequence[Sequence[float]] | Floats,
    *,
    label: str = "",
) -> Sweep:
    """A sweep from plain lists; `launch_s` as in Sweep.  Raises: UsageError."""
    times: Floats = np.atleast_2d(np.asarray(launch_s, dtype=np.float64))
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in covariates.items()}
    counts = np.isfinite(times).sum(axis=0)
    return Sweep(arrays, times, counts.astype(np.int64), label)


def plant(
    seed: int,
    covariates: Mapping[str, Sequence[float]],
    times_s: Sequence[float],
    *,
    launches: int = 8,
    noise: float = 0.02,
    between: float = 0.03,
    drift: float = 0.05,
    wild: float = 0.03,
) -> Sweep:
    """noise: of a launch's median at a point. between: of whole launches. drift: over all launches. wild: how often a
    value is three times too long."""
    random = np.random.default_rng(seed)
    truth = np.asarray(times_s, dtype=np.float64)
    whole = random.normal(0, between, (launches, 1)) + drift * np.linspace(-0.5, 0.5, launches)[:, None]
    # Student's t with 4 degrees of freedom, scaled to the asked standard deviation.
    own = random.standard_t(4, (launches, truth.size)) * noise / np.sqrt(2.0)
    strays = np.where(random.random((launches, truth.size)) < wild, 3.0, 1.0)
    return make_sweep(covariates, truth * np.exp(whole + own) * strays)
