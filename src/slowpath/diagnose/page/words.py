# SPDX-License-Identifier: Apache-2.0
"""Words that log, text and page of a diagnosis share. Pure."""

from __future__ import annotations

from slowpath.core.results import Leg, LimitBracket
from slowpath.core.units import format_bytes
from slowpath.findings.finding import UNTRIED


def limit_words(limit: LimitBracket) -> str:
    """`message_bytes: limit exactly at 50020 B, set by UCX_RNDV_THRESH`."""
    name = limit.covariate
    if name.endswith(("_bytes", "length")):
        low, high = (format_bytes(int(value)) for value in (limit.above, limit.up_to))
    else:
        low, high = (f"{value:.12g}" for value in (limit.above, limit.up_to))
    if limit.unclear:
        return f"{name}: no limit shows between {low} and {high}"
    exact = limit.up_to - limit.above <= 1
    by = f", set by {limit.attributed_to}" if limit.attributed_to else ""
    return f"{name}: limit exactly at {low}{by}" if exact else f"{name}: limit between {low} and {high}{by}"


def leg_words(leg: Leg, status: str) -> str:
    """A leg's text, in a diagnosis of this status: one without a trial gives the reason."""
    if leg.text != UNTRIED:
        return leg.text
    if status == "settled":
        return "no remedy that a trial can toggle is known"
    return "no remedy was tried yet; slowpath diagnose --resume with a longer --budget goes on"
