# SPDX-License-Identifier: Apache-2.0
"""The order of launches: randomised complete blocks.

Each round starts each pair of environment and placement once, in a fresh random order, and shuffles the cells
inside each launch, so that a slow drift of the machine falls on all cells alike (Box, Hunter, Hunter:
Statistics for Experimenters, 2005, chapter 4). Launches of one round form the pairs of a contrast.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from slowpath.plan.model import Cell, Launch

_SEED_BITS = 48  # exact in every JSON reader, which may hold numbers as doubles


def order_launches(cells: Sequence[Cell], rounds: int, seed: int) -> list[Launch]:
    """Every launch of the run, numbered from 1; a function of its arguments alone."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for cell in cells:
        if cell.skip is None:
            kinds.setdefault((cell.environment, cell.placement), []).append(cell.cell)
    generator = random.Random(seed)
    launches: list[Launch] = []
    for round_number in range(1, rounds + 1):
        block = list(kinds)
        generator.shuffle(block)
        for environment, placement in block:
            inside = list(kinds[environment, placement])
            generator.shuffle(inside)
            launches.append(
                Launch(
                    launch=len(launches) + 1,
                    round=round_number,
                    environment=environment,
                    placement=placement,
                    cells=inside,
                    seed=generator.getrandbits(_SEED_BITS),
                )
            )
    return launches
