# SPDX-License-Identifier: Apache-2.0
"""The gap between slow and fast, as both are and as both would be with a remedy. Pure: times in, shares out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from slowpath.core.results import RemovedRatio
from slowpath.core.units import format_time
from slowpath.findings.tried import removed_ratio
from slowpath.stats.contrast import paired
from slowpath.stats.inputs import Floats
from slowpath.stats.removed_share import removed
from slowpath.stats.verdict import Word, judge

_LEAST_GAIN = 0.03  # of the fast side: less is no speed-up of its own
Again = Literal["shown", "gone", "open"]


@dataclass(frozen=True)
class Gap:
    """Times of rounds, seconds, shape (pairs,) each; the i-th values belong to one round.

    fast_remedied: the fast side with the remedy; the same as `fast` where it changes nothing there.
    """

    slow: Floats
    remedied: Floats
    fast: Floats
    fast_remedied: Floats

    @cached_property
    def removed(self) -> RemovedRatio | None:
        """1 - (remedied - fast_remedied) / (slow - fast) of medians over pairs; 95 % interval by bootstrap over pairs.

        None where slow is not slower than fast in nearly every resample: there is no gap then.
        """
        found = removed(self.slow, self.remedied, self.fast, self.fast_remedied)
        return None if found is None else removed_ratio(found.value, found.interval, found.excess_s)

    @property
    def again(self) -> Again:
        """Whether the trial's own pairs show the gap that the finding is about: beyond the least gain, surely within
        it, or neither.
        """
        found = paired(self.fast, self.slow, _LEAST_GAIN)
        words: Mapping[Word, Again] = {"slower": "shown", "faster": "gone", "same": "gone", "undecided": "open"}
        return words[judge(found, found.p).word]

    @property
    def excess_s(self) -> float:
        """Of the medians; negative: slow was faster."""
        return float(np.median(self.slow) - np.median(self.fast))

    @property
    def fast_gains(self) -> bool:
        """Whether the remedy speeds up the fast side, too: its interval lies beyond the least gain."""
        found = paired(self.fast_remedied, self.fast, _LEAST_GAIN)
        return found.level is not None and found.low is not None and found.low > 1 + _LEAST_GAIN

    @property
    def both_words(self) -> str:
        """`speeds up both sides, the slow one by 18.5 ns and the fast one by 17.6 ns`."""
        slow, remedied, fast, there = (
            float(np.median(one)) for one in (self.slow, self.remedied, self.fast, self.fast_remedied)
        )
        return (
            f"speeds up both sides, the slow one by {format_time(slow - remedied)} and the fast one by "
            f"{format_time(fast - there)}"
        )

    @property
    def fast_words(self) -> str:
        """`the fast side takes 18.9 ns in place of 36.5 ns`."""
        fast, there = (float(np.median(one)) for one in (self.fast, self.fast_remedied))
        return f"the fast side takes {format_time(there)} in place of {format_time(fast)}"
