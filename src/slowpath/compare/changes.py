# SPDX-License-Identifier: Apache-2.0
"""Where a series of runs changes its level, and whether that is sure already. Pure.

Mean shifts of log values by optimal partitioning, as the warm-up cut does it, with a penalty of 4 ln n (1 + 40 / n) a
level: a history has far fewer points, so that their noise is known less well. A lone value that the next one takes back
is an outlier, not a level. A shift that only the last run shows is a candidate: one run can be bad by chance.
Source: Jackson et al. 2005, doi 10.1109/LSP.2001.838216.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slowpath.stats.inputs import Floats, positive
from slowpath.stats.warmup import partition

# Calibrated so that at most one flat series in fifty is split, from 7 runs to 60 (tests/unit/compare/test_changes.py).
FEWEST_POINTS = 7
_FEW_POINTS_PENALTY = 40.0
_NOISE_FLOOR_LOG = 1e-3
_MAD_TO_SD = 1.4826
_SURE_POINTS = 2  # at the new level, from which on a change is more than a candidate


@dataclass(frozen=True)
class Change:
    """From point `at` on the level is `ratio` times what it was before. Levels in the unit of the values."""

    at: int
    before: float
    after: float
    ratio: float
    state: Literal["change", "candidate"]


@dataclass(frozen=True)
class Found:
    """changes: by position.  outliers: points that belong to no level.  reason: why nothing was judged, else None."""

    changes: tuple[Change, ...]
    outliers: tuple[int, ...]
    noise_ratio: float | None  # standard deviation of a point about its level, relative
    reason: str | None = None


def find_changes(values: Sequence[float], se_logs: Sequence[float | None], minimum_effect: float) -> Found:
    """Changes of level beyond the minimum effect.

    Args:   values: shape (runs,), > 0, in order of time.  se_logs: standard error of each log value over its launches,
            None where unknown: a spread between runs below it is not believed.
            minimum_effect: smallest relative change that counts.
    Raises: ValueError: unequal lengths, or a value that is not positive.
    """
    if len(values) != len(se_logs):
        raise ValueError(f"find_changes: {len(values)} values and {len(se_logs)} standard errors")
    if len(values) < FEWEST_POINTS:
        return Found((), (), None, f"{len(values)} runs; {FEWEST_POINTS} are needed to tell a change from noise")
    logs: Floats = np.log(positive(values))
    noise = _noise(logs, [se for se in se_logs if se is not None])
    kept = list(range(len(values)))
    while True:
        starts = _starts(logs[kept], noise, math.log1p(minimum_effect))
        lone = _lone(starts, len(kept))
        if lone is None or len(kept) <= FEWEST_POINTS:
            break
        del kept[lone]
    outliers = tuple(i for i in range(len(values)) if i not in set(kept))
    return Found(_changes(logs[kept], starts, kept), outliers, noise)


def _noise(logs: Floats, se_logs: Sequence[float]) -> float:
    steps = np.diff(logs)
    between = _MAD_TO_SD * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2.0)
    return max(between, float(np.median(se_logs)) if se_logs else 0.0, _NOISE_FLOOR_LOG)


def _starts(logs: Floats, noise: float, least_log: float) -> list[int]:
    """Starts of the levels; neighbours closer than the minimum effect are one level."""
    n = logs.size
    penalty = 4.0 * math.log(n) * (1.0 + _FEW_POINTS_PENALTY / n)
    starts = partition((logs - logs.mean()) / noise, penalty)
    while len(starts) > 1:
        levels = [float(part.mean()) for part in np.split(logs, starts[1:])]
        steps = [abs(b - a) for a, b in itertools.pairwise(levels)]
        smallest = int(np.argmin(steps))
        if steps[smallest] >= least_log:
            break
        del starts[smallest + 1]
    return starts


def _lone(starts: Sequence[int], n: int) -> int | None:
    """The first point that is a level of its own although others follow; None if there is none."""
    ends = [*starts[1:], n]
    return next((s for s, e in zip(starts, ends, strict=True) if e - s == 1 and e < n), None)


def _changes(logs: Floats, starts: Sequence[int], kept: Sequence[int]) -> tuple[Change, ...]:
    parts = np.split(logs, list(starts[1:]))
    levels = [math.exp(float(part.mean())) for part in parts]
    return tuple(
        Change(
            kept[start],
            before,
            after,
            after / before,
            "change" if part.size >= _SURE_POINTS else "candidate",
        )
        for start, part, before, after in zip(starts[1:], parts[1:], levels, levels[1:], strict=False)
    )
