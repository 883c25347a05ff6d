# SPDX-License-Identifier: Apache-2.0
"""Adjusted p values for a family of contrasts: with 50 of them, plain p < 0.05 cries wolf almost every
time.
"""

from __future__ import annotations

import numpy as np

from slowpath.stats.inputs import Floats, Values, finite


def _check(p_values: Values) -> Floats:
    p = finite(p_values, "p values")
    if ((p < 0.0) | (p > 1.0)).any():
        raise ValueError(f"p values: each lies in [0, 1], got {p.min():g} to {p.max():g}")
    return p


def benjamini_hochberg(p_values: Values) -> Floats:
    """Adjusted p, shape (m,), in the order given: rejecting those <= q keeps the false discovery rate <= q.

    Holds for independent and for positively dependent tests.
    Source: Benjamini and Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x; Benjamini and Yekutieli 2001,
    theorem 1.2.
    """
    p = _check(p_values)
    m = p.size
    order = np.argsort(p, kind="stable")
    scaled = p[order] * (m / np.arange(1, m + 1))  # a factor >= 1: rounding never makes p smaller
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def holm(p_values: Values) -> Floats:
    """Adjusted p, shape (m,), in the order given: rejecting those <= alpha keeps the chance of any false one
    <= alpha.

    Holds under any dependence. Source: Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    p = _check(p_values)
    m = p.size
    order = np.argsort(p, kind="stable")
    scaled = p[order] * np.arange(m, 0, -1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted
