# SPDX-License-Identifier: Apache-2.0
"""One of several alternatives chosen on some launches and held against what it replaces on the others.

The fastest of many is fast by luck, too: where the launches that choose also prove, its ratio is too good, and with
enough alternatives one is always "faster". Here no launch does both, so that the ratio is not biased by the choice, and
only what the choosing launches name is tested at all: the tests are few and independent of the choice.
Source: Cox 1975, doi 10.1093/biomet/62.2.441 (data splitting); Holm 1979.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats import student
from slowpath.stats.contrast import paired
from slowpath.stats.inputs import Floats, positive

CHOOSING_EVERY = 4  # every fourth round chooses; the others prove, since an interval needs more rounds than a choice
FEWEST_ROUNDS = 4  # one that chooses, three that prove
FEWEST_TO_TRIM = 8  # of fewer, one off each end leaves too little


@dataclass(frozen=True)
class ChosenProof:
    """base over the alternative, in the rounds that prove. p: one-sided, of "it is not above `least`"; None: no spread
    from which it could be said.
    """

    ratio: float
    interval: tuple[float, float] | None
    p: float | None


def choosing(rounds: int) -> NDArray[np.bool_]:
    """Return which rounds choose, shape (rounds,); the others prove. Spread over the run, so that drift hits both."""
    mask: NDArray[np.bool_] = np.arange(rounds) % CHOOSING_EVERY == CHOOSING_EVERY // 2
    return mask


def medians(times_s: Sequence[Floats] | Floats, rounds: NDArray[np.bool_]) -> Floats:
    """Return the median of each row over the chosen rounds, shape (rows,)."""
    found: Floats = np.median(np.asarray(times_s)[:, rounds], axis=1)
    return found


def proof(base_s: Floats, other_s: Floats, least: float) -> ChosenProof:
    """Return how much longer `base_s` takes than `other_s`, both of shape (rounds,) and of the same rounds.

    Args: least: ratio up to which nothing is said.
    From FEWEST_TO_TRIM rounds on the least and the largest ratio are left out: a launch in which another program had a
    core for the length of a cell lies far outside, and one such of nine makes both the plain t test and the signed-rank
    interval blind.
    Source: Tukey and McLaughlin 1963, Sankhya A 25, 331-352.
    """
    base, other = positive(base_s, "base"), positive(other_s, "other")
    logs = np.log(base) - np.log(other)
    if logs.size < FEWEST_TO_TRIM:
        found = paired(other, base, least - 1.0)
        interval = found.interval if found.level is not None else None
        return ChosenProof(found.ratio, interval, _one_sided(student.mean(logs - math.log(least))))
    mean = _trimmed(logs)
    ends = mean.interval()
    interval = None if ends is None else (math.exp(ends.low), math.exp(ends.high))
    return ChosenProof(math.exp(mean.value), interval, _one_sided(_trimmed(logs - math.log(least))))


def _one_sided(beyond: student.MeanWithT) -> float | None:
    """p of "it is not above 0"."""
    two_sided = beyond.p()
    if two_sided is None:
        return None
    return two_sided / 2 if beyond.value > 0 else 1.0 - two_sided / 2


def _trimmed(values: Floats) -> student.MeanWithT:
    """The mean without the least and the largest value, as `student` takes it."""
    n = values.size
    ordered = np.sort(values)
    kept = ordered[1:-1]
    sd = float(np.clip(ordered, kept[0], kept[-1]).std(ddof=1))
    if sd == 0.0:
        return student.MeanWithT(float(kept.mean()), sd, None, None)
    return student.MeanWithT(float(kept.mean()), sd, sd / ((1.0 - 2.0 / n) * math.sqrt(n)), float(n - 3))
