# SPDX-License-Identifier: Apache-2.0
"""Processors that ranks were allowed to use, and ranks that were to have a core each and share one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.cpu_list import parse_cpu_list
from slowpath.core.run_results import PlacementResult, RankPlace


@dataclass(frozen=True)
class Processors:
    """Where ranks may run. shared: a node has fewer processors than ranks. movable: one may run on several."""

    words: str
    shared: bool
    movable: bool


def allowed(ranks: Sequence[RankPlace]) -> Processors | None:
    """None: no rank was observed."""
    if not ranks:
        return None
    words = ", ".join(f"rank {rank.rank} on {rank.cpus_allowed}" for rank in ranks)
    return Processors(words, _shared(ranks), any(len(parse_cpu_list(rank.cpus_allowed)) > 1 for rank in ranks))


def _shared(ranks: Sequence[RankPlace]) -> bool:
    """Whether the ranks of a node have fewer processors than there are of them."""
    by_host: dict[str, list[frozenset[int]]] = {}
    for rank in ranks:
        by_host.setdefault(rank.host, []).append(parse_cpu_list(rank.cpus_allowed))
    return any(all(sets) and len(frozenset().union(*sets)) < len(sets) for sets in by_host.values())


def crowded(placements: Sequence[PlacementResult]) -> list[PlacementResult]:
    """Placements in which ranks of a node have fewer processors than there are of them.

    [] where one of the run has enough, for then their contrast speaks, and where none asked for a core each: who asks
    for more ranks than cores knows it.
    """
    known = [placement for placement in placements if placement.observed]
    if not all(_shared(one.observed) for one in known):
        return []
    return known if any(one.bind == "core" for one in known) else []
