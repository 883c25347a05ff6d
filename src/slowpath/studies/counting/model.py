# SPDX-License-Identifier: Apache-2.0
"""What was counted in each process."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """One call.

    number   counted from 1 in each process, those that were let through included
    stepped  instructions, each iteration of a rep-prefixed one counted; None: not counted, `reason` says why
    retired  the same with all iterations of a rep-prefixed instruction as one, as hardware counters have it
    """

    number: int
    thread: int
    stepped: int | None
    retired: int | None
    reason: str | None


@dataclass(frozen=True)
class SteppedFunction:
    """Instructions of one function, over all counted calls of a process."""

    library: str
    function: str
    stepped: int
    retired: int


@dataclass(frozen=True)
class Trouble:
    """Why the function of this library can't be counted; library None: all of the process."""

    library: str | None
    reason: str


@dataclass(frozen=True)
class ProcessCount:
    """One process that had the function.

    libraries  where the function was found, as paths
    calls_met  calls until counting ended; None: the process did not end in good order
    calls      those counted, in the order of their ends
    shares     of the counted calls, largest first
    """

    host: str
    pid: int
    rank: str | None
    program: str
    function: str
    skip: int
    libraries: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    calls_met: int | None
    calls: tuple[Call, ...]
    shares: tuple[SteppedFunction, ...]

    @property
    def counted(self) -> tuple[Call, ...]:
        """The calls that have a number."""
        return tuple(call for call in self.calls if call.stepped is not None)


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
