# SPDX-License-Identifier: Apache-2.0
"""Which finding speaks first: the one that costs the user most. Pure.

First those of users who change nothing, then those where neither side is theirs, then those under settings that nobody
chose. Within each, by the excess of one operation times the ratio: a millisecond that doubles a message stands before
one that lengthens it by a tenth; in a diagnosis for a program, by the seconds that it could save. What has nothing
usual to be compared with, as ranks that share a core, stands first.
"""

from __future__ import annotations

from collections.abc import Iterable

from slowpath.core.results import Finding

_AFFECTED = {True: 2, None: 1, False: 0}


def cost(finding: Finding) -> tuple[int, float]:
    """What it costs the user: larger is worse. Seconds of the user's program, or of an operation times the ratio."""
    affected = _AFFECTED[finding.affects_default]
    if finding.program_s is not None:
        return affected, finding.program_s
    if finding.ratio is None or finding.excess_s is None:
        return affected, float("inf")
    return affected, finding.excess_s * finding.ratio


def by_cost(findings: Iterable[Finding]) -> list[Finding]:
    """The one that costs most first."""
    return sorted(findings, key=cost, reverse=True)
