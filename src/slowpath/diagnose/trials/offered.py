# SPDX-License-Identifier: Apache-2.0
"""Which remedies of the table a finding can have. Pure."""

from __future__ import annotations

from slowpath.core.results import Finding
from slowpath.diagnose.sides import Sides
from slowpath.diagnose.state import LibraryFacts
from slowpath.findings.remedy import Remedy, fitting
from slowpath.slowpaths.registry import known


def offered(finding: Finding, sides: Sides, library: LibraryFacts) -> tuple[Remedy, ...]:
    """Those of its rule that change its slow cell; where a rival of its cause is true, those against the rival."""
    true = {rival.name for rival in finding.rivals if rival.state == "true"}
    path = known(finding.rule)
    kinds = [kind for kind in path.rivals if kind.name in true and kind.title_of_finding] if path else []
    if kinds:
        against = [remedy for kind in kinds for remedy in kind.remedies]
        table = fitting(against, None, library.name, library.version, library.transport)
    else:
        table = library.remedies(finding.rule, finding.axis)
    return tuple(remedy for remedy in table if remedy.fits(sides.slow.parameters))
