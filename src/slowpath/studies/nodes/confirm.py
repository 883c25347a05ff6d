# SPDX-License-Identifier: Apache-2.0
"""What is suspicious is measured again, pairs alone while all other nodes wait, and judged here. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slowpath.studies.nodes.infer import NETWORK, Found, PairTimes, Slow, SlowLink, SlowNode, infer
from slowpath.studies.nodes.observed import Between, Link, Observations
from slowpath.studies.nodes.schedule import MINIMUM_EFFECT


def suspicious_pairs(found: Found, links: Iterable[Link], most: int, each: int = 2) -> list[Link]:
    """Return pairs to measure alone: each slow link, and some pairs of each node whose network is slow.

    Args: links: pairs that were measured, as the ring has them.
    """
    every = list(links)
    by_pair = {frozenset(link): link for link in every}
    wanted = [by_pair[key] for link in found.links if (key := frozenset((link.a, link.b))) in by_pair]
    bad = {node.node for node in found.nodes}
    for node in found.nodes:
        if any(one.measure in NETWORK for one in node.slow):
            own = [link for link in every if node.node in link and not (set(link) - {node.node}) & bad]
            wanted += (own or [link for link in every if node.node in link])[:each]
    return list(dict.fromkeys(wanted))[:most]


@dataclass(frozen=True)
class Confirmed:
    """What fresh launches say. nodes, links: slow in both.  loaded: slow only while all nodes communicate.

    gone: slow in the first launches alone, and so nothing to claim.
    """

    nodes: tuple[SlowNode, ...]
    links: tuple[SlowLink, ...]
    loaded_nodes: tuple[SlowNode, ...]
    loaded_links: tuple[SlowLink, ...]
    gone: tuple[str, ...]


def confirm(found: Found, again: Observations, controls: Collection[Link]) -> Confirmed:
    """Return what of `found` holds in fresh launches, in which pairs were measured alone.

    Args: again: of those launches.  controls: pairs in it that were not suspicious, which the others are compared with.
    """
    fresh = infer(_without_pairs(again))
    fresh_alone = {node.node: {one.measure: one for one in node.slow} for node in fresh.nodes}
    tables = {measure: PairTimes(values) for measure, values in again.between.items() if values}
    nodes, loaded_nodes, links, loaded_links, gone = [], [], [], [], []
    for node in found.nodes:
        kept = [
            fresh_alone.get(node.node, {})[one.measure]
            for one in node.slow
            if one.measure in fresh_alone.get(node.node, {})
        ]
        network = [one for one in node.slow if one.measure in NETWORK]
        holds = [one for one in network if _holds(one, node.node, tables, controls)]
        if kept or holds:
            nodes.append(replace(node, slow=tuple(sorted([*kept, *holds], key=lambda one: -one.ratio))))
        elif network:
            loaded_nodes.append(replace(node, slow=tuple(network)))
        else:
            gone.append(node.node)
    for link in found.links:
        if any(_link_holds(one, link, tables, controls) for one in link.slow):
            links.append(link)
        else:
            loaded_links.append(link)
    return Confirmed(tuple(nodes), tuple(links), tuple(loaded_nodes), tuple(loaded_links), tuple(gone))


def _without_pairs(seen: Observations) -> Observations:
    """Return the same without pairs."""
    return replace(seen, between={})


def _against(table: PairTimes, own: NDArray[np.bool_], controls: Collection[Link]) -> float | None:
    """Return the ratio of some pairs to the controls, all measured alone; None: not measured."""
    known = {frozenset(link) for link in controls}
    others = np.array([frozenset(link) in known for link in table.links]) & ~own
    if not own.any() or not others.any():
        return None
    return math.exp(float(np.median(table.centres[own]) - np.median(table.centres[others])))


def _holds(one: Slow, node: str, tables: Mapping[Between, PairTimes], controls: Collection[Link]) -> bool:
    table = tables.get("latency" if one.measure == "latency" else "stream")
    if table is None or node not in table.nodes or one.measure not in NETWORK:
        return True  # not measured again: what was found stays
    ratio = _against(table, table.touching(table.nodes.index(node), one.measure), controls)
    return ratio is None or ratio > 1.0 + MINIMUM_EFFECT


def _link_holds(one: Slow, link: SlowLink, tables: Mapping[Between, PairTimes], controls: Collection[Link]) -> bool:
    table = tables.get("latency" if one.measure == "latency" else "stream")
    if table is None:
        return True
    way = (link.a, link.b)
    ways = {way} if link.ways == 1 else {way, (link.b, link.a)}
    own = np.array([tuple(pair) in ways for pair in table.links], bool)
    ratio = _against(table, own, controls)
    return ratio is None or ratio > 1.0 + MINIMUM_EFFECT
