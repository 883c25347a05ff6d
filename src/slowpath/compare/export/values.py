# SPDX-License-Identifier: Apache-2.0
"""The measured values of a run as a flat list, in Bencher's format and in that of github-action-benchmark. Pure.

Sources: https://bencher.dev/docs/reference/bencher-metric-format/ and
https://github.com/benchmark-action/github-action-benchmark, section "customSmallerIsBetter".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from slowpath.core.clean import text
from slowpath.core.result import Interval

if TYPE_CHECKING:
    from slowpath.compare.read import RunSource


class ExportedValue(msgspec.Struct, frozen=True):
    """The value of a cell's metric and phase, in `unit` (s, 1), with its interval if there is one."""

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


def values(run: RunSource) -> Iterator[ExportedValue]:
    """Yield the values of a run in the order of cells and metrics. Cells that were not measured have none."""
    for cell in run.results.cells:
        for name, metric in cell.metrics.items():
            for phase, found in metric.phases.items():
                yield ExportedValue(
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


def render_bencher(run: RunSource) -> str:
    """Return Bencher Metric Format: values with their bounds by cell label, then by metric and phase."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for value in values(run):
        bounds = dict(zip(("lower_value", "upper_value"), value.interval or (), strict=False))
        found.setdefault(value.label, {})[f"{value.metric}.{value.phase}"] = {"value": value.value, **bounds}
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def render_action_benchmark(run: RunSource) -> str:
    """Return JSON for customSmallerIsBetter, without metrics of which more is better. Range is half the interval."""
    return (
        json.dumps([_entry(value) for value in values(run) if value.better == "lower"], ensure_ascii=False, indent=1)
        + "\n"
    )


def _entry(value: ExportedValue) -> dict[str, str | float]:
    entry: dict[str, str | float] = {
        "name": f"{value.label}: {value.metric}, {value.phase}",
        "unit": value.unit,
        "value": value.value,
        "extra": f"{value.launches} launches; {value.interval_kind}; cell {value.key}",
    }
    if value.interval:
        entry["range"] = f"± {(value.interval[1] - value.interval[0]) / 2:.3g}"
    return entry
