# SPDX-License-Identifier: Apache-2.0
"""Places that a sweep did not hold but could have: where to look when two laws can't be distinguished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from slowpath.stats.laws.law import Place
from slowpath.stats.laws.sweep import Covariates

_OF_TWO = 3  # values of one covariate that are combined with those of the others


def existing(covariates: Covariates) -> list[Place]:
    points = next(iter(covariates.values())).size
    return [{name: float(values[p]) for name, values in covariates.items()} for p in range(points)]


def changed(covariates: Covariates, name: str, values: Iterable[float]) -> list[Place]:
    """Return each of some points (those with the least, the middle and the largest of what varies) with another
    value.
    """
    places = existing(covariates)
    order = np.argsort(covariates[name], kind="stable")
    bases = [places[int(order[p])] for p in {0, order.size // 2, order.size - 1}]
    return [{**base, name: float(value)} for value in values for base in bases]


def spread(covariates: Covariates, name: str) -> list[Place]:
    """The least, the middle and the largest value there is, at points that otherwise stay as they are."""
    values = np.unique(covariates[name])
    chosen = values[np.unique(np.linspace(0, values.size - 1, _OF_TWO).astype(int))]
    return changed(covariates, name, chosen)


def near(covariates: Covariates, name: str, shifts: Sequence[int]) -> list[Place]:
    """Existing values moved by so many bytes, not below 1."""
    values = np.unique(covariates[name])
    return changed(covariates, name, sorted({float(v + s) for v in values for s in shifts if v + s >= 1}))
