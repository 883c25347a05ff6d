# SPDX-License-Identifier: Apache-2.0
"""`slowpath nodes` from its first launch to its verdict, in one folder whose steps are run folders.

screen     all nodes, by themselves and along rings
contact-N  only where a launch of it failed: groups of nodes, then single ones
rest       all nodes that answer, where some don't
alone      what was suspicious, pair by pair, while all other nodes wait

What is suspicious is judged by what it took alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import msgspec
import numpy as np

from slowpath.core.campaign import Campaign
from slowpath.core.errors import EnvironmentFailure, Interrupted, UsageError, stopped
from slowpath.core.files import json_bytes, write_atomically
from slowpath.core.plan import Plan
from slowpath.core.units import format_time, plural, ratio_words
from slowpath.experiments.measured import LaunchRecord, load_launches
from slowpath.run.engine.build import Tell
from slowpath.run.measure import create, measure, resume, state_of
from slowpath.run.prepare import PreparedRun, nodes_at_hand, prepare_on
from slowpath.run.progress import Progress
from slowpath.run.reopen import Terms
from slowpath.run.schedule import RunLimits
from slowpath.studies.nodes.infer import (
    FEWEST_LAUNCHES,
    MESSAGE_BYTES,
    MINIMUM_EFFECT,
    MOST_ALONE,
    NETWORK,
    Effort,
    Link,
    NodesVerdict,
    Observations,
    Slow,
    SlowLink,
    SlowNode,
    Times,
    by_ratio,
    confirmation,
    contact,
    controls_for,
    infer,
    observe,
    ring_pairs,
    screening,
    shortest_share,
)


@dataclass(frozen=True)
class NodeBench:
    """With what steps are measured.

    names: of all nodes of the allocation; empty: the batch system does not state them.  terms: of continued steps.
    """

    environ: Mapping[str, str]
    tell: Tell
    limits: RunLimits
    progress: Callable[[], Progress]
    command: Sequence[str]
    names: tuple[str, ...]
    mpi: str | None = None
    terms: Terms = dataclasses.field(default_factory=Terms)
    message_bytes: int = MESSAGE_BYTES

    @property
    def effort(self) -> Effort:
        """Return how much is measured."""
        return Effort(message_bytes=self.message_bytes)

    def prepared(self, campaign: Campaign, hosts: Sequence[str], count: int, dry: bool = False) -> PreparedRun:
        """Return a campaign of `count` nodes that is ready to be measured on these hosts.

        Args:   hosts: all or some of `names`; where they are all, the launcher is not asked for certain ones.
        Raises: UsageError, EnvironmentFailure.
        """
        by_name = bool(hosts) and tuple(hosts) != self.names and not dry
        return prepare_on(campaign, hosts, count, self.environ, self.tell, self.mpi, dry, by_name)


@dataclass(frozen=True)
class NodeStep:
    """A step that is over. reason: why no launch of it gave values; None: one did."""

    plan: Plan
    launches: list[LaunchRecord]
    wall_s: float
    reason: str | None = None

    @property
    def troubles(self) -> list[str]:
        """Return how launches ended that did not end well, each reason once."""
        bad = [launch.info for launch in self.launches if launch.info.ended not in ("ok", "interrupted")]
        return list(dict.fromkeys(f"a launch {info.ended}: {info.reason or 'no reason given'}" for info in bad))


def take_step(
    run: Path, bench: NodeBench, make: Callable[[], PreparedRun], limits: RunLimits | None = None
) -> NodeStep:
    """Measure a step; one that is over is read, and one that was cut off is continued.

    Raises: Interrupted, EnvironmentFailure (the folder or the disk refuses); what was measured is kept.
    """
    limits, reason = limits or bench.limits, None
    before = state_of(run)
    try:
        if before is None:
            prepared = make()
            create(prepared, run, list(bench.command))
            measure(run, prepared.plan, prepared.commands, limits, bench.progress())
        elif not before.is_over:
            resume(run, bench.environ, bench.tell, limits, bench.progress, bench.terms)
    except EnvironmentFailure as error:
        reason = str(error)
    after = state_of(run)
    if after is None or (reason is not None and not after.is_over):
        raise EnvironmentFailure(reason or f"{run}: nothing was begun")
    # A step in which nothing starts is a result: which node is it?
    return NodeStep(after.plan, load_launches(run), after.wall_s, reason)


# Which node does not answer: groups of nodes at the same time, then each node of a group that does not start.


def silent_nodes(names: Sequence[str], starts: Callable[[Sequence[Sequence[str]]], list[str | None]]) -> dict[str, str]:
    """Return the nodes on which no job starts, each with its reason.

    n nodes take two steps, of about sqrt(n) jobs at the same time each, where one of them does not answer.

    Args: starts: groups of nodes, with no node in two -> why no job starts on each of them; None: one does.
    """
    size = max(1, math.isqrt(len(names)))
    groups = [names[first : first + size] for first in range(0, len(names), size)]
    bad = [group for group, why in zip(groups, starts(groups), strict=True) if why is not None]
    single = [[name] for group in bad for name in group]
    if not single:
        return {}
    return {name: why for (name,), why in zip(single, starts(single), strict=True) if why is not None}


def started_groups(run: Path, bench: NodeBench, groups: Sequence[Sequence[str]], limits: RunLimits) -> list[str | None]:
    """Start a short job on each group, all at the same time, and return why each did not start; None: it did.

    Raises: as take_step.
    """

    def make() -> PreparedRun:
        largest = max(groups, key=len)
        prepared = bench.prepared(contact(len(largest)), largest, len(largest))
        return dataclasses.replace(prepared, plan=_plan_of_groups(prepared.plan, groups))

    step = take_step(run, bench, make, limits)
    reasons: list[str | None] = []
    for number in range(len(groups)):
        own = [launch for launch in step.launches if launch.info.placement == f"group {number + 1}"]
        good = any(launch.info.ended == "ok" for launch in own)
        reasons.append(None if good else next((x.info.reason for x in reversed(own) if x.info.reason), "no start"))
    return reasons


def _plan_of_groups(plan: Plan, groups: Sequence[Sequence[str]]) -> Plan:
    place, cell, launch = plan.placements[0], plan.cells[0], plan.launches[0]
    places, cells, launches = [], [], []
    for number, group in enumerate(groups):
        name, size = f"group {number + 1}", len(group)
        where = {"name": name, "hosts": list(group), "nodes": size, "ranks_per_node": 1, "ranks": size}
        changes = {"cell": number, "key": f"{number:016x}", "label": f"{cell.label}, {name}", "placement": name}
        when = {"launch": number + 1, "placement": name, "cells": [number], "seed": launch.seed + number}
        places.append(msgspec.structs.replace(place, of=place.name, **where))
        cells.append(msgspec.structs.replace(cell, **changes))
        launches.append(msgspec.structs.replace(launch, **when))
    return msgspec.structs.replace(plan, placements=places, cells=cells, launches=launches)


MOST_LINES = 12

_SHARED = "a shared part of the network"
_WORDS: Mapping[str, str] = {
    "clock": "arithmetic on its fastest processor",
    "processors": "arithmetic on all processors",
    "copy": "copies in memory",
    "access": "dependent reads of memory",
    "single_copy": "the kernel's copies between processes",
    "sends": "messages from it",
    "receives": "messages to it",
    "latency": "round trips with it",
}


def verdict_lines(verdict: NodesVerdict) -> list[str]:
    """Return the verdict in at most MOST_LINES lines, the summary first and what was compared last."""
    own = [f"{host} does not answer: {reason}" for host, reason in verdict.silent.items()]
    own += [_node_line(node) for node in verdict.nodes]
    own += [_link_line(link) for link in verdict.links]
    if verdict.loaded_nodes:
        names = ", ".join(node.node for node in verdict.loaded_nodes)
        own.append(f"{names}: slow only while all nodes communicate: {_SHARED}, not the node")
    own += [
        f"{link.a} and {link.b}: {_ratio(link.slow[0])} slower only while all nodes communicate: {_SHARED}"
        for link in verdict.loaded_links
    ]
    own += [f"{host}: {reason}" for host, reason in verdict.reasons.items()]
    last = [*verdict.notes, _coverage_line(verdict)]
    room = MOST_LINES - 1 - len(last)
    if len(own) > room:
        own = [*own[: room - 1], f"{len(own) - room + 1} more: see verdict.json"]
    return [_summary(verdict), *own, *last][:MOST_LINES]


def _summary(verdict: NodesVerdict) -> str:
    silent, nodes, links = (len(each) for each in (verdict.silent, verdict.nodes, verdict.links))
    parts = [f"{plural(silent, 'node')} {'does' if silent == 1 else 'do'} not answer"] if silent else []
    counted = ((nodes, "node"), (links, "link"))
    parts += [f"{plural(count, word)} {'is' if count == 1 else 'are'} slow" for count, word in counted if count]
    if not verdict.compared:
        return f"nothing was compared: {verdict.why or 'no launch gave values'}"
    if not parts:
        least = f"{100 * MINIMUM_EFFECT:.0f} %"
        return f"no node or link is more than {least} slower than the others"
    return ", ".join(parts)


def _coverage_line(verdict: NodesVerdict) -> str:
    all_pairs = verdict.compared * (verdict.compared - 1) // 2
    return (
        f"compared: {plural(verdict.compared, 'node')}, {coverage_words(verdict.pairs, all_pairs)}, "
        f"{plural(verdict.launches, 'launch')}, {verdict.wall_s:.0f} s"
    )


def coverage_words(pairs: int, all_pairs: int) -> str:
    """Return how many pairs are measured, and what that can miss."""
    share = f" (99 % sure to find a path that {100 * shortest_share(pairs, all_pairs):.2g} % of them use)"
    return f"{pairs} of {all_pairs} pairs" + (share if 0 < pairs < all_pairs else "")


def _node_line(node: SlowNode) -> str:
    symptoms = "; ".join(_symptom(measured, node) for measured in node.slow)
    return f"{node.node}: {symptoms}{_evidence({measured.measure for measured in node.slow})}"


def _symptom(slow: Slow, node: SlowNode) -> str:
    more = f", {slow.pairs} of {slow.of} partners" if slow.measure in NETWORK else ""
    if slow.measure == "processors" and node.busy is not None:
        more = f", {node.busy[0]} of {node.busy[1]} shared (other processes, or a CPU quota)"
    return f"{_WORDS[slow.measure]} {_ratio(slow)} slower{more}"


def _evidence(measures: set[str]) -> str:
    """Return what else is known: what is not slow, and what this is typical of."""
    network, own = measures & {*NETWORK}, measures - {*NETWORK}
    if network and not own:
        return "; other pairs as usual"
    if own in ({"access", "single_copy"}, {"access"}):
        return "; typical of small instead of huge pages"
    if "copy" in own and not own & {"clock", "processors"}:
        return "; typical of memory of another NUMA node or a missing memory channel"
    if "clock" in own:
        return "; typical of a lower clock rate (power limit, throttling, governor), if nothing else runs there"
    return ""


def _link_line(link: SlowLink) -> str:
    arrow = f"between {link.a} and {link.b}, both ways" if link.ways == 2 else f"from {link.a} to {link.b}, one way"
    kinds = " and ".join(
        f"{'round trips' if slow.measure == 'latency' else 'messages'} {_ratio(slow)} slower "
        f"({format_time(slow.value_s)} instead of {format_time(slow.typical_s)})"
        for slow in link.slow
    )
    return f"{arrow}: {kinds}; {link.others} other pairs of these nodes as usual"


def _ratio(slow: Slow) -> str:
    return ratio_words(slow.ratio, slow.interval)


def excluded(verdict: NodesVerdict, above: float | None) -> list[str]:
    """Return the nodes to leave out: those that don't answer, and those that are slow by `above` at least.

    A slow link is none of its two nodes' fault, and excludes neither.
    """
    return [*verdict.silent, *(node.node for node in verdict.nodes if above is None or _is_beyond(node.slow, above))]


def fails(verdict: NodesVerdict, above: float) -> bool:
    """Return whether a node does not answer, or a node or link is slower than the others by `above` beyond doubt."""
    slow = [*(node.slow for node in verdict.nodes), *(link.slow for link in verdict.links)]
    return bool(verdict.silent) or any(_is_beyond(measures, above) for measures in slow)


def _is_beyond(slow: Sequence[Slow], above: float) -> bool:
    return any(measured.interval[0] >= above for measured in slow)


PAIRS_OF_A_NODE = 2  # measured alone where its network is slow


def suspicious_pairs(verdict: NodesVerdict, links: Iterable[Link], most: int) -> list[Link]:
    """Return pairs to measure alone: each slow link, and some pairs of each node whose network is slow.

    Args: links: pairs that were measured, as the ring has them.
    """
    every = list(links)
    by_pair = {frozenset(link): link for link in every}
    wanted = [by_pair[key] for link in verdict.links if (key := frozenset((link.a, link.b))) in by_pair]
    bad = {node.node for node in verdict.nodes}
    for node in verdict.nodes:
        if any(slow.measure in NETWORK for slow in node.slow):
            own = [link for link in every if node.node in link and not (set(link) - {node.node}) & bad]
            wanted += (own or [link for link in every if node.node in link])[:PAIRS_OF_A_NODE]
    return list(dict.fromkeys(wanted))[:most]


def confirm(verdict: NodesVerdict, again: Observations, controls: Collection[Link]) -> NodesVerdict:
    """Return what of `found` holds in fresh launches, in which pairs were measured alone.

    Args: again: of those launches.  controls: pairs in it that were not suspicious, the reference of the others.
    """
    fresh = {node.node: node.slow for node in infer(replace(again, between={})).nodes}
    tables = {between: Times(values) for between, values in again.between.items() if values}
    known = {frozenset(link) for link in controls}

    def holds(measured: Slow, own_pairs: Callable[[Link], bool]) -> bool:
        """Return whether it is still slow; what was not measured again stays."""
        table = tables.get("latency" if measured.measure == "latency" else "stream")
        if table is None:
            return True
        own = np.array([own_pairs(cast(Link, pair)) for pair in table.names], bool)
        others = np.array([frozenset(pair) in known for pair in table.names]) & ~own
        if not own.any() or not others.any():
            return True
        return float(np.median(table.centres[own]) - np.median(table.centres[others])) > math.log1p(MINIMUM_EFFECT)

    def node_holds(measured: Slow, node: str) -> bool:
        ends = {"sends": slice(0, 1), "receives": slice(1, 2)}.get(measured.measure, slice(0, 2))
        return holds(measured, lambda pair: node in pair[ends])

    def link_holds(link: SlowLink) -> bool:
        ways = {(link.a, link.b), (link.b, link.a)} if link.ways == 2 else {(link.a, link.b)}
        return any(holds(measured, ways.__contains__) for measured in link.slow)

    nodes, loaded_nodes = [], []
    for node in verdict.nodes:
        measures = {measured.measure for measured in node.slow}
        network = [measured for measured in node.slow if measured.measure in NETWORK]
        kept = [measured for measured in fresh.get(node.node, ()) if measured.measure in measures]
        kept += [measured for measured in network if node_holds(measured, node.node)]
        if kept:
            nodes.append(msgspec.structs.replace(node, slow=by_ratio(kept)))
        elif network:
            loaded_nodes.append(msgspec.structs.replace(node, slow=tuple(network)))
    links = {link: link_holds(link) for link in verdict.links}
    return msgspec.structs.replace(
        verdict,
        nodes=tuple(nodes),
        links=tuple(link for link, is_slow in links.items() if is_slow),
        loaded_nodes=tuple(loaded_nodes),
        loaded_links=tuple(link for link, is_slow in links.items() if not is_slow),
        confirmed=True,
    )


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
            "one node has nothing to compare; run in a job (salloc -N 8 slowpath nodes), or name nodes in the "
            "launcher's host file"
        )
    return count, names


def cost_lines(bench: NodeBench, count: int) -> list[str]:
    """Return what a run on `count` nodes measures and takes, without measuring anything.

    Raises: UsageError, EnvironmentFailure.
    """
    names = bench.names or tuple(f"node{number + 1}" for number in range(count))
    first = bench.prepared(screening(count, bench.effort), names, count, dry=True)
    pairs = ring_pairs(count)
    suspects = controls_for(count, [], [], most=MOST_ALONE)
    quiet = replace(bench, tell=lambda _: None)  # one word on an engine that is not built is enough
    again = quiet.prepared(confirmation(count, suspects, [], bench.effort), names, count, dry=True)
    cost, more = first.cost, again.cost
    return [
        f"{count} nodes, a rank on each: {cost.launches} launches of {len(first.plan.cells)} cells",
        coverage_words(len(pairs), count * (count - 1) // 2),
        f"about {cost.wall_s:.0f} s ({cost.wall_s * count / 3600:.2g} node-hours), and up to {more.wall_s:.0f} s for "
        "suspicious pairs",
    ]


def measure_nodes(folder: Path, bench: NodeBench, count: int) -> NodesVerdict:
    """Measure all nodes and return what is slow; the verdict is kept in the folder.

    What the folder holds already is not measured again.

    Raises: Interrupted, EnvironmentFailure, UsageError; what was measured is kept.
    """
    try:
        verdict = _Session(folder, bench, count).run()
    except Interrupted as error:
        raise stopped(f"slowpath nodes --out {folder}") from error
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
            why = step.reason or next(iter(step.troubles), "no launch gave values")
            return NodesVerdict(silent=self._silent, wall_s=self._wall_s, why=why)
        verdict = infer(seen)
        few = f"only {verdict.launches} launches of {FEWEST_LAUNCHES}: too few for a verdict"
        notes = [*([few] if verdict.launches < FEWEST_LAUNCHES else []), *step.troubles[:2]]
        if verdict.nodes or verdict.links:
            again, known, troubles = self._again(seen, verdict)
            verdict = confirm(verdict, again, known) if again.launches else verdict
            notes += [] if again.launches else troubles[:1]
        return msgspec.structs.replace(verdict, silent=self._silent, notes=tuple(notes), wall_s=self._wall_s)

    def _screen(self, name: str) -> NodeStep:
        bench = self._bench
        return self._take(name, lambda: bench.prepared(screening(self._count, bench.effort), self._hosts, self._count))

    def _take(self, name: str, make: Callable[[], PreparedRun]) -> NodeStep:
        step = take_step(self._folder / name, self._bench, make)
        self._steps.append(step)
        return step

    def _start_groups(self, groups: Sequence[Sequence[str]]) -> list[str | None]:
        self._contacts += 1
        limits = RunLimits(min(CONTACT_S, self._bench.limits.cell_timeout_s))
        self._bench.tell(f"looking for silent nodes: {len(groups)} groups")
        return started_groups(self._folder / f"contact-{self._contacts}", self._bench, groups, limits)

    def _again(self, seen: Observations, verdict: NodesVerdict) -> tuple[Observations, list[Link], list[str]]:
        """Measure what is suspicious again: nodes by themselves, pairs while all others wait.

        Returns: what was measured, the pairs that are not suspicious, and how launches failed.
        """
        position = {name: number for number, name in enumerate(seen.nodes)}
        pairs = [(position[a], position[b]) for a, b in suspicious_pairs(verdict, seen.links, MOST_ALONE)]
        bad = {position[node.node] for node in verdict.nodes}
        bad |= {position[end] for link in verdict.links for end in (link.a, link.b)}
        controls = controls_for(len(seen.nodes), pairs, bad) if pairs else []
        bench = self._bench
        bench.tell(f"measuring again: {len(verdict.nodes)} nodes by themselves, {len(pairs)} pairs one at a time")
        campaign = confirmation(self._count, pairs, controls, bench.effort)
        step = self._take("alone", lambda: bench.prepared(campaign, self._hosts, self._count))
        return self._observed(step), [(seen.nodes[a], seen.nodes[b]) for a, b in controls], step.troubles

    def _observed(self, step: NodeStep) -> Observations:
        cells = {cell.cell: cell.parameters for cell in step.plan.cells}
        return observe(step.launches, cells, self._bench.names)

    @property
    def _wall_s(self) -> float:
        return sum(step.wall_s for step in self._steps)


def require_folder(folder: Path) -> None:
    """Raises UsageError if the folder holds something else than steps of this command."""
    if not folder.exists() or (folder / "screen").is_dir() or not any(folder.iterdir()):
        return
    raise UsageError(f"{folder}: is taken; name a new folder")
