# SPDX-License-Identifier: Apache-2.0
"""Every k-th message is slow: the messages of each launch, folded at every period that they are enough for.

Ranks take the place of times, so that one stall of the machine that lasts a thousand messages counts as one slow
message. The phase of a period is each launch's own: a counter inside a library does not begin with the cell.
Slow messages of one period follow each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats

LEAST = 1e-300  # below it a logarithm is not finite


def sum_of_ranks(sums: Floats, members: NDArray[np.int64], n: int) -> Floats:
    """Two-sided chance that `members` of the ranks 1 to n, drawn without order, have a sum as far from the middle.

    The lesser of two bounds: the normal law, and for sums near an end the count of draws that lie there: of the ordered
    draws at most C(r, m) have a sum up to r. The normal law alone is far too careful with few members.
    """
    from scipy import special

    m = members.astype(np.float64)
    middle = m * (n + 1) / 2.0
    deviation = np.sqrt(m * (n - m) * (n + 1) / 12.0)
    normal = special.ndtr(-np.abs(sums - middle) / deviation)
    to_end = np.ceil(middle - np.abs(sums - middle))  # the sum, counted from the nearer end
    logs = special.gammaln(to_end + 1) - special.gammaln(np.maximum(to_end - m, 0.0) + 1) - special.gammaln(m + 1)
    logs -= special.gammaln(n + 1) - special.gammaln(n - m + 1)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(normal, np.exp(np.minimum(logs, 0.0)))), dtype=np.float64)


def best_of(p: float, tries: int) -> float:
    """Upper bound of the chance that the least of `tries` p values is p or less, whatever they depend on
    (Bonferroni).
    """
    return min(1.0, p * tries)


def together(p_values: Sequence[float]) -> float:
    """Chance of independent p values as small as these, by Fisher's sum of logarithms; 1 without any.

    Conservative where the values themselves are. Source: Fisher, Statistical Methods for Research Workers, 4th edition
    1932, section 21.1.
    """
    from scipy import special

    if not p_values:
        return 1.0
    total = -float(np.log(np.maximum(p_values, LEAST)).sum())
    return float(special.gammaincc(len(p_values), total))


FEWEST_MEMBERS = 4  # messages of one place of the period in each launch
FEWEST_MESSAGES = 16
MOST_PERIOD = 256
_AGREE = 0.75  # of the launches in which the slow places lie beyond the others
_PARTS = 4  # of a launch, one after the other, each of which has to show the same slow places
_PERIODS_OF_A_PART = 2
_MOST_TRIED = 4  # periods: one that few launches show clearly may stand before one that all of them show
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Folded:
    """One launch at a period. slow: its places that are slow, counted from the launch's message 0.

    slow_s, fast_s: medians of the messages at slow and at other places.  apart: the lower quartile of the slow ones
    lies above the upper quartile of the others.  steady: the same places are slow in every part of the launch, so that
    it is a count, and not a timer of nearly as many messages, or two states that mostly follow each other.
    """

    slow: tuple[int, ...]
    slow_s: float
    fast_s: float
    apart: bool
    steady: bool


@dataclass(frozen=True)
class Period:
    """A period in messages. slow: how many of `every` consecutive messages are slow, the same in most launches.

    p: chance of the like in messages whose order means nothing, over all periods that were tried.
    """

    every: int
    slow: int
    p: float
    launches: tuple[Folded, ...]


def period_of(launches: Sequence[tuple[Numbers, Floats]], *, most: int = MOST_PERIOD) -> Period | None:
    """The period that fits best of those whose slow places lie beyond the others; None: there is none, or no launch is
    long enough.

    Args: launches: each its messages' numbers, ascending, and their times > 0, both of shape (messages,).
    """
    kept = [(number, time) for number, time in launches if time.size >= FEWEST_MESSAGES]
    if not kept:
        return None
    longest = min(most, min(time.size for _, time in kept) // FEWEST_MEMBERS)
    chances = np.array([_chances(number, time, longest) for number, time in kept])
    order = np.argsort(np.log(np.maximum(chances, LEAST)).sum(axis=0), kind="stable")
    for every in (order[:_MOST_TRIED] + 2).tolist():
        found = [_folded(number, time, every) for number, time in kept]
        counts = [len(fold.slow) for fold in found]
        slow = max(set(counts), key=counts.count)
        agreeing = sum(
            fold.apart and fold.steady and len(fold.slow) == slow and _is_one_run(fold.slow, every) for fold in found
        )
        if agreeing >= _AGREE * len(found):
            return Period(every, slow, best_of(together(chances[:, every - 2].tolist()), longest - 1), tuple(found))
    return None


def _chances(number: Numbers, time: Floats, longest: int) -> Floats:
    """Return, for each period from 2 to `longest`, the chance of a place as far from the middle as the farthest one."""
    ranks = _ranks(time)
    found = np.ones(longest - 1)
    for every in range(2, longest + 1):
        place = number % every
        members = np.bincount(place, minlength=every)
        sums = np.asarray(np.bincount(place, weights=ranks, minlength=every), dtype=np.float64)
        enough = (members >= min(FEWEST_MEMBERS, time.size // every)) & (members < time.size)
        each = sum_of_ranks(sums[enough], members[enough], time.size)
        found[every - 2] = min(1.0, float(each.min(initial=1.0)) * each.size)
    return found


def _ranks(values: Floats) -> Floats:
    """1 to n; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray(((ends - counts + 1 + ends) / 2.0)[inverse], dtype=np.float64)


def _folded(number: Numbers, time: Floats, every: int) -> Folded:
    place = number % every
    there = np.unique(place)
    middles = np.array([np.median(time[place == number]) for number in there])
    slow = there[_upper(middles)]
    is_slow = np.isin(place, slow)
    above, below = time[is_slow], time[~is_slow]
    apart = bool(np.quantile(above, 0.25) > np.quantile(below, 0.75))
    slow_s, fast_s = float(np.median(above)), float(np.median(below))
    return Folded(tuple(int(number) for number in slow), slow_s, fast_s, apart, _is_steady(time, is_slow, every))


def _is_steady(time: Floats, is_slow: NDArray[np.bool_], every: int) -> bool:
    parts = min(_PARTS, time.size // (_PERIODS_OF_A_PART * every))
    for part in np.array_split(np.arange(time.size), parts) if parts > 1 else ():
        there, slow = time[part], is_slow[part]
        if slow.all() or not slow.any() or np.median(there[slow]) <= np.median(there[~slow]):
            return False
    return True


def _is_one_run(places: Sequence[int], every: int) -> bool:
    """Whether slow messages follow each other. Such that lie apart are those of a timer: one each 31.4 messages repeats
    itself after 157.
    """
    return sum((place + 1) % every not in places for place in places) <= 1


def _upper(middles: Floats) -> NDArray[np.bool_]:
    """Return the factors above the widest gap between neighbours; neither side is ever empty."""
    order = np.argsort(middles, kind="stable")
    gaps = np.diff(np.log(middles[order]))
    upper = np.zeros(middles.size, dtype=bool)
    upper[order[int(np.argmax(gaps)) + 1 :]] = True
    return upper
