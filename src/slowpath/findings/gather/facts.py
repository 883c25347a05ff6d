# SPDX-License-Identifier: Apache-2.0
"""Facts that have a file of their own, by kind: what `Evidence.facts` supplies. A kind is one line here. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slowpath.findings.evidence.collectives import Cliff, Same, Under
from slowpath.findings.evidence.evidence import Fact
from slowpath.findings.evidence.numbered import Closing, Opening
from slowpath.findings.evidence.violations import Violation
from slowpath.findings.gather import violations
from slowpath.findings.gather.cliffs import cliffs
from slowpath.findings.gather.numbered import closings, openings
from slowpath.findings.gather.source import Source
from slowpath.findings.gather.under import sames, unders

Gather = Callable[[Source], Sequence[Any]]

_KINDS: Mapping[type, Gather] = {
    Violation: violations.violations,
    Opening: openings,
    Closing: closings,
    Under: unders,
    Same: sames,
    Cliff: cliffs,
}


def facts_of(source: Source, kind: type[Fact]) -> Sequence[Fact]:
    """All facts of one kind.  Raises: KeyError: no line here computes it."""
    return _KINDS[kind](source)
