# SPDX-License-Identifier: Apache-2.0
"""Chances of tests made many times over: the launches of a cell together, and the best of several tries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats

LEAST = 1e-300  # below it a logarithm is not finite


def sum_of_ranks(sums: Floats, members: NDArray[np.int64], n: int) -> Floats:
    """Two-sided chance that `members` of the ranks 1 to n, drawn without order, have a sum as far from the middle.

    The lesser of two bounds: the normal law, and for sums near an end the count of draws that lie there: of the ordered
    draws at most C(r, m) have a sum up to r. The normal law alone is far too careful with few members.
    """
    from scipy import special

    m = members.astype(np.float64)
    middle = m * (n + 1) / 2.0
    deviation = np.sqrt(m * (n - m) * (n + 1) / 12.0)
    normal = special.ndtr(-np.abs(sums - middle) / deviation)
    to_end = np.ceil(middle - np.abs(sums - middle))  # the sum, counted from the nearer end
    logs = special.gammaln(to_end + 1) - special.gammaln(np.maximum(to_end - m, 0.0) + 1) - special.gammaln(m + 1)
    logs -= special.gammaln(n + 1) - special.gammaln(n - m + 1)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(normal, np.exp(np.minimum(logs, 0.0)))), dtype=np.float64)


def best_of(p: float, tries: int) -> float:
    """Upper bound of the chance that the least of `tries` p values is p or less, whatever they depend on
    (Bonferroni).
    """
    return min(1.0, p * tries)


def together(p_values: Sequence[float]) -> float:
    """Chance of independent p values as small as these, by Fisher's sum of logarithms; 1 without any.

    Conservative where the values themselves are. Source: Fisher, Statistical Methods for Research Workers, 4th edition
    1932, section 21.1.
    """
    from scipy import special

    if not p_values:
        return 1.0
    total = -float(np.log(np.maximum(p_values, LEAST)).sum())
    return float(special.gammaincc(len(p_values), total))
