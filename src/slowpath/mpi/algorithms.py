# SPDX-License-Identifier: Apache-2.0
"""Algorithms of collectives by the messages that they send, and which of them a counted call was. Pure.

What an algorithm costs is not written down as formulas that could be wrong: each is a schedule, and messages, bytes,
chain and rounds of p ranks follow from it (`message_graph`).
Sources: as `schedules`; names as the settings have them (Open MPI's coll_tuned_*, MPICH's *_INTRA_ALGORITHM).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from slowpath.mpi import schedules as s
from slowpath.mpi.message_graph import Graph, GraphMessage, Schedule, graph_of

# Reductions cut a vector in elements, so that parts of it differ by some of them; headers may be part of a part.
SIZE_TOLERANCE_RATIO = 0.02


@dataclass(frozen=True)
class Algorithm:
    """schedule: of p ranks with root 0; empty: it does not exist for so many.

    growth: of rounds with p, as people say it.  without_sizes: messages' lengths depend on segments, so none is
    compared.
    """

    name: str
    growth: str
    schedule: Callable[[int], Schedule]
    without_sizes: bool = False


def _power(make: Callable[[int], Schedule]) -> Callable[[int], Schedule]:
    return lambda p: make(p) if s.is_power(p) else []


def _then(*parts: Callable[[int], Schedule]) -> Callable[[int], Schedule]:
    return lambda p: [stage for part in parts for stage in part(p)]


def _scaled(schedule: Schedule, factor: float) -> Schedule:
    return [
        [GraphMessage(message.source, message.target, message.size * factor) for message in stage] for stage in schedule
    ]


def _tree(way: Callable[..., Schedule], parent: s.Parents, *, subtree: bool = False) -> Callable[[int], Schedule]:
    return lambda p: way(p, parent, subtree=subtree)


def _ring_parts(p: int) -> Schedule:
    return s.ring(p, 1 / p)


def _fold(inner: Callable[[int], Schedule], back: float = 1) -> Callable[[int], Schedule]:
    return lambda p: s.folded(p, inner(s.power_below(p)), back=back)


def _halve(p: int) -> Schedule:
    return s.halving(p)


def _grow(p: int) -> Schedule:
    return s.doubling(p, growing=True)


def _halve_blocks(p: int) -> Schedule:
    """Recursive halving of p blocks, of which each rank keeps one; among p ranks alone."""
    return s.halving(p, p)


def _neighbour_exchange(p: int) -> Schedule:
    """p/2 steps between neighbours, now on one side, now on the other; two blocks from the second on. Even p alone."""
    if p % 2:
        return []
    stages = []
    for step in range(p // 2):
        pairs = [(rank, (rank + 1) % p) for rank in range(step % 2, p, 2)]
        size = 1 if step == 0 else 2
        stages.append([m for a, b in pairs for m in (GraphMessage(a, b, size), GraphMessage(b, a, size))])
    return stages


def _double_ring(p: int) -> Schedule:
    """A message goes round twice: the barrier of a token."""
    return [[GraphMessage(step % p, (step + 1) % p, 1)] for step in range(2 * p)]


_BINOMIAL = (s.lowest_bit_cleared, s.highest_bit_cleared)
_BINARY = (s.binary_parent, s.binary_parent_dealt)


def _trees(name: str, growth: str, way: Callable[..., Schedule], parents: Sequence[s.Parents]) -> list[Algorithm]:
    return [Algorithm(name, growth, _tree(way, parent)) for parent in parents]


def _block_trees(way: Callable[..., Schedule]) -> list[Algorithm]:
    return [
        Algorithm("linear", "p", _tree(way, s.always_root, subtree=True)),
        *(Algorithm("binomial tree", "log p", _tree(way, parent, subtree=True)) for parent in _BINOMIAL),
    ]


def _vector_trees(way: Callable[..., Schedule]) -> list[Algorithm]:
    return [
        *_trees("linear", "p", way, [s.always_root]),
        *_trees("chain", "p", way, [s.before]),
        *_trees("binomial tree", "log p", way, _BINOMIAL),
        *_trees("binary tree", "log p", way, _BINARY),
        *_trees("4-nomial tree", "log p", way, [s.base_4_parent]),
    ]


_UP_DOWN = [
    Algorithm(f"{name} up and down", growth, _then(_tree(s.up, parent), _tree(s.down, parent)))
    for name, growth, parents in (
        ("linear", "p", [s.always_root]),
        ("chain", "p", [s.before]),
        ("binomial tree", "log p", _BINOMIAL),
        ("binary tree", "log p", _BINARY),
    )
    for parent in parents
]

_RECURSIVE_DOUBLING = Algorithm("recursive doubling", "log p", _fold(s.doubling))
_DOUBLING_BEHIND = Algorithm("recursive doubling", "log p", lambda p: s.folded_behind(p, s.doubling(s.power_below(p))))
_PREFIX = [
    Algorithm("linear chain", "p", _tree(s.down, s.before)),
    Algorithm("recursive doubling", "log p", s.prefix_doubling),
]

ALGORITHMS: Mapping[str, Sequence[Algorithm]] = {
    "barrier": [
        *_UP_DOWN,
        Algorithm("double ring", "p", _double_ring),
        _RECURSIVE_DOUBLING,
        _DOUBLING_BEHIND,
        Algorithm("dissemination", "log p", s.dissemination),
        Algorithm("dissemination", "log p", lambda p: s.dissemination(p, forward=False)),
    ],
    "bcast": [
        *_vector_trees(s.down),
        Algorithm(
            "scatter and ring all-gather",
            "p",
            _then(lambda p: _scaled(s.down(p, s.lowest_bit_cleared, subtree=True), 1 / p), _ring_parts),
        ),
        Algorithm(
            "scatter and recursive doubling all-gather",
            "log p",
            _power(_then(lambda p: _scaled(s.down(p, s.lowest_bit_cleared, subtree=True), 1 / p), _grow)),
        ),
    ],
    "gather": _block_trees(s.up),
    "scatter": _block_trees(s.down),
    "gatherv": _block_trees(s.up)[:1],
    "scatterv": _block_trees(s.down)[:1],
    "allgather": [
        Algorithm("linear", "p", s.all_at_once),
        Algorithm("ring", "p", s.ring),
        Algorithm("neighbour exchange", "p", _neighbour_exchange),
        Algorithm("recursive doubling", "log p", _power(lambda p: s.doubling(p, growing=True, whole=p))),
        Algorithm("Bruck", "log p", lambda p: s.dissemination(p, growing=True)),
        Algorithm("Bruck", "log p", lambda p: s.dissemination(p, growing=True, forward=False)),
    ],
    "alltoall": [
        Algorithm("linear", "p", s.all_at_once),
        Algorithm("pairwise", "p", s.pairwise),
        Algorithm("pairwise", "p", s.pairwise_xor),
        Algorithm("by order of peers", "p", s.by_peer_order),
        Algorithm("Bruck", "log p", s.bruck_alltoall),
    ],
    "reduce": [
        *_vector_trees(s.up),
        Algorithm(
            "Rabenseifner",
            "log p",
            _power(_then(_halve, lambda p: _scaled(s.up(p, s.lowest_bit_cleared, subtree=True), 1 / p))),
        ),
    ],
    "allreduce": [
        _RECURSIVE_DOUBLING,
        _DOUBLING_BEHIND,
        *_UP_DOWN,
        Algorithm("ring", "p", _then(_ring_parts, _ring_parts)),
        Algorithm("Rabenseifner", "log p", _fold(_then(_halve, _grow))),
    ],
    "reduce_scatter_block": [
        Algorithm("pairwise", "p", s.pairwise),
        Algorithm("recursive halving", "log p", _power(_halve_blocks)),
        Algorithm("recursive doubling", "log p", _power(lambda p: s.doubling(p, whole=p))),
    ],
    "scan": _PREFIX,
    "exscan": _PREFIX,
}
ALGORITHMS = {**ALGORITHMS, "allgatherv": ALGORITHMS["allgather"], "alltoallv": ALGORITHMS["alltoall"]}


@dataclass(frozen=True)
class Recognised:
    """names: of all algorithms that fit, each once; empty: none of the known.  growths: theirs.

    exact: the same messages between the same ranks; False: each rank sends and receives as many, chain and rounds are
    as long, partners differ.
    """

    names: tuple[str, ...]
    growths: tuple[str, ...]
    exact: bool

    @property
    def words(self) -> str:
        """Return the algorithms for a sentence."""
        if not self.names:
            return "none of the known algorithms"
        names = " or ".join(self.names)
        return names if self.exact else f"{names} by the number of messages alone"


def recognise(collective: str, counted: Graph, block_bytes: float | None) -> Recognised:
    """Return which algorithms send just these messages.

    Args: counted: with sizes in bytes of the user's data.  block_bytes: of one block; None or 0: sizes aren't compared.
    """
    known = [
        (algorithm, graph_of(algorithm.schedule(counted.ranks), counted.ranks))
        for algorithm in ALGORITHMS.get(collective, ())
    ]
    known = [(algorithm, graph) for algorithm, graph in known if graph.messages or counted.ranks == 1]
    same = [
        algorithm
        for algorithm, graph in known
        if _same_graph(counted, graph, None if algorithm.without_sizes else block_bytes)
    ]
    if same:
        return _of(same, exact=True)
    return _of([algorithm for algorithm, graph in known if _same_numbers(counted, graph)], exact=False)


def _of(found: Sequence[Algorithm], *, exact: bool) -> Recognised:
    names = tuple(dict.fromkeys(algorithm.name for algorithm in found))
    return Recognised(names, tuple(dict.fromkeys(algorithm.growth for algorithm in found)), exact)


def _same_graph(counted: Graph, known: Graph, block_bytes: float | None) -> bool:
    if counted.chain != known.chain:
        return False
    here, there = counted.between(), known.between()
    if here.keys() != there.keys() or any(len(here[ends]) != len(there[ends]) for ends in here):
        return False
    if not block_bytes:
        return True
    pairs = ((a, b * block_bytes) for ends in here for a, b in zip(here[ends], there[ends], strict=True))
    return all(abs(a - b) <= SIZE_TOLERANCE_RATIO * b for a, b in pairs)


def _same_numbers(counted: Graph, known: Graph) -> bool:
    return (
        counted.chain == known.chain
        and counted.rounds == known.rounds
        and sorted(zip(counted.sent, counted.received, strict=True))
        == sorted(zip(known.sent, known.received, strict=True))
    )
