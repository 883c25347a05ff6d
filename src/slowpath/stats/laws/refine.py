# SPDX-License-Identifier: Apache-2.0
"""Where to measure next so that a limit is known exactly: bisection, to the byte or to the single buffer."""

from __future__ import annotations

from slowpath.stats.laws.found import Bracket


def next_values(bracket: Bracket, at_once: int = 1) -> tuple[int, ...]:
    """Values of the covariate that divide the bracket evenly, ascending; empty when it is exact.

    With `at_once` = 1 a switch between 4 KiB and 1 MiB is found in 20 steps, with 3 in 10. Where a bracket spans more
    than a factor of 16 the division is by ratios, since limits tend to be powers of two.
    """
    if is_exact(bracket):
        return ()
    low, high = int(bracket.above), int(bracket.up_to)
    found = set()
    for number in range(1, at_once + 1):
        share = number / (at_once + 1)
        if low > 0 and high > 16 * low:
            value = round(low * (high / low) ** share)
        else:
            value = low + (high - low) * number // (at_once + 1)
        found.add(min(max(value, low + 1), high - 1))
    return tuple(sorted(found))


def is_exact(bracket: Bracket) -> bool:
    """Whether neighbouring whole numbers bound it: `above` still goes the old way, `above` + 1 the new one."""
    return bracket.up_to - bracket.above <= 1
