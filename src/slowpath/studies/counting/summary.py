# SPDX-License-Identifier: Apache-2.0
"""Numbers of a process's calls: what lies in the middle, at the ends, and how often each number came."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class CallSpread:
    """Instructions per call. `distribution`: (instructions, calls), most frequent first, then by instructions."""

    calls: int
    median: float
    min: int
    max: int
    mean: float
    distribution: tuple[tuple[int, int], ...]


def spread(values: Iterable[int | None]) -> CallSpread | None:
    """Return the spread of the values that are there; None without any."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    times = Counter(known)
    return CallSpread(
        calls=len(known),
        median=statistics.median(known),
        min=min(known),
        max=max(known),
        mean=statistics.fmean(known),
        distribution=tuple(sorted(times.items(), key=lambda item: (-item[1], item[0]))),
    )
