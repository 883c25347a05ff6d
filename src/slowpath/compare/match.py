# SPDX-License-Identifier: Apache-2.0
"""Which cell of one run is which of the other: by key, else by label and parameters. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

import msgspec

from slowpath.compare.facts import Difference, mpi_identity
from slowpath.compare.read import environment_of, mpi_of, placement_of
from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import is_effort
from slowpath.core.results import Results, RunResult
from slowpath.experiments.registry import ROLES


class Pair(msgspec.Struct, frozen=True):
    """A cell in both runs. differs: what the cells themselves do not share; [] when matched by key."""

    a: CellResult
    b: CellResult
    by: str  # key | label
    differs: list[Difference]


class Unmatched(msgspec.Struct, frozen=True):
    """A cell of one run alone, and why it has no partner."""

    cell: int
    label: str
    status: str
    reason: str


class Matching(msgspec.Struct, frozen=True):
    """All cells of both runs."""

    pairs: list[Pair]
    only_a: list[Unmatched]
    only_b: list[Unmatched]


def match(a: Results, b: Results) -> Matching:
    """Pairs in the order of b's cells. A name that stands for several cells of one run matches none."""
    left, right = list(a.cells), list(b.cells)
    pairs: list[Pair] = []
    for by, name in _PASSES:
        mine, yours = _unique(left, name), _unique(right, name)
        for key in mine.keys() & yours.keys():
            one, other = mine[key], yours[key]
            if by == "key" or not unlike(one, other):
                pairs.append(Pair(one, other, by, [] if by == "key" else _cell_differences(a.run, one, b.run, other)))
        taken_a, taken_b = {p.a.cell for p in pairs}, {p.b.cell for p in pairs}
        left = [cell for cell in left if cell.cell not in taken_a]
        right = [cell for cell in right if cell.cell not in taken_b]
    pairs.sort(key=lambda pair: pair.b.cell)
    return Matching(pairs, _alone(left, b.cells), _alone(right, a.cells))


def plain_label(cell: CellResult) -> str:
    """The label without the MPI's name, which stands in it only where a run has several."""
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
    """Parameters that both know and that set them to different things. One that a newer engine added is none, nor is
    effort: how often and how carefully a cell is measured makes it no other thing.
    """
    shared = {name for name in a.parameters.keys() & b.parameters.keys() if not is_effort(ROLES, name)}
    return [
        f"{name} is {a.parameters[name]} against {b.parameters[name]}"
        for name in sorted(shared)
        if a.parameters[name] != b.parameters[name]
    ]


def _cell_differences(run_a: RunResult, a: CellResult, run_b: RunResult, b: CellResult) -> list[Difference]:
    found = [Difference("MPI", mpi_identity(mpi_of(run_a, a.mpi)) or None, mpi_identity(mpi_of(run_b, b.mpi)) or None)]
    set_a, set_b = environment_of(run_a, a), environment_of(run_b, b)
    mine, yours = set_a.variables if set_a else {}, set_b.variables if set_b else {}
    found += [Difference(f"variable {n}", mine.get(n), yours.get(n)) for n in sorted({*mine, *yours})]
    at_a, at_b = placement_of(run_a, a), placement_of(run_b, b)
    found.append(Difference("binding", at_a.bind if at_a else None, at_b.bind if at_b else None))
    ranks_a, ranks_b = (str(len(at.observed)) if at and at.observed else None for at in (at_a, at_b))
    found.append(Difference("ranks", ranks_a, ranks_b))
    names = sorted({*a.parameters, *b.parameters})
    found += [Difference(f"parameter {n}", a.parameters.get(n), b.parameters.get(n)) for n in names]
    return [one for one in found if one.a != one.b]


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
