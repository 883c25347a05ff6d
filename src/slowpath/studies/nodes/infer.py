# SPDX-License-Identifier: Apache-2.0
"""From values of nodes and pairs to what is slow: a node, one direction of its network, or a link. Pure.

The other nodes are the reference of a node, and the other pairs that of a link. A network is slow where at least three
quarters of its pairs are slower than pairs that don't touch it; a link, where a pair is slower than nearly all others
though both of its nodes are fast with others. The strongest explanation is taken first, and what it explains is left
out of all later ones. So one slow node does not make its partners suspicious, nor its pairs slow links.

What is slow has to be so in every sense: beyond MINIMUM_EFFECT, beyond the spread of what is compared (its robust
standard deviation times a quantile that the number of comparisons sets), and in each launch: none is as fast as any of
most others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal, cast

import msgspec
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


def strides_of(count: int) -> list[int]:
    """Return the strides for `count` nodes, ascending; the same each time, so that runs can be compared."""
    every = range(1, count // 2 + 1)
    if len(every) <= MOST_STRIDES:
        return list(every)
    # Half of an even number would give each node one partner instead of two.
    return sorted([1, *random.Random(count).sample(range(2, (count - 1) // 2 + 1), MOST_STRIDES - 1)])


def ring(count: int, stride: int) -> dict[Pair, int]:
    """Return the pairs of a ring and the turn of each, as the engine forms them (engine/experiments/nodes/nodes.cpp).

    No node is in two pairs of a turn: two turns, one where cycles have two nodes, three where their number is odd.
    """
    length = count // math.gcd(stride, count)
    pairs: dict[Pair, int] = {}
    for first in range(count // length):
        for position in range(length - (length == 2)):
            node = (first + position * stride) % count
            turn = 2 if length % 2 and position == length - 1 else position % 2
            pairs[node, (node + stride) % count] = turn
    return pairs


def ring_pairs(count: int) -> dict[Pair, tuple[int, int]]:
    """Return all pairs that are measured, each with its stride and turn."""
    return {pair: (stride, turn) for stride in strides_of(count) for pair, turn in ring(count, stride).items()}


def shortest_share(pairs: int, all_pairs: int, risk: float = 0.01) -> float:
    """Return the smallest share of all pairs that a path has to carry to be missed with `risk` at most.

    Pairs are taken as drawn at random; where all are measured, nothing is missed.
    """
    return 0.0 if pairs >= all_pairs else 1.0 - risk ** (1.0 / pairs)


def screening(count: int, effort: Effort | None = None) -> Campaign:
    """Return the campaign that measures all nodes by themselves and along their rings."""
    effort = effort or Effort()
    cells = alone_cells(effort)
    for stride in strides_of(count):
        place: dict[str, Values] = {"stride": stride, "turn": sorted(set(ring(count, stride).values()))}
        cells += _pair_cells(f"stride {stride}", place, effort)
    title = f"{count} nodes by themselves and in rings"
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
    measured = ring_pairs(count)
    for a, b in dict.fromkeys([*suspects, *controls]):
        stride, turn = measured[a, b]
        cells += _pair_cells(f"pair {a} {b}", {"stride": stride, "turn": turn, "only": a}, effort)
    return _campaign(count, "suspicious pairs by themselves", cells, effort)


def controls_for(count: int, suspects: Collection[Pair], bad: Collection[int], most: int = CONTROLS) -> list[Pair]:
    """Return measured pairs of which no node is in `bad` and that are not suspicious, spread over all."""
    fit = [pair for pair in ring_pairs(count) if pair not in suspects and not set(pair) & set(bad)]
    return random.Random(count).sample(fit, min(most, len(fit)))


def contact(count: int) -> Campaign:
    """Return the shortest campaign that shows whether a job starts on these nodes and its ranks reach each other."""
    brief = Effort(rounds=1, time_s=0.001, work_s=0.001)
    cells = [CellsTable("contact", "nodes", {"pattern": "work", "time_limit_s": brief.work_s})]
    return _campaign(count, "a job on these nodes", cells, brief)


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

    @property
    def links(self) -> Sequence[Link]:
        """Return the pairs that were measured, as the ring has them."""
        return list(self.between.get("latency", self.between.get("stream", {})))

    def add_alone(self, measure: Alone, node: str, launch: int, value_s: float) -> None:
        """Take in one value of a node by itself."""
        self.alone.setdefault(measure, {}).setdefault(node, {})[launch] = value_s

    def add_between(self, measure: Between, link: Link, launch: int, value_s: float) -> None:
        """Take in one value of a pair."""
        self.between.setdefault(measure, {}).setdefault(link, {})[launch] = value_s


BUSY_RATIO = 1.3  # mean over the fastest sample of a processor that has to share


def observe(
    launches: Iterable[LaunchRecord], cells: Mapping[int, Mapping[str, str]], names: Sequence[str] = ()
) -> Observations:
    """Return what the launches of a screening or a confirmation hold.

    Args: cells: parameters of each cell of the experiment `nodes`.  names: the batch system's names of nodes, which it
          may shorten, or not.
    """
    seen = Observations()
    allocated = {name.partition(".")[0]: name for name in names}
    allocated = allocated if len(allocated) == len(names) else {}
    shares: dict[str, list[tuple[int, int]]] = {}
    for launch in launches:
        hosts = {rank.rank: allocated.get(rank.host.partition(".")[0], rank.host) for rank in launch.events.ranks}
        notes = launch.cell_notes
        seen.nodes += [host for host in dict.fromkeys(hosts.values()) if host not in seen.nodes]
        for cell, blocks in launch.cell_blocks(list(cells)).items():
            by_host = [(hosts[block.rank], block) for block in blocks if block.rank in hosts and block.duration_ns.size]
            pattern = cells[cell]["pattern"]
            if cell in notes and pattern not in PAIRS:
                missing = set(hosts.values()) - {host for host, _ in by_host}
                seen.reasons |= dict.fromkeys(missing, f"{pattern} is missing: {notes[cell]}")
            if pattern == "work":
                _take_work(seen, shares, launch.info.launch, by_host)
                continue
            for host, block in by_host:
                value_s = seconds_per_operation(pattern, block)
                if pattern not in PAIRS:
                    seen.add_alone(cast(Alone, pattern), host, launch.info.launch, value_s)
                elif block.part in hosts:
                    measure: Between = "latency" if pattern == "latency" else "stream"
                    seen.add_between(measure, (host, hosts[block.part]), launch.info.launch, value_s)
    for host, counts in shares.items():
        seen.busy[host] = sorted(counts)[len(counts) // 2]
    return seen


def _take_work(
    seen: Observations,
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
        seen.add_alone("clock", host, launch, float(fastest_ns.min()) * NS)
        seen.add_alone("processors", host, launch, float(mean_ns.mean()) * NS)
        busy = int((mean_ns > BUSY_RATIO * fastest_ns.min()).sum())
        shares.setdefault(host, []).append((busy, len(mean_ns)))


Network = Literal["latency", "sends", "receives"]
NETWORK: tuple[Network, ...] = ("sends", "receives", "latency")
WRONG_CLAIMS = 0.01  # of all comparisons of one measure together, if values spread normally
FEWEST_FOR_SPREAD = 30  # values; of fewer, those that are slow would be part of the spread
FEWEST_LAUNCHES = 3  # without them there is no interval
SMALL_EFFECT = 1.5 * MINIMUM_EFFECT  # where the spread is not known
LIKE = 0.5  # of the logarithm of a node's factor: what its fastest quarter of pairs has to show
FEWEST_APART, MOST_APART = 3, 0.5  # rows that were always faster, and their share of the others
MOST_FOUND = 200  # of one measure; more are a machine of several kinds
HEAVY_TAIL = 1.3  # spreads of real machines have longer tails than the normal distribution
Name = str | tuple[str, str]
Rows = NDArray[np.intp]


class Slow(msgspec.Struct, frozen=True):
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


class SlowNode(msgspec.Struct, frozen=True):
    """A node and all of its measures that are slow, the largest ratio first.

    busy: processors that do something else, of how many; None: none, or not known.
    """

    node: str
    slow: tuple[Slow, ...]
    busy: tuple[int, int] | None = None


class SlowLink(msgspec.Struct, frozen=True):
    """Two nodes, from `a` to `b`, whose pair is slow though both are not with other nodes.

    ways: 1: from a to b alone; 2: both ways.  others: the pairs of either node that are not slow.
    """

    a: str
    b: str
    slow: tuple[Slow, ...]
    ways: int
    others: int


VERDICT_SCHEMA = 1


class NodesVerdict(msgspec.Struct, frozen=True):
    """What is slow.

    silent         node -> why no job starts on it
    loaded_*       slow only while all nodes communicate, and not alone
    confirmed      whether suspicious pairs were measured again in launches of their own
    compared, pairs, launches   nodes, different pairs, and launches that gave values
    reasons        node -> why a measure of it is missing
    why            why nothing was compared; None: something was
    """

    schema: int = VERDICT_SCHEMA
    nodes: tuple[SlowNode, ...] = ()
    links: tuple[SlowLink, ...] = ()
    silent: dict[str, str] = {}
    loaded_nodes: tuple[SlowNode, ...] = ()
    loaded_links: tuple[SlowLink, ...] = ()
    confirmed: bool = False
    compared: int = 0
    pairs: int = 0
    launches: int = 0
    wall_s: float = 0.0
    reasons: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    why: str | None = None


def infer(seen: Observations) -> NodesVerdict:
    """Return what is slow.

    Args: seen: of one or several launches; nothing is claimed from fewer than three.
    """
    slow: dict[str, list[Slow]] = {}
    for alone, by_node in seen.alone.items():
        table = Times(by_node)
        nodes = [_Candidate(alone, node, table.rows_of(node), table.rows_of(node)) for node in table.nodes]
        for node, measured in table.explain(nodes):
            slow.setdefault(str(node), []).append(measured)
    for measures in slow.values():  # arithmetic that is slow by its clock rate is slow in the mean as well
        ratios = {measured.measure: measured.ratio for measured in measures}
        if ratios.get("processors", math.inf) < ratios.get("clock", 0.0) * (1 + MINIMUM_EFFECT):
            measures[:] = [measured for measured in measures if measured.measure != "processors"]
    tables = {between: Times(values) for between, values in seen.between.items() if values}
    slow_pairs: dict[Link, list[Slow]] = {}
    for between, table in tables.items():
        ways: dict[Network, int | None] = {"sends": 0, "receives": 1} if between == "stream" else {"latency": None}
        nodes = [
            _Candidate(network, node, table.rows_of(node, end), table.rows_of(node))
            for network, end in ways.items()
            for node in table.nodes
        ]
        for node, measured in table.explain(nodes):
            slow.setdefault(str(node), []).append(measured)
        row_of = {name: row for row, name in enumerate(table.names)}
        # What a node sends too slowly holds up its answers to what it receives: no pair of it is fast but for a link.
        bad = {node for node, measures in slow.items() if any(measured.measure in NETWORK for measured in measures)}
        pairs = [
            _Candidate(between, (a, b), np.array([row]), np.array([row, row_of.get((b, a), row)]))
            for (a, b), row in cast(dict[Link, int], row_of).items()
            if not {a, b} & bad
        ]
        for pair, measured in table.explain(pairs):
            slow_pairs.setdefault(cast(Link, pair), []).append(measured)
    slow_nodes = [
        SlowNode(node, by_ratio(measures), seen.busy[node] if seen.busy.get(node, (0,))[0] else None)
        for node, measures in slow.items()
    ]
    different = {frozenset(pair) for table in tables.values() for pair in table.names}
    links = _as_links(slow_pairs, different)
    return NodesVerdict(
        nodes=tuple(sorted(slow_nodes, key=lambda node: -node.slow[0].ratio)),
        links=links,
        compared=len(seen.nodes),
        pairs=len(different),
        launches=seen.launches,
        reasons=seen.reasons,
    )


def by_ratio(measures: Iterable[Slow]) -> tuple[Slow, ...]:
    """Return the measures, the largest ratio first."""
    return tuple(sorted(measures, key=lambda measured: -measured.ratio))


@dataclass(frozen=True)
class _Candidate:
    """What may be slow. own: its rows.  touching: rows that it may slow down, which don't show what is typical."""

    measure: Alone | Network | Between
    name: Name
    own: Rows
    touching: Rows

    @property
    def is_pair(self) -> bool:
        return isinstance(self.name, tuple)

    @property
    def fewest(self) -> int:
        """Rows that it has to have: the network of a node shows in several pairs."""
        return 2 if self.measure in NETWORK else 1


