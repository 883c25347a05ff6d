# SPDX-License-Identifier: Apache-2.0
"""How much of a diagnosis' budget is left: it is the time that the user waits, all of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_REPORT_S = 2.0  # to write the pages at the end, before any step has shown how long results take here
_LATER_RATIO = 0.3  # of the first conclusion: the fits of the survey, most of its time, are kept
_MARGIN = 1.5  # times as long as the longest conclusion so far: the last one has the most to write


@dataclass
class Clock:
    """begun_s: when the user began to wait, by `now`; engines that are built afterwards count.  before_s: that earlier
    commands took for the same diagnosis.  first_s: the conclusion from the first step.  concluded_s: the longest from
    a later one so far.
    """

    begun_s: float
    before_s: float = 0.0
    first_s: float | None = None
    concluded_s: float = 0.0
    now: Callable[[], float] = field(default=time.monotonic)

    @property
    def spent_s(self) -> float:
        """In all, seconds."""
        return self.before_s + self.now() - self.begun_s

    def left_s(self, budget_s: float, spent_s: float) -> float:
        """For launches, seconds: what comes after them is kept back.

        Args: spent_s: as it was measured step by step; the larger one counts.
        """
        return budget_s - max(self.spent_s, spent_s) - self.kept_back_s

    @property
    def kept_back_s(self) -> float:
        """For conclusions and reports once the last launch is over, seconds."""
        expected_s = self.concluded_s or _LATER_RATIO * (self.first_s or 0.0)
        return _REPORT_S + _MARGIN * expected_s

    def concluded(self, begun_s: float) -> None:
        """A conclusion from a step is over that began at `begun_s`."""
        took_s = self.now() - begun_s
        if self.first_s is None:
            self.first_s = took_s
        else:
            self.concluded_s = max(self.concluded_s, took_s)
