# SPDX-License-Identifier: Apache-2.0
"""In which order the sides run, and what the budget can decide. Pure.

A block holds one run as it is, one as a control, and one with the remedy, in random order, so that what drifts slowly
hits all three alike. The control is the program as it is with a variable that nothing reads, as long as those of the
remedy: the length of the environment alone moves a program's stack, and with it its speed (Mytkowicz et al. 2009, doi
10.1145/1508244.1508275).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Final

from slowpath.stats.anytime import half_width
from slowpath.watch.proof import Phase, Side

SIDES: Final[Mapping[Phase, tuple[Side, ...]]] = {
    "pilot": ("as it is", "control"),
    "proof": ("as it is", "control", "remedy"),
}
PILOT_BLOCKS = 2
MOST_BLOCKS = 2000
# Aimed at, so that four cases of five are decided: the spread is itself an estimate, which costs a little.
_POWER = 0.87
PLACEBO = "SLOWPATH_PLACEBO"


def order(seed: int, phase: Phase, block: int) -> tuple[Side, ...]:
    """Of the sides of one block."""
    sides = SIDES[phase]
    return tuple(random.Random(f"{seed} {phase} {block}").sample(sides, len(sides)))


def placebo(variables: Mapping[str, str]) -> dict[str, str]:
    """A variable that nothing reads, which makes the environment as long as these do; none where it can't be."""
    length = sum(len(name) + len(value) + 2 for name, value in variables.items())
    return {PLACEBO: "x" * max(0, length - len(PLACEBO) - 2)} if variables else {}


def level_of(questions: int) -> float:
    """Of each interval where several remedies share one question, so that all hold at 95 % (Bonferroni)."""
    return 1.0 - 0.05 / max(1, questions)


def spread(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Standard deviation of one run's log time, from pairs (as it is, control) of wall times; None: no pair."""
    if not pairs:
        return None
    squares = [math.log(control / as_it_is) ** 2 for as_it_is, control in pairs]
    return math.sqrt(sum(squares) / len(squares) / 2.0)


def blocks_within(budget_s: float, run_s: float) -> int:
    """Whole blocks of a proof that a time holds."""
    return min(MOST_BLOCKS, int(budget_s / (len(SIDES["proof"]) * run_s))) if run_s > 0 else MOST_BLOCKS


def smallest_decidable(sd: float, blocks: int, level: float, least: float) -> float | None:
    """The effect, as a ratio, that so many blocks decide in four cases of five; None: too few blocks for any.

    Args: sd: of one run's log time.  least: a smaller effect does not count.
    Three things have to hold. A block's value, the remedy's less the mean of the other two, has 1.5 times the variance
    of one run; its interval must not contain 0, and it must be `least` at least. The control's value, a difference of
    two, has twice that variance, and its interval must not contain the effect: this asks for more than the first.
    """
    if blocks < 1:
        return None
    half = half_width(blocks, math.sqrt(2.0) * sd, max(level, 0.95))
    if not math.isfinite(half):
        return None
    z, one = NormalDist().inv_cdf(_POWER), sd / math.sqrt(blocks)
    by_control, by_least = half + z * math.sqrt(1.5 + 2.0) * one, math.log1p(least) + z * math.sqrt(1.5) * one
    return math.expm1(min(50.0, max(by_control, by_least)))
