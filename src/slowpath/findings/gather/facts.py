# SPDX-License-Identifier: Apache-2.0
"""Facts that have a file of their own, by kind: what `Evidence.facts` supplies. A kind is one line here. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from slowpath.core.cell_results import CellResult
from slowpath.core.results import RunResult
from slowpath.findings.evidence.evidence import Evidence, Fact


class Source(Evidence, Protocol):
    """What facts are computed from."""

    run: RunResult

    @property
    def minimum_effect(self) -> float:
        """As the contrasts have it."""

    def cells_of(self, experiment: str) -> list[CellResult]:
        """Of one experiment, with times, in their order."""


Gather = Callable[[Source], Sequence[Any]]

_KINDS: Mapping[type, Gather] = {}


def facts_of(source: Source, kind: type[Fact]) -> Sequence[Fact]:
    """All facts of one kind.  Raises: KeyError: no line here computes it."""
    return _KINDS[kind](source)
