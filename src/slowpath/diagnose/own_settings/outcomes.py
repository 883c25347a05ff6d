# SPDX-License-Identifier: Apache-2.0
"""What taking a set of settings away did to a slowdown, from pairs of launches. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowpath.diagnose.own_settings.search import Outcome
from slowpath.stats.inputs import Floats

GONE_FROM, STAYS_TO = 0.7, 0.3  # of the slowdown: the whole interval lies above, or below
_PARTLY = (0.1, 0.9)  # the whole interval lies between
_LEAST_ERROR = 0.02  # of the share, where all pairs agree by chance
FEWEST_PAIRS = 3
_WIDE = 2.6  # standard errors to either side: many sets are judged at once


@dataclass(frozen=True)
class Share:
    """The part of a slowdown that goes with a set, as a logarithm over that of all settings. pairs: of launches."""

    value: float
    low: float
    high: float
    pairs: int

    @property
    def outcome(self) -> Outcome:
        """In words of the search."""
        if self.low > GONE_FROM:
            return "gone"
        if self.high < STAYS_TO:
            return "stays"
        return "partly" if _PARTLY[0] < self.low and self.high < _PARTLY[1] else "unclear"

    @property
    def words(self) -> str:
        """`98% [95%, 101%] of the difference goes, 5 pairs`."""
        return f"{self.value:.0%} [{self.low:.0%}, {self.high:.0%}] of the difference goes, {self.pairs} pairs"


def share(gone: Floats, every: Floats) -> Share | None:
    """How much of the slowdown goes with a set.

    Args:    gone: without the set and as it is, seconds, shape (pairs, 2).  every: without all settings likewise.
    Returns: None where there are too few pairs, or where all settings together make nothing slower.
    """
    if min(gone.shape[0], every.shape[0]) < FEWEST_PAIRS:
        return None
    mine, whole = (np.log(pairs[:, 1] / pairs[:, 0]) for pairs in (gone, every))
    gap, error_of_gap = _centre(whole)
    if gap <= 0:
        return None
    value, error = _centre(mine)
    value /= gap
    wide = _WIDE * max(_LEAST_ERROR, float(np.hypot(error / gap, value * error_of_gap / gap)))
    return Share(value, value - wide, value + wide, int(gone.shape[0]))


def rounds_for(ratio: float) -> int:
    """How many pairs tell gone from stays at this slowdown, where a launch varies by 5 %."""
    gap = float(np.log(max(ratio, 1.01)))
    return int(np.clip(np.ceil(6 * (0.3 / gap) ** 2), FEWEST_PAIRS, 16))


def _centre(values: Floats) -> tuple[float, float]:
    """Median and its standard error: what disturbs one launch must not decide."""
    centre = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - centre)))
    return centre, 1.25 * spread / float(np.sqrt(values.size))
