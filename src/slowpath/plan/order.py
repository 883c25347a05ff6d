# SPDX-License-Identifier: Apache-2.0
"""The order of launches: randomised complete blocks.

Each round starts each kind of launch once, in a fresh random order, and shuffles the cells inside each launch, so that
a slow drift of the machine falls on all cells alike (Box, Hunter, Hunter: Statistics for Experimenters, 2005, ch. 4).
Launches of one round form the pairs of a contrast.

Launches hold like company: groups of cells share a launch only if they run in the same environments and placements.
So the launches that a contrast between environments compares hold the same cells, and differ in nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from slowpath.plan.model import Cell, Launch

_SEED_BITS = 48  # exact in every JSON reader, which may hold numbers as doubles


def order_launches(cells: Sequence[Cell], rounds: int, seed: int) -> list[Launch]:
    """Every launch of the run, numbered from 1; a function of its arguments alone."""
    spans: dict[str, set[tuple[str, str]]] = {}
    for cell in cells:
        if cell.skip is None:
            spans.setdefault(cell.group, set()).add((cell.environment, cell.placement))
    kinds: dict[tuple[str, str, frozenset[tuple[str, str]]], list[int]] = {}
    for cell in cells:
        if cell.skip is None:
            kind = (cell.environment, cell.placement, frozenset(spans[cell.group]))
            kinds.setdefault(kind, []).append(cell.cell)
    generator = random.Random(seed)
    launches: list[Launch] = []
    for round_number in range(1, rounds + 1):
        block = list(kinds)
        generator.shuffle(block)
        for kind in block:
            inside = list(kinds[kind])
            generator.shuffle(inside)
            launches.append(
                Launch(
                    launch=len(launches) + 1,
                    round=round_number,
                    environment=kind[0],
                    placement=kind[1],
                    cells=inside,
                    seed=generator.getrandbits(_SEED_BITS),
                )
            )
    return launches
