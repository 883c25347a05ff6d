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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.contrast import paired
from slowpath.studies.nodes.observed import ALONE, Alone, Between, Link, Observations
from slowpath.studies.nodes.schedule import MINIMUM_EFFECT

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
