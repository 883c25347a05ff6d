# SPDX-License-Identifier: Apache-2.0
"""Schedules that collectives are made of, as stages of messages between ranks 0 to p - 1; the root is 0. Pure.

Sizes are in blocks: what one rank contributes or gets, or the whole vector of a broadcast or a reduction.
Sources: Thakur, Rabenseifner, Gropp 2005, doi 10.1177/1094342005051521; Bruck et al. 1997, doi 10.1109/71.642949;
Hensgen, Finkel, Manber 1988, doi 10.1007/BF01379320; Chan et al. 2007, doi 10.1002/cpe.1206.
"""

from __future__ import annotations

from collections.abc import Callable

from slowpath.mpi.message_graph import GraphMessage, Schedule

Parents = Callable[[int], int]  # a rank above 0 -> the rank above it in the tree


def lowest_bit_cleared(rank: int) -> int:
    """Return the parent in a binomial tree in which a subtree holds neighbouring ranks."""
    return rank & (rank - 1)


def highest_bit_cleared(rank: int) -> int:
    """Return the parent in a binomial tree that doubles the ranks 0 to k - 1 that are reached."""
    return rank ^ (1 << (rank.bit_length() - 1))


def binary_parent(rank: int) -> int:
    """Return the parent in a tree in which each rank has two others below it."""
    return (rank - 1) // 2


def binary_parent_dealt(rank: int) -> int:
    """The same, with the ranks of each level dealt out to those above by turns, as Open MPI builds it."""
    above = 1 << ((rank + 1).bit_length() - 2)  # ranks of the level above
    return above - 1 + (rank + 1 - 2 * above) % above


def base_4_parent(rank: int) -> int:
    """Return the parent in a tree in which the root sends to three ranks in each quarter: the lowest digit to base 4
    cleared.
    """
    digit = 1
    while rank % (4 * digit) == 0:
        digit *= 4
    return rank - rank % (4 * digit)


def before(rank: int) -> int:
    """Return the parent in a chain."""
    return rank - 1


def always_root(_: int) -> int:
    """Return the parent in a tree in which all ranks are right below the root."""
    return 0


def _depth(rank: int, parent: Parents) -> int:
    depth = 0
    while rank:
        rank, depth = parent(rank), depth + 1
    return depth


def _below(ranks: int, parent: Parents) -> list[int]:
    """Return how many ranks each one's subtree holds, itself included."""
    held = [1] * ranks
    for rank in sorted(range(1, ranks), key=lambda rank: -_depth(rank, parent)):
        held[parent(rank)] += held[rank]
    return held


def down(ranks: int, parent: Parents, *, subtree: bool = False) -> Schedule:
    """Return the stages from the root to all ranks.

    Args: subtree: each message holds a block for each rank below (scatter), else one (broadcast).
    """
    held = _below(ranks, parent)
    order = sorted(range(1, ranks), key=lambda rank: (_depth(rank, parent), -held[rank]))
    deepest = max((_depth(rank, parent) for rank in order), default=0)
    return [
        [
            GraphMessage(parent(rank), rank, held[rank] if subtree else 1)
            for rank in order
            if _depth(rank, parent) == depth
        ]
        for depth in range(1, deepest + 1)
    ]


def up(ranks: int, parent: Parents, *, subtree: bool = False) -> Schedule:
    """Return the stages from all ranks to the root.

    Args: subtree: each message holds a block of each rank below (gather), else one (reduction).
    """
    return [
        [GraphMessage(message.target, message.source, message.size) for message in stage]
        for stage in reversed(down(ranks, parent, subtree=subtree))
    ]


def all_at_once(ranks: int) -> Schedule:
    """Return the schedule in which each rank sends to each other one, and nobody waits."""
    return [[GraphMessage(rank, (rank + step) % ranks, 1) for rank in range(ranks) for step in range(1, ranks)]]


def pairwise(ranks: int) -> Schedule:
    """Return the schedule in which each rank sends to each other one in turn: in step k to the rank k further."""
    return [[GraphMessage(rank, (rank + step) % ranks, 1) for rank in range(ranks)] for step in range(1, ranks)]


def pairwise_xor(ranks: int) -> Schedule:
    """The same with partner rank XOR k; powers of two alone."""
    if not is_power(ranks):
        return []
    return [[GraphMessage(rank, rank ^ step, 1) for rank in range(ranks)] for step in range(1, ranks)]


