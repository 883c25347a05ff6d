# SPDX-License-Identifier: Apache-2.0
"""The points of a sweep next to what the chosen law says of them, for a picture of the law. Pure."""

from __future__ import annotations

import numpy as np

from slowpath.core.law_results import LawPoint
from slowpath.stats.laws import granules, threshold
from slowpath.stats.laws.centre import design
from slowpath.stats.laws.curve import curve
from slowpath.stats.laws.fit import Fit
from slowpath.stats.laws.sweep import Sweep

STANDARD_ERRORS = 1.96  # of the logarithm of a centre: 95 %
_BY_GRANULES = (granules.LAW.name, threshold.LAW.name)


def drawn_points(sweep: Sweep, law: Fit | None) -> tuple[LawPoint, ...]:
    """Return each point of the sweep, in its order.

    Args: law: that was chosen; None: no law is named, and the points stand alone.
    """
    centre = curve(sweep)
    reach = np.exp(STANDARD_ERRORS * centre.sigma_ratio)
    pages = _pages(sweep, law)
    names = sweep.varied() or tuple(sweep.covariates)
    return tuple(
        LawPoint(
            place={name: float(sweep.covariates[name][point]) for name in names},
            value_s=float(centre.centre_s[point]),
            interval=(float(centre.centre_s[point] / reach[point]), float(centre.centre_s[point] * reach[point])),
            fitted_s=float(law.fitted_s[point]) if law else None,
            page_bytes=pages[point],
        )
        for point in range(sweep.points)
    )


def _pages(sweep: Sweep, law: Fit | None) -> list[int | None]:
    """The page of the term by which each point pays, where a law has a term for each length of a page."""
    pages: list[int | None] = [None] * sweep.points
    if law is None or law.name not in _BY_GRANULES:
        return pages
    columns = law.centre.variant.columns(sweep.covariates)
    for column, counts in zip(columns, design(law.centre.variant, sweep.covariates).T, strict=True):
        if column.per is not None and column.per.page_bytes is not None:
            page = column.per.page_bytes
            pages = [page if counts[point] > 0 else old for point, old in enumerate(pages)]
    return pages
