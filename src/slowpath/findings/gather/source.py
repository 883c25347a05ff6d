# SPDX-License-Identifier: Apache-2.0
"""What facts are computed from. `Gathered` is one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, RunResult
from slowpath.findings.evidence.evidence import Evidence


class Source(Evidence, Protocol):
    """A run, as facts see it."""

    run: RunResult

    @property
    def contrasts(self) -> Sequence[ContrastResult]:
        """Of the run, as they stand in results.json."""

    @property
    def minimum_effect(self) -> float:
        """As the contrasts have it."""

    def cells_of(self, experiment: str) -> list[CellResult]:
        """Of one experiment, with times, in their order."""