def by_peer_order(ranks: int) -> Schedule:
    """Return the schedule in which each rank exchanges with peers 0, 1, ... and waits for each: pairs queue up behind
    one another.
    """
    left = {(a, b) for a in range(ranks) for b in range(a + 1, ranks)}
    stages: list[list[GraphMessage]] = []
    while left:
        pairs = {
            (a, b)
            for a, b in left
            if (a, b) == min(pair for pair in left if a in pair) == min(x for x in left if b in x)
        }
        left -= pairs
        stages.append([message for a, b in sorted(pairs) for message in (GraphMessage(a, b, 1), GraphMessage(b, a, 1))])
    return stages


def ring(ranks: int, size: float = 1, times: int = 1) -> Schedule:
    """ranks - 1 steps, in each of which every rank hands a block on to the next one."""
    return [[GraphMessage(rank, (rank + 1) % ranks, size) for rank in range(ranks)] for _ in range(times * (ranks - 1))]


def dissemination(ranks: int, *, growing: bool = False, forward: bool = True) -> Schedule:
    """Step k to the rank 2^k further. growing: of all blocks that are there (Bruck's all-gather)."""
    stages, distance = [], 1
    while distance < ranks:
        size = min(distance, ranks - distance) if growing else 1
        sign = 1 if forward else -1
        stages.append([GraphMessage(rank, (rank + sign * distance) % ranks, size) for rank in range(ranks)])
        distance *= 2
    return stages


def bruck_alltoall(ranks: int) -> Schedule:
    """Step k moves the blocks whose distance has bit k set, 2^k ranks on."""
    stages, distance = [], 1
    while distance < ranks:
        size = sum(bool(block & distance) for block in range(ranks))
        stages.append([GraphMessage(rank, (rank + distance) % ranks, size) for rank in range(ranks)])
        distance *= 2
    return stages


def prefix_doubling(ranks: int) -> Schedule:
    """Step k exchanges with the rank whose bit k differs, where there is one (scan)."""
    stages, distance = [], 1
    while distance < ranks:
        stages.append([GraphMessage(rank, rank ^ distance, 1) for rank in range(ranks) if rank ^ distance < ranks])
        distance *= 2
    return stages


def is_power(ranks: int) -> bool:
    return ranks & (ranks - 1) == 0


def power_below(ranks: int) -> int:
    """The largest power of two that is not above."""
    return 1 << (ranks.bit_length() - 1)


def folded(ranks: int, inner: Schedule, size: float = 1, back: float = 1) -> Schedule:
    """`inner` over the largest power of two of ranks: of the first 2 r, even ones send to the odd one behind, which
    stands for both, and get the result (`back` blocks) from it.
    """
    rest = ranks - power_below(ranks)

    def real(virtual: int) -> int:
        return 2 * virtual + 1 if virtual < rest else virtual + rest

    middle = [
        [GraphMessage(real(message.source), real(message.target), message.size) for message in stage] for stage in inner
    ]
    if not rest:
        return middle
    first = [GraphMessage(2 * number, 2 * number + 1, size) for number in range(rest)]
    last = [GraphMessage(2 * number + 1, 2 * number, back) for number in range(rest)]
    return [first, *middle, last] if back else [first, *middle]


def folded_behind(ranks: int, inner: Schedule) -> Schedule:
    """The same with the ranks behind the power of two: each sends to the one that many ranks before it."""
    power = power_below(ranks)
    if power == ranks:
        return inner
    first = [GraphMessage(rank, rank - power, 1) for rank in range(power, ranks)]
    return [first, *inner, [GraphMessage(message.target, message.source, 1) for message in first]]


def doubling(ranks: int, *, growing: bool = False, whole: float = 1) -> Schedule:
    """Step k exchanges with the rank whose bit k differs; powers of two alone. growing: of all blocks that are there,
    1/p of `whole` at first.
    """
    stages, distance = [], 1
    while distance < ranks:
        size = whole * distance / ranks if growing else whole
        stages.append([GraphMessage(rank, rank ^ distance, size) for rank in range(ranks)])
        distance *= 2
    return stages


def halving(ranks: int, whole: float = 1) -> Schedule:
    """Step k exchanges half of what is left, with the farthest first; powers of two alone."""
    return [
        [GraphMessage(message.source, message.target, message.size) for message in stage]
        for stage in reversed(doubling(ranks, growing=True, whole=whole))
    ]
