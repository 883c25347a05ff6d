# SPDX-License-Identifier: Apache-2.0
"""From values of nodes and pairs to what is slow: a node, one direction of its network, or a link. Pure.

A node is compared with all other nodes. Its network is slow where at least three quarters of its pairs are slower than
pairs that don't touch it; a link, where a pair is slower than nearly all others though both of its nodes are fast with
others. The strongest explanation is taken first, and the pairs that it explains are left out of all later ones. So one
slow node does not make its partners suspicious, nor its pairs slow links.

What is slow has to be so in every sense: beyond MINIMUM_EFFECT, beyond the spread of what is compared (its robust
standard deviation times a quantile that the number of comparisons sets), and from launch to launch (interval).
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from slowpath.core.campaign import Campaign, CellsTable, PlacementTable, Values
from slowpath.experiments.measured import NS, LaunchRecord, SampleBlock
from slowpath.experiments.nodes import FASTEST, MEAN, PAIRS, seconds_per_operation
from slowpath.stats.contrast import paired

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
    """Return the pairs of one turn, as the engine forms them (engine/experiments/nodes/nodes.cpp)."""
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


Alone = Literal["clock", "processors", "copy", "access", "single_copy"]
Between = Literal["latency", "stream"]
ALONE: tuple[Alone, ...] = ("clock", "processors", "copy", "access", "single_copy")
Link = tuple[str, str]  # who sends and who receives; latency: who times and who answers


@dataclass
class Observations:
    """Seconds by launch.

    nodes      every node that took part, in the order of the ring
    alone      measure -> node -> launch -> seconds. clock: the fastest sample of arithmetic on its fastest processor.
               processors: the mean sample, averaged over its processors, all working at once.
    between    measure -> pair -> launch -> seconds a message
    busy       node -> processors that took far longer than the fastest one of the node, and all processors
    reasons    node -> why a measure is missing
    """

    nodes: list[str] = field(default_factory=list)
    alone: dict[Alone, dict[str, dict[int, float]]] = field(default_factory=dict)
    between: dict[Between, dict[Link, dict[int, float]]] = field(default_factory=dict)
    busy: dict[str, tuple[int, int]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def launches(self) -> int:
        """Return in how many launches anything was measured."""
        alone = [rounds for row in self.alone.values() for rounds in row.values()]
        between = [rounds for row in self.between.values() for rounds in row.values()]
        return len({number for rounds in (*alone, *between) for number in rounds})

    def add_alone(self, measure: Alone, node: str, launch: int, value_s: float) -> None:
        """Take in one value of a node by itself."""
        self.alone.setdefault(measure, {}).setdefault(node, {})[launch] = value_s

    def add_between(self, measure: Between, link: Link, launch: int, value_s: float) -> None:
        """Take in one value of a pair."""
        self.between.setdefault(measure, {}).setdefault(link, {})[launch] = value_s


BUSY_RATIO = 1.3  # mean over the fastest sample of a processor that has to share


def observe(launches: Iterable[LaunchRecord], cells: Mapping[int, Mapping[str, str]]) -> Observations:
    """Return what the launches of a screening or a confirmation hold.

    Args: cells: parameters of each cell of the experiment `nodes`.
    """
    found = Observations()
    shares: dict[str, list[tuple[int, int]]] = {}
    for launch in launches:
        hosts = {rank.rank: rank.host for rank in launch.events.ranks}
        notes = launch.cell_notes
        found.nodes += [host for host in dict.fromkeys(hosts.values()) if host not in found.nodes]
        for cell, blocks in launch.cell_blocks(list(cells)).items():
            by_host = [(hosts[block.rank], block) for block in blocks if block.rank in hosts and block.duration_ns.size]
            pattern = cells[cell]["pattern"]
            if cell in notes and pattern not in PAIRS:
                missing = set(hosts.values()) - {host for host, _ in by_host}
                found.reasons |= dict.fromkeys(missing, f"{pattern} is missing: {notes[cell]}")
            if pattern == "work":
                _take_work(found, shares, launch.info.launch, by_host)
                continue
            for host, block in by_host:
                value_s = seconds_per_operation(pattern, block)
                if pattern in PAIRS:
                    if block.part in hosts:
                        measure: Between = "latency" if pattern == "latency" else "stream"
                        found.add_between(measure, (host, hosts[block.part]), launch.info.launch, value_s)
                elif (alone := _ALONE_OF.get(pattern)) is not None:
                    found.add_alone(alone, host, launch.info.launch, value_s)
    for host, counts in shares.items():
        found.busy[host] = sorted(counts)[len(counts) // 2]
    return found


_ALONE_OF: Mapping[str, Alone] = {"copy": "copy", "access": "access", "single_copy": "single_copy"}


def _take_work(
    found: Observations,
    shares: dict[str, list[tuple[int, int]]],
    launch: int,
    blocks: Iterable[tuple[str, SampleBlock]],
) -> None:
    parts: dict[str, dict[int, SampleBlock]] = {}
    for host, block in blocks:
        parts.setdefault(host, {})[block.part] = block
    for host, of_host in parts.items():
        if FASTEST not in of_host or MEAN not in of_host:
            continue
        fastest_ns, mean_ns = of_host[FASTEST].duration_ns, of_host[MEAN].duration_ns
        found.add_alone("clock", host, launch, float(fastest_ns.min()) * NS)
        found.add_alone("processors", host, launch, float(mean_ns.mean()) * NS)
        busy = int((mean_ns > BUSY_RATIO * fastest_ns.min()).sum())
        shares.setdefault(host, []).append((busy, len(mean_ns)))


Network = Literal["latency", "sends", "receives"]
NETWORK: tuple[Network, ...] = ("sends", "receives", "latency")
WRONG_CLAIMS = 0.01  # of all comparisons of one measure together, if values spread normally
FEWEST_FOR_SPREAD = 30  # values; of fewer, those that are slow would be part of the spread
FEWEST_LAUNCHES = 3  # without them there is no interval
SMALL_EFFECT = 1.5 * MINIMUM_EFFECT  # where the spread is not known
QUARTER = 25
LIKE = 0.5  # of the logarithm of a node's factor: what its fastest quarter of pairs has to show
MOST_FOUND = 200  # of one measure; more are a machine of several kinds
HEAVY_TAIL = 1.3  # spreads of real machines have longer tails than the normal distribution
_Name = TypeVar("_Name")


@dataclass(frozen=True)
class Slow:
    """One measure of a node or link that is slower than that of the others.

    ratio: over what is typical.  interval: 95 % over launches.
    pairs, of: how many of the node's pairs are slow, of how many; links and measures without pairs: 0.
    """

    measure: Alone | Network | Between
    ratio: float
    interval: tuple[float, float]
    value_s: float
    typical_s: float
    pairs: int = 0
    of: int = 0


@dataclass(frozen=True)
class SlowNode:
    """A node and all of its measures that are slow, the largest ratio first.

    busy: processors that do something else, of how many; None: none, or not known.
    """

    node: str
    slow: tuple[Slow, ...]
    busy: tuple[int, int] | None = None

    @property
    def ratio(self) -> float:
        """Return the largest ratio."""
        return max(one.ratio for one in self.slow)


@dataclass(frozen=True)
class SlowLink:
    """Two nodes, from `a` to `b`, whose pair is slow though both are not with other nodes.

    ways: 1: from a to b alone; 2: both ways.  others: the pairs of either node that are not slow.
    """

    a: str
    b: str
    slow: tuple[Slow, ...]
    ways: int
    others: int

    @property
    def ratio(self) -> float:
        """Return the largest ratio."""
        return max(one.ratio for one in self.slow)


@dataclass(frozen=True)
class Found:
    """What the values show. compared: nodes.  pairs: different ones that were measured.  launches: that hold values."""

    nodes: tuple[SlowNode, ...]
    links: tuple[SlowLink, ...]
    compared: int
    pairs: int
    launches: int


def infer(seen: Observations) -> Found:
    """Return what is slow.

    Args: seen: of one or several launches; nothing is claimed from fewer than three.
    """
    slow: dict[str, list[Slow]] = {}
    for alone in ALONE:
        for node, one in _slow_alone(seen.alone.get(alone, {}), alone).items():
            slow.setdefault(node, []).append(one)
    # An arithmetic that is slow by its clock rate is slow in the mean as well: it is one thing.
    for found in slow.values():
        _drop_follower(found, "processors", "clock")
    tables = {measure: PairTimes(values) for measure, values in seen.between.items() if values}
    for network in NETWORK:
        table = tables.get("latency" if network == "latency" else "stream")
        if table is not None:
            for node, one in _slow_networks(table, network).items():
                slow.setdefault(node, []).append(one)
    nodes = [
        SlowNode(node, tuple(sorted(found, key=lambda one: -one.ratio)), _busy(seen, node))
        for node, found in slow.items()
    ]
    links = _slow_links(tables)
    different = {frozenset(link) for table in tables.values() for link in table.links}
    return Found(
        tuple(sorted(nodes, key=lambda one: -one.ratio)),
        tuple(sorted(links, key=lambda one: -one.ratio)),
        len(seen.nodes),
        len(different),
        seen.launches,
    )


def _busy(seen: Observations, node: str) -> tuple[int, int] | None:
    busy, count = seen.busy.get(node, (0, 0))
    return (busy, count) if busy else None


def _drop_follower(found: list[Slow], follower: str, leader: str) -> None:
    ratios = {one.measure: one.ratio for one in found}
    if leader in ratios and follower in ratios and ratios[follower] < ratios[leader] * (1 + MINIMUM_EFFECT):
        found[:] = [one for one in found if one.measure != follower]


class _Values(Generic[_Name]):
    """Rows of seconds over launches, shape (rows, launches); NaN: not measured in that launch."""

    def __init__(self, values: Mapping[_Name, Mapping[int, float]]) -> None:
        numbers = sorted({number for rounds in values.values() for number in rounds})
        self.names = list(values)
        self.seconds = np.full((len(self.names), len(numbers)), math.nan)
        column = {number: i for i, number in enumerate(numbers)}
        for row, rounds in enumerate(values.values()):
            for number, value_s in rounds.items():
                self.seconds[row, column[number]] = value_s
        # What a launch does to all of them alike is none of theirs.
        logs = np.log(self.seconds)
        self.shift = np.nanmedian(logs, axis=0)
        self.logs = logs - self.shift
        self.centres = np.nanmedian(self.logs, axis=1)

    def typical_s(self, rows: NDArray[np.bool_]) -> float:
        """Return the typical time of some rows, seconds."""
        return float(np.nanmedian(np.exp(self.centres[rows] + np.nanmedian(self.shift))))

    def claim(
        self,
        measure: Alone | Network | Between,
        own: NDArray[np.bool_],
        others: NDArray[np.bool_],
        comparisons: int,
        pairs: int = 0,
    ) -> Slow | None:
        """Return how much slower `own` is than `others`, launch by launch; None: not slower beyond doubt.

        Args: comparisons: of this measure; where values are too few to know their spread, launches alone decide, at a
              level that holds for all comparisons together.
        """
        if not others.any():
            return None
        mine = np.exp(np.nanmedian(self.logs[own], axis=0))
        theirs = np.exp(np.nanmedian(self.logs[others], axis=0))
        known = np.isfinite(mine) & np.isfinite(theirs)
        if not known.any():
            return None
        found = paired(theirs[known], mine[known], MINIMUM_EFFECT)
        typical_s = self.typical_s(others)
        # One disturbed launch of few makes a mean large and an interval wide; the median launch says what is usual.
        ratio = float(np.exp(np.median(np.log(mine[known]) - np.log(theirs[known]))))
        if found.interval is None or found.n < FEWEST_LAUNCHES:
            return None
        interval = (min(found.interval[0], ratio), max(found.interval[1], ratio))
        if len(self.names) < FEWEST_FOR_SPREAD:
            strict = paired(theirs[known], mine[known], MINIMUM_EFFECT, level=1.0 - 2 * WRONG_CLAIMS / comparisons)
            if strict.interval is None or strict.interval[0] <= 1.0:
                return None
        if interval[0] <= 1.0:
            return None
        return Slow(measure, ratio, interval, typical_s * ratio, typical_s, pairs, int(own.sum()) if pairs else 0)


def _spread(centres: NDArray[np.float64]) -> float:
    """Return the robust standard deviation of logs; 0: too few to know."""
    if centres.size < FEWEST_FOR_SPREAD:
        return 0.0
    return 1.4826 * float(np.median(np.abs(centres - np.median(centres))))


def _threshold(spread: float, comparisons: int) -> float:
    """Return how far above the typical log a value has to be."""
    least = math.log(1.0 + (MINIMUM_EFFECT if spread else SMALL_EFFECT))
    quantile = NormalDist().inv_cdf(1.0 - WRONG_CLAIMS / max(comparisons, 1))
    return max(least, HEAVY_TAIL * quantile * spread)


def _slow_alone(values: Mapping[str, Mapping[int, float]], measure: Alone) -> dict[str, Slow]:
    """Return the nodes that are slower than the median of all others."""
    if len(values) < 2:
        return {}
    table = _Values(values)
    threshold = _threshold(_spread(table.centres), len(values))
    found: dict[str, Slow] = {}
    everyone = np.ones(len(values), bool)
    for row in np.argsort(-table.centres)[:MOST_FOUND]:
        own = np.zeros(len(values), bool)
        own[row] = True
        others = everyone & ~own
        if table.centres[row] - np.median(table.centres[others]) <= threshold:
            if len(values) > FEWEST_FOR_SPREAD:
                break  # the median of many is the same without any one of them
            continue
        claim = table.claim(measure, own, others, len(values))
        if claim is not None:
            found[table.names[row]] = claim
    return found


class PairTimes(_Values[Link]):
    """Times of pairs. explained: rows that a slow node already explains."""

    def __init__(self, values: Mapping[Link, Mapping[int, float]]) -> None:
        super().__init__(values)
        self.links = list(values)
        names = sorted({node for link in self.links for node in link})
        number = {name: i for i, name in enumerate(names)}
        self.nodes = names
        self.first = np.array([number[a] for a, _ in self.links])
        self.second = np.array([number[b] for _, b in self.links])
        self.explained = np.zeros(len(self.links), bool)

    def touching(self, node: int, network: Network | None) -> NDArray[np.bool_]:
        """Return the rows in which this node sends, receives, or does either."""
        if network == "sends":
            return np.asarray(self.first == node)
        if network == "receives":
            return np.asarray(self.second == node)
        return np.asarray((self.first == node) | (self.second == node))


def _slow_networks(table: PairTimes, network: Network) -> dict[str, Slow]:
    """Return the nodes that are slow with at least three quarters of their partners, the slowest first."""
    found: dict[str, Slow] = {}
    given_up: set[int] = set()
    rows_of = [np.flatnonzero(table.touching(node, network)) for node in range(len(table.nodes))]
    explained = np.zeros(len(table.links), bool)
    for _ in range(min(MOST_FOUND, len(table.nodes))):
        best, best_excess = None, 0.0
        left = ~explained
        spread = _spread(table.centres[left])
        middle = float(np.median(table.centres[left])) if left.any() else 0.0
        for node, rows in enumerate(rows_of):
            if node in given_up or rows.size < 2:
                continue
            rows = rows[left[rows]]
            if rows.size < 2:
                continue
            low = float(np.percentile(table.centres[rows], QUARTER, method="lower"))
            if low - middle <= 0 and len(table.nodes) > FEWEST_FOR_SPREAD:
                continue
            others = left & ~table.touching(node, None)
            if not others.any():
                continue
            excess = low - float(np.median(table.centres[others]))
            # The lower quarter of several rows spreads less than one of them.
            limit = _threshold(spread / math.sqrt(min(rows.size, 4)), len(table.nodes))
            if excess > limit and excess > best_excess:
                best, best_excess = node, excess
        if best is None:
            break
        own = table.touching(best, network) & left
        others = left & ~table.touching(best, None)
        level = float(np.median(table.centres[others])) + math.log(1.0 + MINIMUM_EFFECT)
        claim = table.claim(network, own, others, len(table.nodes), int((table.centres[own] > level).sum()))
        given_up.add(best)
        # A slow link and a slow node at the other end make two of three pairs slow, and with them the median: the
        # fastest quarter has to be slow, too, and by a like factor.
        if claim is None or best_excess < LIKE * math.log(claim.ratio):
            continue
        found[table.nodes[best]] = claim
        explained |= own
    table.explained |= explained
    return found


def _slow_links(tables: Mapping[Between, PairTimes]) -> list[SlowLink]:
    """Return pairs that are slower than nearly all others, of those that no slow node explains."""
    slow: dict[Link, dict[Between, Slow]] = {}
    for measure, table in tables.items():
        left = ~table.explained
        count = int(left.sum())
        if count < 3:
            continue
        centres = table.centres
        spread = _spread(centres[left])
        threshold = _threshold(spread, count)
        ordered = np.flatnonzero(left)[np.argsort(-centres[left])]
        middle = float(np.median(centres[left]))
        taken = np.zeros(len(centres), bool)
        for row in ordered[:MOST_FOUND]:
            if centres[row] - middle <= threshold:
                break
            own = np.zeros(len(centres), bool)
            own[row] = True
            back = (table.first == table.second[row]) & (table.second == table.first[row])
            others = left & ~own & ~back & ~taken
            if others.sum() < 2:
                break
            # Pairs that cross one more switch are no slow links: nearly all others have to be faster.
            high = float(np.percentile(centres[others], 90 if others.sum() >= 10 else 75))
            if centres[row] - high <= math.log(1.0 + MINIMUM_EFFECT):
                break
            claim = table.claim(measure, own, others, count)
            if claim is not None:
                slow.setdefault(table.links[row], {})[measure] = claim
            taken |= own
    return _as_links(slow, tables)


def _as_links(slow: Mapping[Link, Mapping[Between, Slow]], tables: Mapping[Between, PairTimes]) -> list[SlowLink]:
    found: dict[frozenset[str], SlowLink] = {}
    for (a, b), measures in slow.items():
        key = frozenset((a, b))
        if key in found:
            continue
        back = slow.get((b, a), {})
        worst = {**back, **measures}
        for measure, one in back.items():
            if measure in measures and one.ratio < measures[measure].ratio:
                worst[measure] = measures[measure]
            elif measure in measures:
                worst[measure] = one
        # Round trips go both ways, whoever times them.
        ways = 2 if "latency" in worst or ("stream" in measures and "stream" in back) else 1
        partners = {
            frozenset(link)
            for table in tables.values()
            for link in table.links
            if not key.isdisjoint(link) and frozenset(link) != key
        }
        others = len(partners - {frozenset(link) for link in slow})
        first, second = sorted((a, b)) if ways == 2 else (a, b)
        found[key] = SlowLink(first, second, tuple(sorted(worst.values(), key=lambda one: -one.ratio)), ways, others)
    return list(found.values())


def links_of(seen: Observations) -> Sequence[Link]:
    """Return the pairs that were measured, as the ring has them."""
    return list(seen.between.get("latency", seen.between.get("stream", {})))
