# SPDX-License-Identifier: Apache-2.0
"""Words that log, text and page of a diagnosis share. Pure."""

from __future__ import annotations

from slowpath.core.results import Leg, LimitBracket
from slowpath.core.units import format_bytes


def limit_words(limit: LimitBracket) -> str:
    """`message_bytes: limit exactly at 50020 B, set by UCX_RNDV_THRESH`."""
    name = limit.covariate
    low, high = (_value(name, one) for one in (limit.above, limit.up_to))
    if limit.unclear:
        return f"{name}: no limit shows between {low} and {high}"
    exact = limit.up_to - limit.above <= 1
    by = (
        f", set by {'the lower of ' if len(limit.each_moves) > 1 else ''}{limit.attributed_to}"
        if limit.attributed_to
        else ""
    )
    was = (
        f" (at first seen between {' and '.join(_value(name, one) for one in limit.first_seen)})"
        if limit.first_seen
        else ""
    )
    return f"{name}: limit {f'exactly at {low}' if exact else f'between {low} and {high}'}{was}{by}"


def _value(name: str, value: float) -> str:
    return format_bytes(int(value)) if name.endswith(("_bytes", "length")) else f"{value:.12g}"


def leg_words(leg: Leg, status: str) -> str:
    """A leg's text, in a diagnosis of this status: one without a trial gives the reason."""
    if not leg.untried:
        return leg.text
    if status == "settled":
        return "no remedy that a trial can toggle is known"
    return "no remedy was tried yet; continue with slowpath diagnose --resume and more --budget"
