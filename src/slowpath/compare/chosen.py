# SPDX-License-Identifier: Apache-2.0
"""Which metrics of a cell are compared, and which two of one name are no pair. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from slowpath.core.cell_results import CellResult

ALL = "all"
_LEAST, _MOST = 1e-60, 1e60  # a ratio of values beyond is none of measurements, and may have no floating-point number


def chosen_metrics(cells: Sequence[CellResult], metrics: Collection[str]) -> list[str]:
    """Metrics that all `cells` have: those asked for, or the first one in seconds (else the first)."""
    shared = [name for name in cells[-1].metrics if all(name in cell.metrics for cell in cells)]
    if metrics:
        return [name for name in shared if ALL in metrics or name in metrics]
    return next(([name] for name in shared if cells[-1].metrics[name].unit == "s"), shared[:1])


def why_no_pair(a: CellResult, b: CellResult, metric: str, phase: str) -> str | None:
    """Why the two values of this metric and phase, which both cells have, can't be held against each other."""
    mine, yours = a.metrics[metric], b.metrics[metric]
    if (mine.unit, mine.better) != (yours.unit, yours.better):
        return (
            f"{metric} is in {mine.unit} ({mine.better} is better) in A and in {yours.unit} ({yours.better} is better) "
            "in B"
        )
    one, other = mine.phases[phase].location, yours.phases[phase].location
    if one != other:
        return f"{metric}: a launch is represented by its quantile {one:g} in A and {other:g} in B"
    return None


def has_ratio(value: float) -> bool:
    """Whether ratios and logarithms can be made of it; a file may state any number."""
    return _LEAST < value < _MOST
