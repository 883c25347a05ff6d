# SPDX-License-Identifier: Apache-2.0
"""Messages of a launch that get slower with their number, or stall. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats
from slowpath.stats.shapes.folded import Numbers
from slowpath.stats.student import mean

# Messages that take longer the more of them were sent: what each adds, as one slope for each launch.

FEWEST_MESSAGES = 100
FEWEST_LAUNCHES = 3
_WARM_UP = 0.1  # of the messages at the head, which are left out


@dataclass(frozen=True)
class LaunchGrowth:
    """per_message_s: mean over launches.  low, high: its 95 % t interval.  p: two-sided, of no growth.

    least_s, most_s: the shortest and the longest median of a launch's first third.  messages: of the shortest launch.
    """

    per_message_s: float
    low: float
    high: float
    p: float
    least_s: float
    most_s: float
    messages: int


def growth_of(launches: Sequence[tuple[Numbers, Floats]]) -> LaunchGrowth | None:
    """None: too few launches or messages, or slopes that are all equal.

    A slope is that between the medians of the first and the last third: half of the messages of either may be stalls.
    An interval over launches asks nothing of the noise inside one, whose neighbours are alike.

    Args: launches: each its messages' numbers and times, both of shape (messages,), in order.
    """
    fewest = min((time.size for _, time in launches), default=0)
    if len(launches) < FEWEST_LAUNCHES or fewest < FEWEST_MESSAGES:
        return None
    ends = [_thirds(number, time) for number, time in launches]
    slope = mean([begin for begin, _ in ends])
    interval, p = slope.interval(), slope.p()
    if interval is None or p is None:
        return None
    firsts = [first for _, first in ends]
    return LaunchGrowth(slope.value, interval.low, interval.high, p, min(firsts), max(firsts), fewest)


def _thirds(number: Numbers, time: Floats) -> tuple[float, float]:
    """Seconds more for each message, and the median of the first third."""
    begin = int(_WARM_UP * time.size)
    third = (time.size - begin) // 3
    first, last = slice(begin, begin + third), slice(time.size - third, None)
    apart = float(np.median(number[last]) - np.median(number[first]))
    early = float(np.median(time[first]))
    return (float(np.median(time[last])) - early) / apart, early


# Stalls: messages above twice the median of their launch, and what of all time they take.

STALL_RATIO = 2.0  # over the median
HELD = 0.8  # of what is lost, by the stalls that count: many short ones are on any machine


@dataclass(frozen=True)
class Stalled:
    """One launch. messages, total_s: all of them.  stalls: above twice the median.  lost_s: what these take beyond the
    median.  length_s: median of that over stalls, 0 without any.  bearing: places of the fewest stalls that hold HELD
    of it, ascending, counted from 0.
    """

    messages: int
    total_s: float
    median_s: float
    stalls: int
    lost_s: float
    length_s: float
    bearing: tuple[int, ...]

    @property
    def groups(self) -> int:
        """Of neighbours among the bearing stalls; as many as there are of these where none follows another."""
        return int(np.count_nonzero(np.diff(self.bearing) > 1)) + bool(self.bearing)

    @property
    def lost_ratio(self) -> float:
        """Share of all time that would go if each stall took the median."""
        return self.lost_s / self.total_s

    @property
    def mean_ratio(self) -> float:
        """Mean over median."""
        return self.total_s / self.messages / self.median_s


def stalls_of(times: Floats) -> NDArray[np.bool_]:
    """Return which messages are stalls, shape (messages,)."""
    return np.asarray(times > STALL_RATIO * np.median(times))


def stalled(times: Floats) -> Stalled:
    """Of one launch. Args: times: shape (messages,), > 0 s, at least one."""
    median = float(np.median(times))
    places = np.flatnonzero(stalls_of(times))
    beyond = times[places] - median
    order = np.argsort(-beyond)
    held = np.cumsum(beyond[order]) < HELD * beyond.sum()
    bearing = np.sort(places[order[: int(held.sum()) + 1]])
    return Stalled(
        messages=times.size,
        total_s=float(times.sum()),
        median_s=median,
        stalls=beyond.size,
        lost_s=float(beyond.sum()),
        length_s=float(np.median(beyond)) if beyond.size else 0.0,
        bearing=tuple(bearing.tolist()),
    )
