# SPDX-License-Identifier: Apache-2.0
"""The order of launches: randomised complete blocks.

Each round starts each kind of launch once, in a fresh random order, and shuffles the cells inside each launch, so that
a slow drift of the machine falls on all cells alike (Box, Hunter, Hunter: Statistics for Experimenters, 2005, ch. 4).
Launches of one round form the pairs of a contrast.

Launches hold like company: groups of cells share a launch only if they run under the same MPIs, environments and
placements. So the launches that a contrast between environments compares hold the same cells, and differ in nothing
else.

In a turn no node is in two pairs, so n nodes need n - 1 turns (n, where n is odd) in place of n (n - 1) / 2 launches
one after the other: 63 for the 2016 pairs of 64 nodes. This is the circle method of round-robin tournaments (Kirkman,
"On a problem in combinations", 1847): one node rests in the middle, the others move on around it.

Pairs of one turn share switches. What that costs falls on all pairs of the turn alike, and each round draws new turns.

Witnessed launches count what does not vary from launch to launch as times do: the first rounds have them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence

from slowpath.core.plan import WITNESSED_ROUNDS, Cell, Launch

_SEED_BITS = 48  # exact in every JSON reader, which may hold numbers as doubles
_Place = tuple[str | None, str, str]  # MPI, environment, placement
_Kind = tuple[_Place, frozenset[_Place]]
Pair = tuple[str, str]  # two nodes


def order_launches(
    cells: Sequence[Cell],
    rounds: int,
    seed: int,
    witnessed: Collection[str] = (),
    pairs: Mapping[str, Pair] | None = None,
) -> list[Launch]:
    """Every launch of the run, numbered from 1; a function of its arguments alone.

    Args: witnessed: names of environments that count calls; they don't change who shares a launch with whom.
          pairs: placement -> its two nodes, of placements that run at the same time where they share none.
    """
    spans: dict[str, set[_Place]] = {}
    for cell in cells:
        if cell.skip is None and cell.environment not in witnessed:
            spans.setdefault(cell.group, set()).add(_place(cell))
    kinds: dict[_Kind, list[int]] = {}
    for cell in cells:
        if cell.skip is None:
            kinds.setdefault((_place(cell), frozenset(spans.get(cell.group, ()))), []).append(cell.cell)
    generator = random.Random(seed)
    launches: list[Launch] = []
    for round_number in range(1, rounds + 1):
        block = [kind for kind in kinds if round_number <= WITNESSED_ROUNDS or kind[0][1] not in witnessed]
        generator.shuffle(block)
        for kind, turn in _in_turns(block, pairs or {}, generator):
            inside = list(kinds[kind])
            generator.shuffle(inside)
            mpi, environment, placement = kind[0]
            launches.append(
                Launch(
                    launch=len(launches) + 1,
                    round=round_number,
                    environment=environment,
                    placement=placement,
                    cells=inside,
                    seed=generator.getrandbits(_SEED_BITS),
                    mpi=mpi,
                    turn=turn,
                )
            )
    return launches


def _in_turns(
    block: Sequence[_Kind], pairs: Mapping[str, Pair], generator: random.Random
) -> list[tuple[_Kind, int | None]]:
    """The launches of a round: those of pairs turn by turn, in the place of the first of them; all others alone."""
    alike: dict[tuple[object, ...], list[_Kind]] = {}
    for kind in block:
        (mpi, environment, placement), company = kind
        key = (mpi, environment, company) if placement in pairs else (kind,)
        alike.setdefault(key, []).append(kind)
    ordered: list[tuple[_Kind, int | None]] = []
    turn = 0
    for together in alike.values():
        if together[0][0][2] not in pairs:
            ordered.append((together[0], None))
            continue
        of = turns_of([pairs[kind[0][2]] for kind in together], generator)
        numbered = sorted(((of[pairs[kind[0][2]]], position) for position, kind in enumerate(together)))
        ordered += [(together[position], turn + number) for number, position in numbered]
        turn += 1 + max(of.values())
    return ordered


def _place(cell: Cell) -> _Place:
    return cell.mpi, cell.environment, cell.placement


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
