# SPDX-License-Identifier: Apache-2.0
"""`slowpath nodes` from its first launch to its verdict, in one folder whose steps are run folders.

screen     all nodes, by themselves and along rings
contact-N  only where a launch of it failed: groups of nodes, then single ones
rest       all nodes that answer, where some don't
alone      what was suspicious, pair by pair, while all other nodes wait

What is suspicious is judged by what it took alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import EnvironmentFailure, Interrupted, UsageError
from slowpath.core.files import json_bytes, write_atomically
from slowpath.run.cores import nodes_at_hand
from slowpath.run.limits import RunLimits
from slowpath.studies.nodes.infer import (
    FEWEST_LAUNCHES,
    NETWORK,
    Found,
    PairTimes,
    Slow,
    SlowLink,
    SlowNode,
    infer,
    links_of,
)
from slowpath.studies.nodes.observed import Between, Link, Observations, observe
from slowpath.studies.nodes.schedule import (
    MINIMUM_EFFECT,
    MOST_ALONE,
    Coverage,
    confirmation,
    controls_for,
    coverage,
    screening,
    strides_of,
)
from slowpath.studies.nodes.steps import NodeBench, NodeStep, silent_nodes, started_groups, take_step
from slowpath.studies.nodes.verdict import NodesVerdict

PAIRS_OF_A_NODE = 2  # measured alone where its network is slow


def suspicious_pairs(found: Found, links: Iterable[Link], most: int) -> list[Link]:
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
            wanted += (own or [link for link in every if node.node in link])[:PAIRS_OF_A_NODE]
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


VERDICT = "verdict.json"
CONTACT_S = 20.0  # a short job on a few nodes that shows nothing for so long does not start
FEWEST_NODES = 2


def nodes_here(environ: dict[str, str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of nodes that the launcher can use, and their names where they are known.

    Raises: EnvironmentFailure: there is one node.
    """
    count, names = nodes_at_hand(environ)
    if count < FEWEST_NODES:
        raise EnvironmentFailure(
            "a single node has nothing to compare; run inside an allocation of several nodes (salloc -N 8 slowpath "
            "nodes), or list them in the launcher's host file"
        )
    return count, names


def cost_lines(bench: NodeBench, count: int) -> list[str]:
    """Return what a run on `count` nodes measures and takes, without measuring anything.

    Raises: UsageError, EnvironmentFailure.
    """
    names = bench.names or tuple(f"node{number + 1}" for number in range(count))
    first = bench.prepared(screening(count, bench.effort), names, count, dry=True)
    covered = coverage(count, strides_of(count))
    pairs = [(0, stride) for stride in strides_of(count)] * 3
    suspects = controls_for(count, [], [], most=min(MOST_ALONE, len(pairs) * 4))
    quiet = replace(bench, tell=lambda _: None)  # one word on an engine that is not built is enough
    again = quiet.prepared(confirmation(count, suspects, [], bench.effort), names, count, dry=True)
    cost, more = first.cost, again.cost
    return [
        f"{count} nodes, a rank on each: {cost.launches} launches of {len(first.plan.cells)} cells",
        coverage_words(covered),
        f"about {cost.wall_s:.0f} s ({cost.wall_s * count / 3600:.2g} node-hours); where something is suspicious, up "
        f"to {more.wall_s:.0f} s more in {more.launches} launches",
    ]


def coverage_words(covered: Coverage) -> str:
    """Return which pairs are measured, and what that can miss."""
    text = f"{covered.pairs} of {covered.all_pairs} pairs, each node with {covered.partners} others at least"
    if covered.pairs < covered.all_pairs:
        text += (
            f"; a path that {100 * covered.shortest_share():.2g} % of all pairs use is among them with 99 % "
            "probability, one that a single pair uses is mostly not"
        )
    return text


def measure_nodes(folder: Path, bench: NodeBench, count: int) -> NodesVerdict:
    """Measure all nodes and return what is slow; the verdict is kept in the folder.

    What the folder holds already is not measured again.

    Raises: Interrupted, EnvironmentFailure, UsageError; what was measured is kept.
    """
    try:
        verdict = _Session(folder, bench, count).run()
    except Interrupted as error:
        raise Interrupted(
            f"stopped; the measurements so far are kept. Continue with: slowpath nodes --out {folder}"
        ) from error
    write_atomically(folder / VERDICT, json_bytes(verdict))
    return verdict


