# SPDX-License-Identifier: Apache-2.0
"""What launches without some of the user's settings show: whether a slowdown is there again, and how much of it goes.
Pure: times in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from slowpath.core.units import ratio_words
from slowpath.diagnose.own_settings.search import Outcome
from slowpath.stats.contrast import ContrastEstimate, judge, paired
from slowpath.stats.estimate import Floats

GONE_FROM, STAYS_TO = 0.7, 0.3  # of the slowdown: the whole interval lies above, or below
_PARTLY = (0.1, 0.9)  # the whole interval lies between
_LEAST_ERROR = 0.02  # of the share, where all pairs agree by chance
FEWEST_PAIRS = 3
FEWEST_ROBUST = 4  # pairs, from which on the median deviation is the spread
MOST_TRIES = 2  # of one set, where noise hides the outcome
LEAST_EFFECT = 0.03  # of all settings together, as that of the survey
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


Seen = Literal["shown", "gone", "open"]


@dataclass(frozen=True)
class Again:
    """What the launches of this step alone show of a slowdown. estimate: as it is over without all settings."""

    estimate: ContrastEstimate
    seen: Seen

    @property
    def words(self) -> str:
        """`launches of their own show it again: 1.31x [1.28x, 1.35x] the time, 8 pairs`."""
        ratio = ratio_words(self.estimate.ratio, self.estimate.interval)
        return f"separate launches confirm it: {ratio} the time, {self.estimate.n} pairs"


def again(every: Floats, contrasts: int) -> Again:
    """Whether the slowdown is there again.

    Args: every: without all settings and as it is, seconds, shape (pairs, 2).  contrasts: that are looked at with it,
          of which any may be named: p is multiplied by their number and by the looks at them (Bonferroni; all share
          their launches, and a second step is looked at together with the first).
    """
    found = paired(every[:, 0], every[:, 1], LEAST_EFFECT)
    word = judge(found, None if found.p is None else min(1.0, MOST_TRIES * contrasts * found.p)).word
    beyond = found.low is not None and found.low > 1 + LEAST_EFFECT
    seen: dict[str, Seen] = {"slower": "shown" if beyond else "open", "same": "gone", "faster": "gone"}
    return Again(found, seen.get(word, "open"))


def rounds_for(ratio: float) -> int:
    """How many pairs tell gone from stays at this slowdown, where a launch varies by 5 %."""
    gap = float(np.log(max(ratio, 1.01)))
    return int(np.clip(np.ceil(6 * (0.3 / gap) ** 2), FEWEST_PAIRS, 16))


def _centre(values: Floats) -> tuple[float, float]:
    """Median and its standard error: what disturbs one launch must not decide. Of three pairs two often agree by
    chance, and the median deviation then forgets the third: there one that disagrees leaves it open.
    """
    centre = float(np.median(values))
    spread = 1.25 * 1.4826 * float(np.median(np.abs(values - centre)))
    if values.size < FEWEST_ROBUST:
        spread = max(spread, float(np.std(values, ddof=1)))
    return centre, spread / float(np.sqrt(values.size))
