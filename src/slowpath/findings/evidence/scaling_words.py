# SPDX-License-Identifier: Apache-2.0
"""Words about growth with the number of ranks. Pure."""

from __future__ import annotations

from collections.abc import Callable

from slowpath.core.message_results import RankPoint, RankScaling


def needed(ranks: int) -> int:
    """Rounds that suffice: the logarithm to base 2, rounded up."""
    return max(1, (ranks - 1).bit_length())


def point_at(one: RankScaling, ranks: int) -> RankPoint | None:
    """None: not measured there."""
    return next((point for point in one.points if point.ranks == ranks), None)


def growth_words(one: RankScaling) -> str:
    """`rounds = p - 1, exponent 1.00 exactly`; else why there is no law."""
    if one.law is None:
        return f"no law is fitted, {one.reason}"
    if one.exponent is None or one.interval is None:
        return f"{one.quantity} = {one.law}, whatever the number of ranks"
    low, high = one.interval
    width = "exactly" if one.is_exact else f"[{low:.2f}, {high:.2f}]"
    return f"{one.quantity} = {one.law}, exponent {one.exponent:.2f} {width}"


def predicted_words(one: RankScaling, suffices: Callable[[int], int]) -> str:
    """What more ranks would take, marked as extrapolated; nothing where the law is not to be trusted."""
    if not one.predicted:
        return ""
    parts = [
        f"{_range(predicted.interval)} at {predicted.ranks} ranks, where {suffices(predicted.ranks)} suffice"
        for predicted in one.predicted
    ]
    return f" Extrapolated, not measured: {'; '.join(parts)}."


def _range(interval: tuple[float, float]) -> str:
    low, high = (round(end) for end in interval)
    return f"{low}" if low == high else f"{low} to {high}"
