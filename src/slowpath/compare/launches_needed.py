# SPDX-License-Identifier: Apache-2.0
"""How many launches a side a gate needs to catch one slow cell, by the normal approximation. Pure.

The ratio of two sides of n launches has the standard error s sqrt(2 / n) on a log scale, s that of one launch. To be
caught it must, with a chance of 90 %, lie above the minimum effect, and be significant after correction for all cells.
"""

from __future__ import annotations

import math
from statistics import NormalDist

CHANCE = 0.90
LEVEL = 0.05


def launches_needed(between_ratio: float, slowdown: float, minimum_effect: float, cells: int) -> int | None:
    """None: a slowdown that is not above the minimum effect is caught by no number of launches.

    Args: between_ratio: standard deviation of log launch values.  cells: in the gate, of which one is slow.
    """
    if slowdown <= minimum_effect:
        return None
    normal = NormalDist()
    reserve = normal.inv_cdf(CHANCE)
    # Benjamini and Hochberg's threshold for the smallest of `cells` p values, two-sided.
    significant = normal.inv_cdf(1.0 - LEVEL / (2.0 * cells))
    above = (math.log1p(slowdown) - math.log1p(minimum_effect)) / reserve
    error = min(above, math.log1p(slowdown) / (significant + reserve))
    return math.ceil(2.0 * (between_ratio / error) ** 2)
