# SPDX-License-Identifier: Apache-2.0
"""Where a sequence changes: a set-up and a lower level behind it, or a higher level from some number on. Pure.

One value a number and launch. A busy machine disturbs single values, never the same one in most launches: the number
is that of the medians over launches, and each launch is asked by itself whether it has the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Floats

STEP_RATIO = 1.25  # of the two levels: less is no path of its own

PEAK_RATIO = 3.0  # of a set-up over the calls around it

FLAT_RATIO = 1.6  # of the calls of one level: largest over least, the first one left out

NEAR_RATIO = 1.25  # of the later level, within which a call has settled

RUN = 3  # calls in a row that tell a level

FEWEST_BEHIND = 8

FEWEST_SLOW = 3  # calls in front where nothing is set up: two are soon slow by chance

AGREES = 0.6  # share of the launches that must have the same number


@dataclass(frozen=True)
class Change:
    """number: from 1, of the first one behind the change.  settled: the first one of the later level.

    before, after: levels of each launch, seconds, shape (launches,); in front of number 1 it is number 1 itself.
    agree: launches with exactly this number.
    span: numbers over launches that show one.
    """

    number: int
    settled: int
    before: Floats
    after: Floats
    agree: int
    span: tuple[int, int]


def opening(times_s: Floats) -> Change | None:
    """A lower level from some number on, with or without a set-up at its begin.

    Args: times_s: shape (launches, numbers).
    """
    centre = np.median(times_s, axis=0)
    found = _opening(centre)
    if found is None:
        return None
    number, settled = found
    each = [one[0] for row in times_s if (one := _opening(row, settled)) is not None]
    return _change(times_s, number, settled, each)


def closing(times_s: Floats) -> Change | None:
    """A higher level from some number on. Args: as of `opening`."""
    found = _split(np.median(times_s, axis=0))
    if found is None:
        return None
    each = [one for row in times_s if (one := _split(row)) is not None]
    return _change(times_s, found, found, each)


def _change(times_s: Floats, number: int, settled: int, each: list[int]) -> Change | None:
    agree = Counter(each)[number]
    if agree < AGREES * len(times_s):
        return None
    before = np.median(times_s[:, : max(1, number - 1)], axis=1)
    after = np.median(times_s[:, settled - 1 :], axis=1)
    return Change(number, settled, before, after, agree, (min(each), max(each)))


def _opening(centre: Floats, known: int | None = None) -> tuple[int, int] | None:
    """(number, settled); number 1: what is paid at the first call alone.

    Args: known: `settled`, where the medians over launches have settled it.
    """
    half = len(centre) // 2
    if half < FEWEST_BEHIND:
        return None
    after = float(np.median(centre[half:]))
    settled = known or _settled(centre[:half], after)
    if settled is None or settled < 2:
        return None
    front = centre[: settled - 1]
    peak = int(np.argmax(front[1:])) + 1 if front.size > 1 else 0
    if peak > 1 and front[peak] >= PEAK_RATIO * np.median(front[1:peak]):
        return (peak + 1, settled) if _is_level(front[:peak], after) else None
    if front.size > 1 and front[0] >= PEAK_RATIO * np.median(front[1:]):
        return 1, settled
    return (settled, settled) if front.size >= FEWEST_SLOW and _is_level(front, after) else None


def _settled(centre: Floats, after: float) -> int | None:
    """The first number, from 1, from which on several in a row are on the later level."""
    is_near = centre <= NEAR_RATIO * after
    runs = np.lib.stride_tricks.sliding_window_view(is_near, RUN).all(axis=1)
    return int(np.argmax(runs)) + 1 if runs.any() else None


def _is_level(before: Floats, after: float) -> bool:
    """Whether the calls in front are one level above the later one. The first call may pay for more, so that one alone
    says nothing: it is a first use.
    """
    if before.size < 2:
        return False
    rest = before[1:]
    return bool(rest.min() > STEP_RATIO * after and rest.max() <= FLAT_RATIO * rest.min())


def _split(row: Floats) -> int | None:
    """The first number of the higher level: where two levels of logarithms fit best, by least absolute deviation."""
    if len(row) < 2 * FEWEST_BEHIND:
        return None
    logs = np.log(row)
    low, high = np.median(logs[:FEWEST_BEHIND]), np.median(logs[-FEWEST_BEHIND:])
    if high - low < np.log(STEP_RATIO):
        return None
    # The cost of each split between the two levels: those in front should be low, those behind high.
    is_low, is_high = np.abs(logs - low), np.abs(logs - high)
    cost = np.concatenate([[0.0], np.cumsum(is_low)]) + np.concatenate([np.cumsum(is_high[::-1])[::-1], [0.0]])
    split = int(np.argmin(cost))
    return split + 1 if FEWEST_BEHIND <= split <= len(row) - FEWEST_BEHIND else None
