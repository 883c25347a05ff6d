# SPDX-License-Identifier: Apache-2.0
"""Every value of a run, flat: what exports of measurements are made from. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from slowpath.core.clean import text
from slowpath.core.result import Interval

if TYPE_CHECKING:
    from slowpath.compare.read import Source


class Value(msgspec.Struct, frozen=True):
    """One metric and phase of one cell, in `unit` (s, 1). interval: None where there is none."""

    label: str
    key: str
    experiment: str
    mpi: str | None
    metric: str
    phase: str
    unit: str
    better: str
    value: float
    interval: Interval | None
    interval_kind: str
    launches: int


def values(run: Source) -> Iterator[Value]:
    """In the order of cells and metrics; cells that were not measured have none."""
    for cell in run.results.cells:
        for name, metric in cell.metrics.items():
            for phase, found in metric.phases.items():
                yield Value(
                    text(cell.label),
                    cell.key,
                    cell.experiment,
                    cell.mpi,
                    name,
                    phase,
                    metric.unit,
                    metric.better,
                    found.value,
                    found.interval,
                    found.interval_kind,
                    found.launches,
                )
