# SPDX-License-Identifier: Apache-2.0
"""Facts that have a file of their own, by kind: what `Evidence.facts` supplies. A kind is one line here. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slowpath.core.message_results import RankScaling
from slowpath.findings.evidence.collectives import Cliff, Toggled, Under
from slowpath.findings.evidence.evidence import Fact
from slowpath.findings.evidence.first_uses import FirstUseGrowth, WindowPages
from slowpath.findings.evidence.numbered import Closing, Opening
from slowpath.findings.evidence.violations import Violation
from slowpath.findings.gather import violations
from slowpath.findings.gather.cliffs import cliffs
from slowpath.findings.gather.first_use_growth import first_use_growth
from slowpath.findings.gather.numbered import closings, openings
from slowpath.findings.gather.scalings import scalings
from slowpath.findings.gather.source import Source
from slowpath.findings.gather.toggled import toggled
from slowpath.findings.gather.under import unders
from slowpath.findings.gather.window_pages import window_pages

Gather = Callable[[Source], Sequence[Any]]

_KINDS: Mapping[type, Gather] = {
    Violation: violations.violations,
    Opening: openings,
    Closing: closings,
    RankScaling: lambda source: scalings(source.cells.values()),
    Cliff: cliffs,
    FirstUseGrowth: first_use_growth,
    Toggled: toggled,
    Under: unders,
    WindowPages: window_pages,
}


def facts_of(source: Source, kind: type[Fact]) -> Sequence[Fact]:
    """All facts of one kind.  Raises: KeyError: no line here computes it."""
    return _KINDS[kind](source)
