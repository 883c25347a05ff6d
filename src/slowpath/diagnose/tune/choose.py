# SPDX-License-Identifier: Apache-2.0
"""Which way of a cell is taken on trial. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowpath.mpi.tuning import Kind, Pick

WORTH_RATIO: Final = 0.95  # a way that saves less is not tried
OF_THE_LIBRARY_RATIO: Final = 1.03  # its own algorithm is taken, which needs no preload, unless other calls save more


@dataclass(frozen=True, order=True)
class CollectiveCell:
    """One collective at one length with so many ranks."""

    collective: str
    ranks: int
    bytes: int


@dataclass(frozen=True)
class WayTrial:
    """A way of a cell and its time, s. kind: None: the library's own choice."""

    kind: Kind | None
    name: str
    time_s: float


def picks(trials: Mapping[CollectiveCell, Sequence[WayTrial]]) -> list[Pick]:
    """For each cell the way to be proven; none where nothing saves 5 %."""
    found = []
    for cell, ways in sorted(trials.items()):
        default = next((way.time_s for way in ways if way.kind is None), None)
        others = sorted((way for way in ways if way.kind is not None), key=lambda one: one.time_s)
        if default is None or not others or others[0].time_s > WORTH_RATIO * default:
            continue
        best = others[0]
        own = next((other for other in others if other.kind == "algorithm"), None)
        if own is not None and own.time_s <= min(WORTH_RATIO * default, OF_THE_LIBRARY_RATIO * best.time_s):
            best = own
        if best.kind is not None:
            found.append(Pick(cell.collective, cell.ranks, cell.bytes, best.kind, best.name))
    return found
