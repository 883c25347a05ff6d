# SPDX-License-Identifier: Apache-2.0
"""Stalls: messages above twice the median of their launch, and what of all time they take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats

STALL_RATIO = 2.0  # over the median


@dataclass(frozen=True)
class Stalled:
    """One launch. messages, total_s: all of them.  stalls: above twice the median.  lost_s: what these take beyond the
    median.  length_s: median of that over stalls, 0 without any.
    """

    messages: int
    total_s: float
    median_s: float
    stalls: int
    lost_s: float
    length_s: float

    @property
    def lost_ratio(self) -> float:
        """Share of all time that would go if each stall took the median."""
        return self.lost_s / self.total_s

    @property
    def mean_ratio(self) -> float:
        """Mean over median."""
        return self.total_s / self.messages / self.median_s


def stalls_of(times: Floats) -> NDArray[np.bool_]:
    """Which messages are stalls, shape (messages,)."""
    return np.asarray(times > STALL_RATIO * np.median(times))


def stalled(times: Floats) -> Stalled:
    """Of one launch. Args: times: shape (messages,), > 0 s, at least one."""
    median = float(np.median(times))
    beyond = times[stalls_of(times)] - median
    return Stalled(
        messages=times.size,
        total_s=float(times.sum()),
        median_s=median,
        stalls=beyond.size,
        lost_s=float(beyond.sum()),
        length_s=float(np.median(beyond)) if beyond.size else 0.0,
    )
