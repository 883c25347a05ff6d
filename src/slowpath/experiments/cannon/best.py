# SPDX-License-Identifier: Apache-2.0
"""The fastest variant for each n, and those that can't be distinguished from it. Pure.

All others are compared with the one whose time is shortest, launch by launch, and their p values corrected together
(Benjamini-Hochberg). Only a decided, relevant difference takes a variant out: the fastest of several equal ones is
fastest by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cannon_results import CannonBest
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.points import Measured, compare, rounds_of
from slowpath.experiments.cannon.variants import YARDSTICKS
from slowpath.stats.contrast import ContrastEstimate
from slowpath.stats.estimate import estimate_over_launches
from slowpath.stats.multiplicity import benjamini_hochberg
from slowpath.stats.verdict import judge


def best_at(group: CellGroup, n: int, variants: Sequence[str], measured: Measured, effect: float) -> CannonBest:
    """One entry of `best` (docs/reference/results.md).

    Args: variants: those that compete.  effect: smallest relative difference that counts.
    """
    times_s = {}
    for variant in variants:
        rounds = rounds_of(measured, group, variant, n)
        if variant not in YARDSTICKS and rounds:
            times_s[variant] = estimate_over_launches([found.centre_s for _, found in rounds.values()]).value
    if not times_s:
        return CannonBest(n=n, variant=None, same=[], reason="none of them was measured")
    first = min(times_s, key=lambda variant: times_s[variant])
    mine = rounds_of(measured, group, first, n)
    others = {v: compare(rounds_of(measured, group, v, n), mine, effect) for v in times_s if v != first}
    slower = _slower(others)
    same = sorted((v for v in others if v not in slower), key=lambda variant: times_s[variant])
    return CannonBest(n=n, variant=first, same=same, reason=None)


def _slower(others: dict[str, ContrastEstimate | None]) -> set[str]:
    """Variants that are decidedly slower."""
    known = {variant: found for variant, found in others.items() if found is not None and found.p is not None}
    p_values = [found.p for found in known.values() if found.p is not None]
    if not p_values:
        return set()
    adjusted = benjamini_hochberg(p_values)
    return {
        variant
        for (variant, found), p in zip(known.items(), adjusted, strict=True)
        if judge(found, float(p)).word == "slower"
    }