class Times:
    """Rows of seconds over launches, shape (rows, launches); NaN: not measured in that launch.

    names: of the rows: nodes, or pairs.  left: rows that nothing slow explains.
    """

    def __init__(self, values: Mapping[str, Mapping[int, float]] | Mapping[Link, Mapping[int, float]]) -> None:
        numbers = sorted({number for rounds in values.values() for number in rounds})
        self.names: list[Name] = list(values)
        seconds = np.array([[rounds.get(number, math.nan) for number in numbers] for rounds in values.values()])
        # What a launch does to all of them alike is none of theirs.
        self.raw = np.log(seconds)
        shift = np.nanmedian(self.raw, axis=0)
        self.logs = self.raw - shift
        self.usual_s = math.exp(float(np.nanmedian(shift)))
        self.centres = np.nanmedian(self.logs, axis=1)
        ends = [name if isinstance(name, tuple) else (name,) for name in self.names]
        self.nodes = sorted({node for each in ends for node in each})
        number_of = {node: number for number, node in enumerate(self.nodes)}
        self._ends = np.array([[number_of[node] for node in each] for each in ends])
        self._number_of = number_of
        self.left = np.ones(len(self.names), bool)

    def rows_of(self, node: str, end: int | None = None) -> Rows:
        """Return the rows of this node.  Args: end: of pairs only those in which it sends (0) or receives (1)."""
        of_node = self._ends == self._number_of.get(node, -1)
        return np.flatnonzero(of_node.any(axis=1) if end is None else of_node[:, end])

    def explain(self, candidates: Sequence[_Candidate]) -> list[tuple[Name, Slow]]:
        """Return the candidates that are slow, the strongest explanation first: it takes its rows from all others."""
        explained: list[tuple[Name, Slow]] = []
        tried: set[int] = set()
        comparisons = len(self.nodes) if any(not c.is_pair for c in candidates) else int(self.left.sum())
        while len(tried) < MOST_FOUND:
            best: tuple[float, int, NDArray[np.bool_]] | None = None
            spread, middle = _spread(self.centres[self.left]), float(np.median(self.centres[self.left]))
            for number, candidate in enumerate(candidates):
                own = candidate.own[self.left[candidate.own]]
                if number in tried or own.size < candidate.fewest:
                    continue
                # A network's fastest quarter has to be slow: other ends are fast.
                low = float(np.sort(self.centres[own])[(own.size - 1) // 4])
                if low <= middle + math.log1p(MINIMUM_EFFECT) * (len(self.nodes) > FEWEST_FOR_SPREAD):
                    continue
                others = self.left.copy()
                others[candidate.touching] = False
                if others.sum() < 1 + candidate.is_pair:
                    continue
                # The lower quarter of several rows spreads less than one of them.
                limit = self._limit(others, spread / math.sqrt(min(own.size, 4)), comparisons, candidate.is_pair)
                excess = low - float(np.median(self.centres[others]))
                if low > limit and (best is None or excess > best[0]):
                    best = excess, number, others
            if best is None:
                break
            excess, number, others = best
            tried.add(number)
            candidate = candidates[number]
            own = candidate.own[self.left[candidate.own]]
            measured = self._claim(candidate, own, others)
            # A slow link and a slow node at the other end make two of three pairs slow, and with them the median: the
            # fastest quarter has to be slow by a like factor.
            if measured is not None and excess >= LIKE * math.log(measured.ratio):
                explained.append((candidate.name, measured))
                self.left[own] = False
        return explained

    def _limit(self, others: NDArray[np.bool_], spread: float, comparisons: int, is_pair: bool) -> float:
        """Return the log from which on a value is slow: beyond what is typical, and for a pair nearly all others.

        Pairs that cross one more switch than most are no slow links.
        """
        centres = self.centres[others]
        least = math.log1p(MINIMUM_EFFECT if spread else SMALL_EFFECT)
        quantile = NormalDist().inv_cdf(1.0 - WRONG_CLAIMS / max(comparisons, 1))
        limit = float(np.median(centres)) + max(least, HEAVY_TAIL * quantile * spread)
        if not is_pair:
            return limit
        high = float(np.percentile(centres, 90 if centres.size >= 10 else 75))
        return max(limit, high + math.log1p(MINIMUM_EFFECT))

    def _claim(self, candidate: _Candidate, own: Rows, others: NDArray[np.bool_]) -> Slow | None:
        """Return how much slower `own` is than `others`, launch by launch; None: not slower beyond doubt."""
        mine = np.exp(np.nanmedian(self.logs[own], axis=0))
        theirs = np.exp(np.nanmedian(self.logs[others], axis=0))
        known = np.isfinite(mine) & np.isfinite(theirs)
        if known.sum() < FEWEST_LAUNCHES:
            return None
        # One disturbed launch of few makes a mean large and an interval wide; the median launch says what is usual.
        ratios = mine[known] / theirs[known]
        ratio = float(np.exp(np.median(np.log(ratios))))
        ends = paired(theirs[known], mine[known], MINIMUM_EFFECT).interval or (0.0, 0.0)
        if ends[0] <= 1.0:
            ends = float(ratios.min()), float(ratios.max())
        interval = min(ends[0], ratio), max(ends[1], ratio)
        if interval[0] <= 1.0 or not self._is_apart(own, others):
            return None
        middle = float(np.median(self.centres[others]))
        typical_s = self.usual_s * math.exp(middle)
        slow = int((self.centres[own] > middle + math.log1p(MINIMUM_EFFECT)).sum())
        pairs, of = (slow, own.size) if candidate.measure in NETWORK else (0, 0)
        return Slow(candidate.measure, ratio, interval, typical_s * ratio, typical_s, pairs, of)

    def _is_apart(self, own: Rows, others: NDArray[np.bool_]) -> bool:
        """Whether no launch of `own` is as fast as any launch of most of `others`, which are its reference.

        On busy nodes times differ by factors of a hundred, and an interval of their mean holds nearly everything; of
        such a machine without a fault it names a node or link in 10 to 50 of 100 runs, this in 2 at most.
        """
        least = float(np.nanmin(np.sort(self.raw[own], axis=0)[(own.size - 1) // 4]))
        beyond = least > np.nanmax(self.raw[others], axis=1)
        return int(beyond.sum()) >= max(FEWEST_APART, math.ceil(MOST_APART * len(beyond)))


def _spread(centres: NDArray[np.float64]) -> float:
    """Return the robust standard deviation of logs; 0: too few to know."""
    if centres.size < FEWEST_FOR_SPREAD:
        return 0.0
    return 1.4826 * float(np.median(np.abs(centres - np.median(centres))))


def _as_links(slow: Mapping[Link, Sequence[Slow]], pairs: Collection[frozenset[str]]) -> tuple[SlowLink, ...]:
    by_pair: dict[frozenset[str], SlowLink] = {}
    for (a, b), measures in slow.items():
        both = [*measures, *slow.get((b, a), ())]
        worst = {m.measure: m for m in sorted(both, key=lambda measured: measured.ratio)}
        # Round trips go both ways, whoever times them.
        ways = 2 if "latency" in worst or len(both) > len(worst) else 1
        near = {pair for pair in pairs if not pair.isdisjoint((a, b))} - {frozenset(pair) for pair in slow}
        first, second = sorted((a, b)) if ways == 2 else (a, b)
        by_pair.setdefault(frozenset((a, b)), SlowLink(first, second, by_ratio(worst.values()), ways, len(near)))
    return tuple(sorted(by_pair.values(), key=lambda link: -link.slow[0].ratio))
