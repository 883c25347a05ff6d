# SPDX-License-Identifier: Apache-2.0
"""Pairs of cells and metrics of two runs that can be compared. Pure.

Cells are matched by key, then by label and parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

import msgspec

from slowpath.compare.facts import RunDifference, mpi_identity
from slowpath.compare.read import environment_of, mpi_of, placement_of
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results, RunResult
from slowpath.core.roles import is_effort
from slowpath.experiments.registry import ROLES

ALL = "all"
_LEAST, _MOST = 1e-60, 1e60  # a ratio of values beyond is none of measurements, and may have no floating-point number


def chosen_metrics(cells: Sequence[CellResult], metrics: Collection[str]) -> list[str]:
    """Return the metrics that all `cells` have: the chosen ones, or the first in seconds (else the first)."""
    shared = [name for name in cells[-1].metrics if all(name in cell.metrics for cell in cells)]
    if metrics:
        return [name for name in shared if ALL in metrics or name in metrics]
    return next(([name] for name in shared if cells[-1].metrics[name].unit == "s"), shared[:1])


def why_no_pair(a: CellResult, b: CellResult, metric: str, phase: str) -> str | None:
    """Return why the two cells' values of a metric and phase can't be compared, or None if they can."""
    mine, yours = a.metrics[metric], b.metrics[metric]
    if (mine.unit, mine.better) != (yours.unit, yours.better):
        return (
            f"{metric} is in {mine.unit} ({mine.better} is better) in A and in {yours.unit} ({yours.better} is better) "
            "in B"
        )
    quantile_a, quantile_b = mine.phases[phase].location, yours.phases[phase].location
    if quantile_a != quantile_b:
        return f"{metric}: a launch is represented by its quantile {quantile_a:g} in A and {quantile_b:g} in B"
    return None


def has_ratio(value: float) -> bool:
    """Return whether ratios and logarithms of the value can be computed. A file may state any number."""
    return _LEAST < value < _MOST


class CellPair(msgspec.Struct, frozen=True):
    """A cell that both runs have. `differs` lists differences between the two cells, none if matched by key."""

    a: CellResult
    b: CellResult
    by: str  # key | label
    differs: list[RunDifference]


class Unmatched(msgspec.Struct, frozen=True):
    """A cell that only one run has, and the reason."""

    cell: int
    label: str
    status: str
    reason: str


class Matching(msgspec.Struct, frozen=True):
    """The cells of both runs: pairs, and cells without a partner."""

    pairs: list[CellPair]
    only_a: list[Unmatched]
    only_b: list[Unmatched]


def match(a: Results, b: Results) -> Matching:
    """Return the pairs in the order of b's cells. A name that several cells of a run have matches none of them."""
    left, right = list(a.cells), list(b.cells)
    pairs: list[CellPair] = []
    for by, name in _PASSES:
        mine, yours = _unique(left, name), _unique(right, name)
        for key in mine.keys() & yours.keys():
            cell_a, cell_b = mine[key], yours[key]
            if by == "key" or not unlike(cell_a, cell_b):
                pairs.append(
                    CellPair(cell_a, cell_b, by, [] if by == "key" else _cell_differences(a.run, cell_a, b.run, cell_b))
                )
        taken_a, taken_b = {p.a.cell for p in pairs}, {p.b.cell for p in pairs}
        left = [cell for cell in left if cell.cell not in taken_a]
        right = [cell for cell in right if cell.cell not in taken_b]
    pairs.sort(key=lambda pair: pair.b.cell)
    return Matching(pairs, _alone(left, b.cells), _alone(right, a.cells))


def plain_label(cell: CellResult) -> str:
    """Return the label without the MPI's name, which labels contain only in runs with several MPIs."""
    return cell.label.removeprefix(f"{cell.mpi}, ") if cell.mpi else cell.label


def _label(cell: CellResult) -> Hashable:
    return cell.experiment, plain_label(cell), cell.environment, cell.placement, cell.copy


_PASSES: tuple[tuple[str, Callable[[CellResult], Hashable]], ...] = (
    ("key", lambda cell: cell.key),
    ("label", lambda cell: (_label(cell), cell.mpi)),
    ("label", _label),
)


def _unique(cells: Iterable[CellResult], name: Callable[[CellResult], Hashable]) -> dict[Hashable, CellResult]:
    cells = list(cells)
    counts = Counter(map(name, cells))
    return {name(cell): cell for cell in cells if counts[name(cell)] == 1}


def unlike(a: CellResult, b: CellResult) -> list[str]:
    """Return a line for each parameter that both cells have with different values.

    Parameters of effort are ignored: how often and how carefully a cell is measured does not make it another cell.
    """
    shared = {name for name in a.parameters.keys() & b.parameters.keys() if not is_effort(ROLES, name)}
    return [
        f"{name} is {a.parameters[name]} against {b.parameters[name]}"
        for name in sorted(shared)
        if a.parameters[name] != b.parameters[name]
    ]


def _cell_differences(run_a: RunResult, a: CellResult, run_b: RunResult, b: CellResult) -> list[RunDifference]:
    found = [
        RunDifference("MPI", mpi_identity(mpi_of(run_a, a.mpi)) or None, mpi_identity(mpi_of(run_b, b.mpi)) or None)
    ]
    set_a, set_b = environment_of(run_a, a), environment_of(run_b, b)
    mine, yours = set_a.variables if set_a else {}, set_b.variables if set_b else {}
    found += [RunDifference(f"variable {n}", mine.get(n), yours.get(n)) for n in sorted({*mine, *yours})]
    at_a, at_b = placement_of(run_a, a), placement_of(run_b, b)
    found.append(RunDifference("binding", at_a.bind if at_a else None, at_b.bind if at_b else None))
    ranks_a, ranks_b = (str(len(at.observed)) if at and at.observed else None for at in (at_a, at_b))
    found.append(RunDifference("ranks", ranks_a, ranks_b))
    names = sorted({*a.parameters, *b.parameters})
    found += [RunDifference(f"parameter {n}", a.parameters.get(n), b.parameters.get(n)) for n in names]
    return [difference for difference in found if difference.a != difference.b]


def _alone(cells: Sequence[CellResult], others: Sequence[CellResult]) -> list[Unmatched]:
    return [Unmatched(cell.cell, cell.label, cell.status, _why(cell, others)) for cell in cells]


def _why(cell: CellResult, others: Sequence[CellResult]) -> str:
    same = [other for other in others if _label(other) == _label(cell)]
    if not same:
        return "the other run has no cell of this label, experiment, environment and placement"
    if len(same) > 1:
        return f"{len(same)} cells of the other run have this label"
    different = unlike(cell, same[0])
    return (
        f"another cell in the other run: {'; '.join(different)}" if different else "several cells here have this label"
    )
