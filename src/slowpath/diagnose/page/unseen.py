# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis of this length could not have seen, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_ratio, format_time
from slowpath.findings.least_seen import LeastSeen

MOST = 6  # groups that a paragraph names, the coarsest first
TITLE = "What this diagnosis could not have seen"
LEAD = (
    "By this run's own spread: 95 of 100 such runs decide differences of medians from these on. What fewer than half "
    "of the messages pay is not a difference of medians."
)


def rows(found: Sequence[LeastSeen]) -> list[tuple[str, str]]:
    """Group and what is decided in it from where on, the coarsest first."""
    ordered = sorted(found, key=lambda one: -one.ratio)
    return [(_group(one), f"{format_ratio(one.ratio)}x ({format_time(one.excess_s)})") for one in ordered]


def paragraph(found: Sequence[LeastSeen]) -> str | None:
    """The coarsest groups in one sentence; None: nothing has a spread."""
    listed = rows(found)
    if not listed:
        return None
    named = "; ".join(f"{words} in {group}" for group, words in listed[:MOST])
    rest = listed[MOST:]
    others = f"; {rest[0][1].partition(' ')[0]} or less in {len(rest)} other groups" if rest else ""
    return f"By its own spread, this diagnosis could not have seen medians that differ by less than {named}{others}."


def _group(one: LeastSeen) -> str:
    return f"{one.group}, first messages" if one.phase == "first" else one.group
