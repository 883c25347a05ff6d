# SPDX-License-Identifier: Apache-2.0
"""Which pairs of nodes are measured at the same time: every pair in as few turns as there can be. Pure.

In a turn no node is in two pairs, so n nodes need n - 1 turns (n, where n is odd) in place of n (n - 1) / 2 launches
one after the other: 63 for the 2016 pairs of 64 nodes. This is the circle method of round-robin tournaments (Kirkman,
"On a problem in combinations", 1847): one node rests in the middle, the others move on around it.

Pairs of one turn share switches. What that costs falls on all pairs of the turn alike, and each round draws new turns.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

Pair = tuple[str, str]


def turns_of(pairs: Sequence[Pair], generator: random.Random) -> Mapping[Pair, int]:
    """Turn of each pair, from 0 on; which pairs meet in a turn is drawn."""
    nodes = sorted({node for pair in pairs for node in pair})
    generator.shuffle(nodes)
    seat = {node: number for number, node in enumerate(nodes)}
    around = len(nodes) - 1 + len(nodes) % 2  # with an odd number of nodes one of them rests in each turn
    order = list(range(around))
    generator.shuffle(order)
    return {pair: order[_meet(seat[pair[0]], seat[pair[1]], around)] for pair in pairs}


def _meet(a: int, b: int, around: int) -> int:
    """Turn in which two seats meet; the seat `around`, which an even number of nodes fills, is the one that rests."""
    if around in (a, b):
        return 2 * min(a, b) % around
    return (a + b) % around
