# SPDX-License-Identifier: Apache-2.0
"""The four verdict words, and how many more pairs of launches an undecided contrast needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from slowpath.stats.contrast import ContrastEstimate
from slowpath.stats.inputs import check_level

Word = Literal["faster", "slower", "same", "undecided"]

DEFAULT_PAIRS = 8
SIGNIFICANCE = 0.05
_POWER = 0.8
_FINEST_GAP = 0.25  # of the minimum effect: a closer decision would cost more than 16 times the pairs


@dataclass(frozen=True)
class ContrastVerdict:
    """What may be claimed about b over a, why, and what is missing when nothing may be."""

    word: Word
    reason: str
    more_pairs: int | None = None  # only when undecided


def judge(estimate: ContrastEstimate, p_adjusted: float | None) -> ContrastVerdict:
    """The verdict on one contrast.

    faster, slower: the interval excludes 1, the estimate lies beyond 1 -+ minimum_effect, and p_adjusted <=
    0.05.
    same:           the 90 % interval lies inside 1 -+ minimum_effect (two one-sided tests at 5 %).
    undecided:      everything else; never "no difference".

    Args:   p_adjusted: p after the correction over its family (`multiplicity`); None when there is none.
    Raises: ValueError: unless 0 <= estimate.minimum_effect < 1.
    """
    minimum_effect = estimate.minimum_effect
    if not 0.0 <= minimum_effect < 1.0:
        raise ValueError(f"minimum effect: a ratio from 0 to below 1, got {minimum_effect:g}")
    if estimate.level is None or estimate.low is None or estimate.high is None:
        return _undecided(estimate, estimate.kind)
    beyond = estimate.ratio > 1.0 + minimum_effect or estimate.ratio < 1.0 - minimum_effect
    excludes = estimate.low > 1.0 or estimate.high < 1.0
    if beyond and excludes and p_adjusted is not None and p_adjusted <= SIGNIFICANCE:
        word: Word = "slower" if estimate.ratio > 1.0 else "faster"
        return ContrastVerdict(word, f"interval excludes 1, beyond {minimum_effect:.3g}, adjusted p {p_adjusted:.2g}")
    inner = estimate.equivalence
    if inner is not None and 1.0 - minimum_effect < inner.low and inner.high < 1.0 + minimum_effect:
        return ContrastVerdict("same", f"90 % interval inside 1 +- {minimum_effect:.3g}")
    return _undecided(estimate, _why(beyond, excludes, p_adjusted, minimum_effect))


def _why(beyond: bool, excludes: bool, p_adjusted: float | None, minimum_effect: float) -> str:
    if not excludes:
        return "the interval contains 1 and is too wide to say same"
    if not beyond:
        return f"there is a difference, but the estimate is within {minimum_effect:.3g} of 1"
    if p_adjusted is None:
        return "no p value"
    return f"adjusted p {p_adjusted:.2g} > {SIGNIFICANCE:g}: not safe among so many contrasts"


def pairs_needed(sd_log: float, minimum_effect: float, power: float = _POWER) -> int:
    """Pairs of launches that find a ratio of 1 + minimum_effect with this power at 5 %.

    ((z_0.975 + z_power) sd_log / ln(1 + minimum_effect))^2 + 2, rounded up; the 2 stands for estimating
    sd_log.
    Source: normal sample-size formula, e.g. Lehr 1992, doi 10.1002/sim.4780110811.
    """
    check_level(power)
    if sd_log < 0.0 or minimum_effect <= 0.0:
        raise ValueError(f"pairs_needed: sd_log >= 0 and an effect > 0, got {sd_log:g} and {minimum_effect:g}")
    z = NormalDist().inv_cdf(1.0 - SIGNIFICANCE / 2.0) + NormalDist().inv_cdf(power)
    return math.ceil((z * sd_log / math.log1p(minimum_effect)) ** 2 + 2.0)


def _undecided(estimate: ContrastEstimate, reason: str) -> ContrastVerdict:
    return ContrastVerdict("undecided", reason, _more_pairs(estimate))


def _more_pairs(estimate: ContrastEstimate) -> int:
    if estimate.within_launch:
        return DEFAULT_PAIRS  # samples of one launch are no pairs: all of them are still to be measured
    minimum_effect = estimate.minimum_effect
    missing = max(DEFAULT_PAIRS - estimate.n, 0)
    if estimate.sd_log is None or estimate.level is None or minimum_effect == 0.0:
        return max(missing, 1)
    missing = max(missing, pairs_needed(estimate.sd_log, minimum_effect) - estimate.n)
    if missing > 0:
        return missing
    # Enough pairs for the minimum effect, so the estimate stands near it: size the run for that distance.
    full = math.log1p(minimum_effect)
    gap = max(abs(abs(math.log(estimate.ratio)) - full), _FINEST_GAP * full)
    return max(pairs_needed(estimate.sd_log, math.expm1(gap)) - estimate.n, 1)
