# SPDX-License-Identifier: Apache-2.0
"""What it costs that inputs come out of one place, and that the product goes back there. Pure.

What leaves rank 0 is 2 (1 - 1/P) n^2 elements and what comes back (1 - 1/P) n^2, whatever the grid: with more ranks
P the moving hardly gets longer while the multiplication gets shorter, so that its share grows as P. A run has one
number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slowpath.core.cannon_results import CannonDistribution
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.points import Entries, Measured, compare, rounds_of, value_of

IN_PLACE = "in_place"
PARTS = ("distribute", "gather")


def distribution(
    groups: Sequence[CellGroup],
    ranks_of: Callable[[str], int],
    measured: Measured,
    entries: Entries,
    effect: float,
) -> list[CannonDistribution]:
    """Cells whose inputs are moved, each with its twin whose inputs are not. ranks_of: placement -> ranks."""
    twins = {_facts(group, IN_PLACE): group for group in groups if _source(group) == IN_PLACE}
    found = []
    for group in groups:
        source, ranks = _source(group), ranks_of(group.placement)
        twin = twins.get(_facts(group, IN_PLACE))
        if source == IN_PLACE or twin is None:
            continue
        for variant, n in group.cells:
            if (variant, n) in twin.cells and "multiply_s" in entries[group.cells[variant, n].cell].metrics:
                found.append(_one(group, twin, variant, n, ranks, measured, entries, effect))
    return sorted(found, key=lambda one: (one.source, one.variant, one.n))


def _one(
    group: CellGroup,
    twin: CellGroup,
    variant: str,
    n: int,
    ranks: int,
    measured: Measured,
    entries: Entries,
    effect: float,
) -> CannonDistribution:
    cell, in_place_cell = group.cells[variant, n].cell, twin.cells[variant, n].cell
    ratio = compare(rounds_of(measured, group, variant, n), rounds_of(measured, twin, variant, n), effect)
    parts_s = [_steady_s(entries, cell, f"{part}_s") for part in PARTS]
    whole_s = _steady_s(entries, in_place_cell, "multiply_s")
    moved_s = None if None in parts_s else sum(value for value in parts_s if value is not None)
    return CannonDistribution(
        source=_source(group),
        variant=variant,
        n=n,
        ranks=ranks,
        mpi=group.mpi,
        environment=group.environment,
        placement=group.placement,
        cell=cell,
        in_place_cell=in_place_cell,
        distribute_s=parts_s[0],
        gather_s=parts_s[1],
        moved_ratio=None if moved_s is None or whole_s is None else moved_s / whole_s,
        over_in_place=value_of(ratio) if ratio else None,
        over_in_place_reason=None if ratio else f"no launch measured it with source={IN_PLACE} as well",
    )


def _steady_s(entries: Entries, cell: int, metric: str) -> float | None:
    found = entries[cell].estimate(metric, "steady")
    return found.value if found else None


def _source(group: CellGroup) -> str:
    return group.parameters.get("source", IN_PLACE)


def _facts(group: CellGroup, source: str) -> tuple[object, ...]:
    """All that a cell and its twin share."""
    parameters = tuple(sorted({**group.parameters, "source": source}.items()))
    return (parameters, group.mpi, group.environment, group.placement)
