# SPDX-License-Identifier: Apache-2.0
"""Two kinds of launches: some are slow all their life, in several cells at once, and lie between the others in time."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats

FEWEST_LAUNCHES = 12
FEWEST_OF_A_KIND = 3
FEWEST_CELLS = 2
APART_RATIO = 1.1
SUSPECT_RATIO, SUSPECT_CELLS = 1.2, 3
_GAP_PER_SD = 4.0
TOO_FEW_RUNS = 0.02
Kind = NDArray[np.bool_]


@dataclass(frozen=True)
class Kinds:
    """slow: which launches, shape (launches,).  cells: rows of the times that fall apart so.  order_p: chance of so few
    changes between the kinds in the order of launches, were that order random.
    """

    slow: Kind
    cells: tuple[int, ...]
    order_p: float


def kinds_of(times: Floats) -> Kinds | None:
    """The partition of launches that most cells share, two at least; None: there is none.

    Args: times: medians, shape (cells, launches), > 0, launches in the order of time.
    """
    if times.shape[1] < FEWEST_LAUNCHES:
        return None
    shared = _shared(times, FEWEST_OF_A_KIND, APART_RATIO)
    if shared is None or len(shared[1]) < FEWEST_CELLS:
        return None
    slow, cells = shared
    return Kinds(slow, cells, few_runs(slow))


def suspected(times: Floats) -> bool:
    """Whether few launches give reason to start more: three cells of which the same launches lie 1.2 times apart.

    Args: times: as of kinds_of, launches >= 3.
    """
    shared = _shared(times, 1, SUSPECT_RATIO)
    return shared is not None and len(shared[1]) >= SUSPECT_CELLS


def _shared(times: Floats, fewest: int, ratio: float) -> tuple[Kind, tuple[int, ...]] | None:
    """The partition that most rows share, and these rows."""
    found = {row: slow for row, logs in enumerate(np.log(times)) if (slow := _apart(logs, fewest, ratio)) is not None}
    votes = Counter(slow.tobytes() for slow in found.values())
    if not votes:
        return None
    chosen = votes.most_common(1)[0][0]
    rows = tuple(row for row, slow in found.items() if slow.tobytes() == chosen)
    return found[rows[0]], rows


def _apart(logs: Floats, fewest: int, ratio: float) -> Kind | None:
    """Return which launches lie above the widest gap, where that is over `ratio` and over 4 standard deviations within
    kinds.
    """
    order = np.argsort(logs, kind="stable")
    gaps = np.diff(logs[order])
    split = int(np.argmax(gaps)) + 1
    low, high = logs[order[:split]], logs[order[split:]]
    if min(low.size, high.size) < fewest:
        return None
    within = math.sqrt(float(((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum()) / (logs.size - 2))
    if float(gaps[split - 1]) <= max(math.log(ratio), _GAP_PER_SD * within):
        return None
    slow = np.zeros(logs.size, dtype=bool)
    slow[order[split:]] = True
    return slow


def few_runs(slow: Kind) -> float:
    """Chance of as few runs of equal kind, or fewer, in random order. A slow phase of the machine makes few.

    Exact. Source: Wald and Wolfowitz 1940, doi 10.1214/aoms/1177731909.
    """
    seen = 1 + int((slow[1:] != slow[:-1]).sum())
    a, b = int(slow.sum()), int((~slow).sum())
    whole = math.comb(a + b, a)
    return min(1.0, sum(_orders(a, b, runs) for runs in range(2, seen + 1)) / whole)


def _orders(a: int, b: int, runs: int) -> int:
    """Return the number of orders of a and b items of two kinds that have this many runs."""
    half, odd = divmod(runs, 2)
    if odd:
        return math.comb(a - 1, half) * math.comb(b - 1, half - 1) + math.comb(a - 1, half - 1) * math.comb(b - 1, half)
    return 2 * math.comb(a - 1, half - 1) * math.comb(b - 1, half - 1)
