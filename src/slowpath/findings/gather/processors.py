# SPDX-License-Identifier: Apache-2.0
"""Processors that ranks were allowed to use, and ranks that were to have a core each and share one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cell_results import CellResult
from slowpath.core.cpu_list import parse_cpu_list
from slowpath.core.results import PlacementResult, RankPlace
from slowpath.findings.evidence.evidence import Processors, SharedPlacement
from slowpath.findings.evidence.words import OF_MESSAGES


def allowed(ranks: Sequence[RankPlace]) -> Processors | None:
    """None: no rank was observed."""
    if not ranks:
        return None
    words = ", ".join(f"rank {one.rank} on {one.cpus_allowed}" for one in ranks)
    return Processors(words, _shared(ranks), any(len(parse_cpu_list(one.cpus_allowed)) > 1 for one in ranks))


def _shared(ranks: Sequence[RankPlace]) -> bool:
    """Whether the ranks of a node have fewer processors than there are of them."""
    by_host: dict[str, list[frozenset[int]]] = {}
    for one in ranks:
        by_host.setdefault(one.host, []).append(parse_cpu_list(one.cpus_allowed))
    return any(all(sets) and len(frozenset().union(*sets)) < len(sets) for sets in by_host.values())


def crowded(placements: Sequence[PlacementResult]) -> list[PlacementResult]:
    """Placements in which ranks of a node have fewer processors than there are of them.

    [] where one of the run has enough, for then their contrast speaks, and where none asked for a core each: who asks
    for more ranks than cores knows it.
    """
    known = [one for one in placements if one.observed]
    if not all(_shared(one.observed) for one in known):
        return []
    return known if any(one.bind == "core" for one in known) else []


def shared_placements(placements: Sequence[PlacementResult], cells: Sequence[CellResult]) -> list[SharedPlacement]:
    """Of the crowded placements those that were to give a core to each rank and in which messages were timed."""
    found = []
    for place in crowded(placements):
        timed = [
            (value, metric, cell)
            for cell in cells
            if cell.placement == place.name and (fact := _speaking(cell)) is not None
            for metric, value in [fact]
        ]
        if place.bind == "core" and timed:
            value, metric, fastest = min(timed, key=lambda one: one[0])
            ranks = ", ".join(f"rank {one.rank} on {one.cpus_allowed} of {one.host}" for one in place.observed)
            every = tuple(cell for _, _, cell in timed)
            found.append(SharedPlacement(place.name, ranks, metric, fastest, value, every))
    return found


def _speaking(cell: CellResult) -> tuple[str, float] | None:
    """The metric that speaks for a cell in which messages were timed, and its value, seconds."""
    for name in OF_MESSAGES:
        if (estimate := cell.estimate(name, "steady")) is not None:
            return name, estimate.value
    return None
