# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis of this length could not have seen, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_ratio, format_time
from slowpath.findings.least_seen import LeastSeen

MOST = 6  # groups that a paragraph names, the coarsest first
NOTHING_FROM = 10.0  # times: launches that differ so much let nothing be seen, and a ratio would be a number alone
NOTHING = "nothing: its launches differ too much"
TITLE = "What this diagnosis could not have seen"
LEAD = (
    "Based on this run's own spread: 95 of 100 such runs detect differences of medians from these values on. "
    "Delays of less than half of the messages do not change the median."
)


def rows(found: Sequence[LeastSeen]) -> list[tuple[str, str]]:
    """Group and what is decided in it from where on, the coarsest first."""
    ordered = sorted(found, key=lambda one: -one.ratio)
    return [
        (_group(one), NOTHING if _is_blind(one) else f"{format_ratio(one.ratio)}x ({format_time(one.excess_s)})")
        for one in ordered
    ]


def paragraph(found: Sequence[LeastSeen]) -> str | None:
    """The coarsest groups in one sentence; None: nothing has a spread."""
    blind = [_group(one) for one in found if _is_blind(one)]
    listed = rows([one for one in found if not _is_blind(one)])
    none = f"Its launches differ too much to see anything in {_listed(blind)}." if blind else None
    if not listed:
        return none
    named = "; ".join(f"{words} in {group}" for group, words in listed[:MOST])
    rest = listed[MOST:]
    others = f"; {rest[0][1].partition(' ')[0]} or less in {len(rest)} other groups" if rest else ""
    least = f"Given its spread, this diagnosis could not detect medians that differ by less than {named}{others}."
    return f"{least} {none}" if none else least


def _is_blind(one: LeastSeen) -> bool:
    return one.ratio >= NOTHING_FROM


def _listed(groups: Sequence[str]) -> str:
    more = len(groups) - MOST
    return "; ".join([*groups[:MOST], *([f"{more} other groups"] if more > 0 else [])])


def _group(one: LeastSeen) -> str:
    return f"{one.group}, first messages" if one.phase == "first" else one.group
