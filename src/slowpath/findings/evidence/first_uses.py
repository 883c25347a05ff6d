# SPDX-License-Identifier: Apache-2.0
"""Facts of first uses that grow: with a window's length, with the ranks, with the uses before. Times are seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.findings.evidence.evidence import Difference
from slowpath.stats.laws.found import FittedLaw

PAGE_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class WindowPages(Difference):
    """What making windows of one kind costs beyond the same memory without MPI, at the longest one measured.

    law: of the excess over lengths, one that grows.  per_page_s: of each PAGE_BYTES of a rank's part.  longest_bytes:
    that was measured.  example_bytes, example_s: a longer window by the law, which nothing was measured at.
    cells: all of the library's, by length.
    """

    law: FittedLaw
    per_page_s: float
    per_page_interval: Interval | None
    longest_bytes: float
    example_bytes: float
    example_s: tuple[float, Interval | None]
    cells: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class FirstUseGrowth(Difference):
    """A first use that takes longer the more ranks there are, or the more uses there were before.

    over: what it grows with.  law: 'each', a line over it.  each_s: of one more.  least, most: numbers at which fast_s
    and slow_s were measured.  example: (number, seconds) by the law, where nothing was measured.
    """

    over: Literal["ranks", "uses"]
    law: FittedLaw
    each_s: float
    each_interval: Interval | None
    least: float
    most: float
    example: tuple[float, float]
    cells: tuple[CellResult, ...]
