# SPDX-License-Identifier: Apache-2.0
"""What is measured of n nodes, in a time that grows far slower than their pairs: n (n - 1) / 2. Pure.

Each launch holds all nodes. First each node is measured by itself, all at the same time. Then come rings: in the ring
of stride s, node i talks to node i + s. A ring takes two turns, or three where its cycles have an odd number of nodes.
In one turn no node is in two pairs, so all pairs of a turn are measured at the same time. k strides give each node 2 k
partners, whatever n is. With few nodes these are all pairs. With more, stride 1 is taken, which pairs neighbours where
names of nodes follow racks, and others at random, so that pairs are spread over the network.

Afterwards suspicious pairs are measured alone, next to pairs that were not suspicious.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.campaign import Campaign, CellsTable, PlacementTable, Values

MOST_STRIDES = 8
ROUNDS = 5
MESSAGE_BYTES = 1 << 20
MINIMUM_EFFECT = 0.1
MOST_ALONE = 24  # pairs that are measured alone, each with CONTROLS others once for all
CONTROLS = 6
PLACE = "one rank a node"
CAMPAIGN = "nodes"
Pair = tuple[int, int]  # positions of two nodes; the first one plus the stride is the second one


@dataclass(frozen=True)
class Effort:
    """How much is measured. array_bytes: for all processors of a node together, and for the array of dependent reads.

    time_s: of a cell; work_s: of the arithmetic, long enough to hold two periods of a CPU quota (100 ms).
    """

    rounds: int = ROUNDS
    time_s: float = 0.03
    work_s: float = 0.25
    copy_bytes: int = 256 << 20
    access_bytes: int = 64 << 20
    message_bytes: int = MESSAGE_BYTES
    in_flight: int = 4


@dataclass(frozen=True)
class Coverage:
    """What a schedule measures. pairs: different ones.  partners: of the node that has the fewest."""

    nodes: int
    pairs: int
    all_pairs: int
    partners: int

    def missed(self, share: float) -> float:
        """Return the probability that no measured pair uses a path that `share` of all pairs use.

        Pairs are taken as drawn at random; where all are measured, nothing is missed.
        """
        return 0.0 if self.pairs >= self.all_pairs else (1.0 - share) ** self.pairs

    def shortest_share(self, risk: float = 0.01) -> float:
        """Return the smallest share of all pairs that a path has to carry to be missed with `risk` at most."""
        return 0.0 if self.pairs >= self.all_pairs else 1.0 - risk ** (1.0 / self.pairs)


def strides_of(count: int) -> list[int]:
    """Return the strides for `count` nodes, ascending; the same each time, so that runs can be compared."""
    every = range(1, count // 2 + 1)
    if len(every) <= MOST_STRIDES:
        return list(every)
    # Half of an even number would give each node one partner instead of two.
    return sorted([1, *random.Random(count).sample(range(2, (count - 1) // 2 + 1), MOST_STRIDES - 1)])


def turns_of(count: int, stride: int) -> list[int]:
    """Return the turns of a ring: two, one where cycles have two nodes, three where their number is odd."""
    length = count // math.gcd(stride % count, count)
    if length < 2:
        return []
    if length == 2:
        return [0]
    return [0, 1, 2] if length % 2 else [0, 1]


def pairs_of(count: int, stride: int, turn: int) -> list[Pair]:
    """Return the pairs of one turn, as the engine forms them (engine/experiments/nodes/ring.cpp)."""
    step = stride % count
    cycles = math.gcd(step, count)
    length = count // cycles
    found = []
    for first in range(cycles):
        for position in range(length):
            node = (first + position * step) % count
            if _turn(position, length) == turn:
                found.append((node, (node + step) % count))
    return found


def _turn(position: int, length: int) -> int | None:
    if length < 2 or (length == 2 and position == 1):
        return None
    if length % 2 and position == length - 1:
        return 2
    return position % 2


def coverage(count: int, strides: Sequence[int]) -> Coverage:
    """Return what rings of these strides measure of `count` nodes."""
    partners: list[set[int]] = [set() for _ in range(count)]
    for stride in strides:
        for turn in turns_of(count, stride):
            for a, b in pairs_of(count, stride, turn):
                partners[a].add(b)
                partners[b].add(a)
    pairs = sum(map(len, partners)) // 2
    return Coverage(count, pairs, count * (count - 1) // 2, min(map(len, partners), default=0))


def screening(count: int, effort: Effort | None = None) -> Campaign:
    """Return the campaign that measures all nodes by themselves and along their rings."""
    effort = effort or Effort()
    cells = alone_cells(effort)
    for stride in strides_of(count):
        place: dict[str, Values] = {"stride": stride, "turn": turns_of(count, stride)}
        cells += _pair_cells(f"stride {stride}", place, effort)
    title = f"Is one of {count} nodes slow, or a link between them?"
    return _campaign(count, title, cells, effort)


def alone_cells(effort: Effort) -> list[CellsTable]:
    """Return the cells in which each node is measured by itself."""
    time_s = effort.time_s
    rows: dict[str, dict[str, str | int | float]] = {
        "work": {"time_limit_s": effort.work_s},
        "copy": {"array_bytes": effort.copy_bytes, "time_limit_s": time_s},
        "access": {"array_bytes": effort.access_bytes, "time_limit_s": time_s},
        "single_copy": {"message_bytes": effort.message_bytes, "time_limit_s": time_s},
    }
    return [CellsTable(name, "nodes", {"pattern": name, **more}) for name, more in rows.items()]


def confirmation(
    count: int, suspects: Sequence[Pair], controls: Sequence[Pair], effort: Effort | None = None
) -> Campaign:
    """Return the campaign that measures these pairs one at a time, while all other nodes wait, and each node by itself.

    Args: suspects, controls: of nodes whose positions differ by one of the strides, first plus stride is second.
    """
    effort = effort or Effort()
    cells = alone_cells(effort)
    for a, b in dict.fromkeys([*suspects, *controls]):
        stride = (b - a) % count
        turn = next(turn for turn in turns_of(count, stride) if (a, b) in pairs_of(count, stride, turn))
        cells += _pair_cells(f"pair {a} {b}", {"stride": stride, "turn": turn, "only": a}, effort)
    return _campaign(count, "Are suspicious pairs slow while all other nodes wait?", cells, effort)


def controls_for(count: int, suspects: Collection[Pair], bad: Collection[int], most: int = CONTROLS) -> list[Pair]:
    """Return measured pairs of which no node is in `bad` and that are not suspicious, spread over all."""
    fit = [
        pair
        for stride in strides_of(count)
        for turn in turns_of(count, stride)
        for pair in pairs_of(count, stride, turn)
        if pair not in suspects and not set(pair) & set(bad)
    ]
    return random.Random(count).sample(fit, min(most, len(fit)))


def contact(count: int) -> Campaign:
    """Return the shortest campaign that shows whether a job starts on these nodes and its ranks reach each other."""
    brief = Effort(rounds=1, time_s=0.001, work_s=0.001)
    cells = [CellsTable("contact", "nodes", {"pattern": "work", "time_limit_s": brief.work_s})]
    return _campaign(count, "Does a job start on these nodes?", cells, brief)


def _pair_cells(name: str, place: Mapping[str, Values], effort: Effort) -> list[CellsTable]:
    stream: dict[str, Values] = {
        "pattern": "stream",
        "message_bytes": effort.message_bytes,
        "in_flight": effort.in_flight,
        "samples": 12,
    }
    shared: dict[str, Values] = {"time_limit_s": effort.time_s, **place}
    return [
        CellsTable(f"latency, {name}", "nodes", {"pattern": "latency", "samples": 60, **shared}),
        CellsTable(f"stream, {name}", "nodes", {**stream, "direction": ["forward", "reverse"], **shared}),
    ]


def _campaign(count: int, title: str, cells: Sequence[CellsTable], effort: Effort) -> Campaign:
    return Campaign(
        name=CAMPAIGN,
        title=title,
        ranks=[count],
        rounds=effort.rounds,
        cells=list(cells),
        placements=[PlacementTable(PLACE, bind="none", nodes=count, ranks_per_node=1)],
        minimum_effect=MINIMUM_EFFECT,
    )
