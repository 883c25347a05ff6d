# SPDX-License-Identifier: Apache-2.0
"""Lengths between measured ones: like neighbours that choose the same; elsewhere the middle is measured. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from slowpath.diagnose.tune.campaigns import Grid
from slowpath.mpi.tuning import Pick

NEAR_RATIO: Final = 2.0  # so close may neighbours choose differently
MOST_STEPS: Final = 5  # each halves the octaves between two lengths: enough for any two below 4 GiB
_WHOLE: Final = 8  # lengths are multiples of it, so that reductions can take doubles


def between(grid: Grid, picks: Sequence[Pick]) -> Grid:
    """The lengths to be measured next: the middle of neighbours that choose differently and are not near each other.

    Args: picks: of one number of ranks.
    """
    chosen = {(one.collective, one.bytes): (one.kind, one.name) for one in picks}
    found: dict[str, list[int]] = {}
    for collective, lengths in grid.items():
        for low, high in pairwise(sorted(lengths)):
            if chosen.get((collective, low)) == chosen.get((collective, high)):
                continue
            length = middle(low, high)
            if length is not None:
                found.setdefault(collective, []).append(length)
    return found


def middle(low: int, high: int) -> int | None:
    """The power of two nearest to the geometric mean, or else a multiple of 8; None: they are near each other."""
    if high <= NEAR_RATIO * max(low, 1):
        return None
    wanted = math.sqrt(max(low, 1) * high)
    for length in (2 ** round(math.log2(wanted)), round(wanted / _WHOLE) * _WHOLE):
        if low < length < high:
            return length
    return None


def joined(grid: Grid, more: Grid) -> Mapping[str, Sequence[int]]:
    """The lengths of both."""
    return {name: sorted({*lengths, *more.get(name, ())}) for name, lengths in grid.items()}
