# SPDX-License-Identifier: Apache-2.0
"""Which remedies of the table a finding can have. Pure."""

from __future__ import annotations

from slowpath.core.results import Finding
from slowpath.diagnose.sides import Sides
from slowpath.diagnose.state import LibraryFacts
from slowpath.findings.remedy import Remedy, fitting
from slowpath.findings.rivals.rival import RivalKind
from slowpath.slowpaths.registry import known


def is_of_rival(finding: Finding) -> bool:
    """Whether a rival of its rule's cause is true, so that limits and causes of the rule are not its own."""
    return bool(_true_rivals(finding))


def _true_rivals(finding: Finding) -> list[RivalKind]:
    true = {rival.name for rival in finding.rivals if rival.state == "true"}
    path = known(finding.rule)
    return [kind for kind in path.rivals if kind.name in true and kind.title_of_finding] if path else []


def offered(finding: Finding, sides: Sides, library: LibraryFacts) -> tuple[Remedy, ...]:
    """Those of its rule that change its slow cell; where a rival of its cause is true, those against the rival."""
    kinds = _true_rivals(finding)
    if kinds:
        against = [remedy for kind in kinds for remedy in kind.remedies]
        table = fitting(against, None, library.name, library.version, library.transport)
    else:
        table = library.remedies(finding.rule, finding.axis)
    return tuple(remedy for remedy in table if remedy.fits(sides.slow.parameters))
