# SPDX-License-Identifier: Apache-2.0
"""Shapes of time: periods, courses, messages of two kinds, launches of two kinds. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.estimate import Floats, mean

# Every k-th message is slow: the messages of each launch, folded at every period that they are enough for.
#
# Ranks take the place of times, so that one stall of the machine that lasts a thousand messages counts as one slow
# message. The phase of a period is each launch's own: a counter inside a library does not begin with the cell.
# Slow messages of one period follow each other.

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
    _, inverse, counts = np.unique(time, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = np.asarray(((ends - counts + 1 + ends) / 2.0)[inverse], dtype=np.float64)
    found = np.ones(longest - 1)
    for every in range(2, longest + 1):
        place = number % every
        members = np.bincount(place, minlength=every)
        sums = np.asarray(np.bincount(place, weights=ranks, minlength=every), dtype=np.float64)
        enough = (members >= min(FEWEST_MEMBERS, time.size // every)) & (members < time.size)
        each = sum_of_ranks(sums[enough], members[enough], time.size)
        found[every - 2] = min(1.0, float(each.min(initial=1.0)) * each.size)
    return found


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


# Messages of a launch that get slower with their number, or stall.

# Messages that take longer the more of them were sent: what each adds, as one slope for each launch.

FEWEST_IN_COURSE = 100
FEWEST_COURSES = 3
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
    if len(launches) < FEWEST_COURSES or fewest < FEWEST_IN_COURSE:
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


# Messages of a launch that are of two kinds, without a period.
#
# Times are divided where the variance of their logarithms between the parts is largest (Otsu 1979, doi
# 10.1109/TSMC.1979.4310076). Any times can be divided so; they are of two kinds where the gap between the parts is
# wider than each part is itself. Parts lose a tenth at each end before, since single messages are held up on any
# machine.

FEWEST_MIXED = 64
FEWEST_LAUNCHES = 3
LEAST_SHARE = 0.15  # of the messages, in each kind; fewer are stalls
# Logarithms; 5000 draws of one normal, exponential or uniform law reach 1.1 at 64 messages, 0.4 at 599.
GAP_PER_SPREAD = 2.0
_QUICK, _SLOW = (0.1, 0.9), (0.1, 0.75)


@dataclass(frozen=True)
class MixedLaunch:
    """share: of the slow ones.  slow_s, fast_s: medians.  mean_s: of all messages, each at its kind's median.

    changes, expected: from one kind to the other in the order of the messages, and as many as a random order has.
    """

    share: float
    slow_s: float
    fast_s: float
    mean_s: float
    changes: int
    expected: float


def mixed_of(launches: Sequence[Floats]) -> list[MixedLaunch] | None:
    """Return what those launches show that are mixed; None: fewer than three of them, or less than half.

    Args: launches: each its messages' times in order, shape (messages,), > 0 s.
    """
    found = [_mixed(times) for times in launches]
    kept = [one for one in found if one is not None]
    return kept if len(kept) >= max(FEWEST_LAUNCHES, len(found) / 2) else None


def _mixed(times: Floats) -> MixedLaunch | None:
    size = times.size
    fewest = max(2, int(np.ceil(LEAST_SHARE * size)))
    if size < FEWEST_MIXED:
        return None
    logs = np.sort(np.log(times))
    sizes = np.arange(fewest, size - fewest + 1)
    sums = np.cumsum(logs)
    below = sums[sizes - 1] / sizes
    above = (sums[-1] - sums[sizes - 1]) / (size - sizes)
    cut = int(sizes[np.argmax(sizes * (size - sizes) * (above - below) ** 2)])
    low, high = np.quantile(logs[:cut], _QUICK), np.quantile(logs[cut:], _SLOW)
    gap, spread = float(high[0] - low[1]), float(max(low[1] - low[0], high[1] - high[0]))
    if gap <= GAP_PER_SPREAD * spread:
        return None
    slow = np.log(times) >= logs[cut]
    share = float(slow.mean())
    fast_s, slow_s = float(np.median(times[~slow])), float(np.median(times[slow]))
    return MixedLaunch(
        share=share,
        slow_s=slow_s,
        fast_s=fast_s,
        mean_s=share * slow_s + (1.0 - share) * fast_s,
        changes=int(np.count_nonzero(slow[1:] != slow[:-1])),
        expected=2.0 * share * (1.0 - share) * size,
    )


# Two kinds of launches: some are slow all their life, in several cells at once, and lie between the others in time.

FEWEST_OF_KINDS = 12
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
    if times.shape[1] < FEWEST_OF_KINDS:
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
