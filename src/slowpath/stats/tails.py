# SPDX-License-Identifier: Apache-2.0
"""The tail of a distribution: only the quantiles that the number of samples can carry."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.stats.inputs import Values, finite
from slowpath.stats.orderstat import minimal_n, quantiles

_PROBABILITIES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Tails:
    """Quantiles of type 7 in the unit of the input; None where not estimable, and then `reason` says why."""

    p50: float
    p90: float | None
    p99: float | None
    p999: float | None
    min: float
    max: float
    samples: int
    reason: str | None


def tails(samples: Values) -> Tails:
    """Tail table of samples, shape (n,), n >= 1.

    A quantile counts as estimable from the n on at which its two-sided 95 % interval exists (36, 368, 3688);
    the median and the extremes are always given. The samples should be single operations: a batch hides the
    tail of its members.
    """
    array = finite(samples, "samples")
    values = quantiles(array, _PROBABILITIES)
    missing: list[str] = []
    shown: list[float | None] = []
    for p, value in zip(_PROBABILITIES[1:], values[1:], strict=True):
        needed = minimal_n(p)
        estimable = array.size >= needed
        shown.append(float(value) if estimable else None)
        if not estimable:
            missing.append(f"p{100 * p:g} needs {needed}")
    reason = f"{array.size} samples: {', '.join(missing)}" if missing else None
    return Tails(
        float(values[0]),
        shown[0],
        shown[1],
        shown[2],
        float(array.min()),
        float(array.max()),
        array.size,
        reason,
    )