class _Session:
    def __init__(self, folder: Path, bench: NodeBench, count: int) -> None:
        self._folder, self._bench, self._count = folder, bench, count
        self._hosts = bench.names
        self._steps: list[NodeStep] = []
        self._silent: dict[str, str] = {}
        self._contacts = 0

    def run(self) -> NodesVerdict:
        step = self._screen("screen")
        seen = self._observed(step)
        if step.troubles and self._hosts:
            self._silent = silent_nodes(self._hosts, self._start_groups)
            rest = tuple(host for host in self._hosts if host not in self._silent)
            if self._silent and not seen.launches and len(rest) >= FEWEST_NODES:
                self._hosts, self._count = rest, len(rest)
                step = self._screen("rest")
                seen = self._observed(step)
        if not seen.launches:
            return self._nothing(step)
        found = infer(seen)
        verdict = NodesVerdict(
            nodes=found.nodes,
            links=found.links,
            silent=self._silent,
            compared=found.compared,
            pairs=found.pairs,
            launches=found.launches,
            reasons=seen.reasons,
            notes=(*_too_few(found.launches), *step.troubles[:2]),
        )
        if found.nodes or found.links:
            verdict = self._confirmed(verdict, seen)
        return msgspec.structs.replace(verdict, wall_s=self._wall_s)

    def _screen(self, name: str) -> NodeStep:
        bench = self._bench
        return self._take(name, lambda: bench.prepared(screening(self._count, bench.effort), self._hosts, self._count))

    def _take(self, name: str, make: object) -> NodeStep:
        assert callable(make)
        step = take_step(self._folder / name, self._bench, make)
        self._steps.append(step)
        return step

    def _start_groups(self, groups: Sequence[Sequence[str]]) -> list[str | None]:
        self._contacts += 1
        limits = RunLimits(min(CONTACT_S, self._bench.limits.cell_timeout_s))
        self._bench.tell(f"looking for the node that does not answer: {len(groups)} groups at the same time")
        return started_groups(self._folder / f"contact-{self._contacts}", self._bench, groups, limits)

    def _confirmed(self, verdict: NodesVerdict, seen: Observations) -> NodesVerdict:
        """Measure what is suspicious again: nodes by themselves, pairs while all others wait."""
        found = infer(seen)
        position = {name: number for number, name in enumerate(seen.nodes)}
        suspects = suspicious_pairs(found, links_of(seen), MOST_ALONE)
        pairs = [(position[a], position[b]) for a, b in suspects]
        bad = {position[node.node] for node in found.nodes} | {
            position[x] for link in found.links for x in (link.a, link.b)
        }
        controls = controls_for(len(seen.nodes), pairs, bad) if pairs else []
        bench = self._bench
        bench.tell(f"measuring again: {len(found.nodes)} nodes by themselves, {len(pairs)} pairs one at a time")
        step = self._take(
            "alone",
            lambda: bench.prepared(confirmation(self._count, pairs, controls, bench.effort), self._hosts, self._count),
        )
        again = self._observed(step)
        if not again.launches:
            return msgspec.structs.replace(verdict, notes=(*verdict.notes, *step.troubles[:1]))
        names = seen.nodes
        known: list[Link] = [(names[a], names[b]) for a, b in controls]
        held = confirm(found, again, known)
        return msgspec.structs.replace(
            verdict,
            nodes=held.nodes,
            links=held.links,
            loaded_nodes=held.loaded_nodes,
            loaded_links=held.loaded_links,
            confirmed=True,
        )

    def _observed(self, step: NodeStep) -> Observations:
        return as_allocated(observe(step.launches, step.cells), self._bench.names)

    def _nothing(self, step: NodeStep) -> NodesVerdict:
        why = step.reason or next(iter(step.troubles), "no launch gave values")
        return NodesVerdict(silent=self._silent, wall_s=self._wall_s, why=why)

    @property
    def _wall_s(self) -> float:
        return sum(step.wall_s for step in self._steps)


def _too_few(launches: int) -> list[str]:
    if launches >= FEWEST_LAUNCHES:
        return []
    return [f"{launches} launches gave values, and fewer than {FEWEST_LAUNCHES} show nothing beyond doubt"]


def as_allocated(seen: Observations, names: Sequence[str]) -> Observations:
    """Return the same with the batch system's names of nodes, where it shortens what nodes call themselves, or not."""
    short = {name.partition(".")[0]: name for name in names}
    renamed = {node: short.get(node.partition(".")[0], node) for node in seen.nodes}
    if len(set(renamed.values())) < len(renamed) or all(a == b for a, b in renamed.items()):
        return seen
    return replace(
        seen,
        nodes=[renamed[node] for node in seen.nodes],
        alone={m: {renamed[node]: rounds for node, rounds in rows.items()} for m, rows in seen.alone.items()},
        between={
            m: {(renamed[a], renamed[b]): rounds for (a, b), rounds in rows.items()} for m, rows in seen.between.items()
        },
        busy={renamed[node]: count for node, count in seen.busy.items()},
        reasons={renamed[node]: text for node, text in seen.reasons.items()},
    )


def fresh_folder(parent: Path) -> Path:
    """Return the name of a folder that is not there yet: nodes-YYYYMMDD-HHMMSS."""
    stem = f"nodes-{datetime.now().strftime('%Y%m%d-%H%M%S')}"
    return next(path for n in itertools.count(1) if not (path := parent / (stem + (f"-{n}" if n > 1 else ""))).exists())


def require_folder(folder: Path) -> None:
    """Raises UsageError if the folder holds something else than steps of this command."""
    if not folder.exists() or (folder / "screen").is_dir() or not any(folder.iterdir()):
        return
    raise UsageError(f"{folder}: is not empty and not from slowpath nodes; choose a new folder")
