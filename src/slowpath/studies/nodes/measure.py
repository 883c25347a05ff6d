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
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from slowpath.core.campaign import Campaign
from slowpath.core.errors import EnvironmentFailure, Interrupted, UsageError
from slowpath.core.files import json_bytes, write_atomically
from slowpath.core.plan import Launch, Plan
from slowpath.core.units import format_time, ratio_words
from slowpath.experiments.measured import LaunchRecord, load_launches
from slowpath.run.engine.build import Tell
from slowpath.run.measure import create, measure_prepared, resume, state_of
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
    Between,
    Coverage,
    Effort,
    Found,
    Link,
    Observations,
    PairTimes,
    Slow,
    SlowLink,
    SlowNode,
    confirmation,
    contact,
    controls_for,
    coverage,
    infer,
    links_of,
    observe,
    screening,
    strides_of,
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
    def cells(self) -> dict[int, Mapping[str, str]]:
        """Return the parameters of each cell."""
        return {cell.cell: cell.parameters for cell in self.plan.cells}

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
            measure_prepared(run, prepared, limits, bench.progress())
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
        found = bench.prepared(contact(len(largest)), largest, len(largest))
        return dataclasses.replace(found, plan=_plan_of_groups(found.plan, groups))

    step = take_step(run, bench, make, limits)
    reasons: list[str | None] = []
    for number in range(len(groups)):
        own = [launch for launch in step.launches if launch.info.placement == f"group {number + 1}"]
        good = any(launch.info.ended == "ok" for launch in own)
        reasons.append(
            None if good else next((x.info.reason for x in reversed(own) if x.info.reason), "it did not start")
        )
    return reasons


def _plan_of_groups(plan: Plan, groups: Sequence[Sequence[str]]) -> Plan:
    place, cell, launch = plan.placements[0], plan.cells[0], plan.launches[0]
    places, cells, launches = [], [], []
    for number, group in enumerate(groups):
        name = f"group {number + 1}"
        places.append(
            msgspec.structs.replace(
                place, name=name, hosts=list(group), nodes=len(group), ranks_per_node=1, ranks=len(group), of=place.name
            )
        )
        cells.append(
            msgspec.structs.replace(
                cell, cell=number, key=f"{number:016x}", label=f"{cell.label}, {name}", placement=name
            )
        )
        launches.append(
            Launch(
                launch=number + 1,
                round=1,
                environment=launch.environment,
                placement=name,
                cells=[number],
                seed=launch.seed + number,
                mpi=launch.mpi,
                turn=0,
            )
        )
    return msgspec.structs.replace(plan, placements=places, cells=cells, launches=launches)


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


MOST_LINES = 12
TOGETHER = 3  # nodes with the same symptoms share a line

_SHARED = "a shared part of the network"
_WORDS: Mapping[str, str] = {
    "clock": "arithmetic on its fastest processor is {ratio} slower",
    "processors": "arithmetic on all of its processors is {ratio} slower{busy}",
    "copy": "copies in memory are {ratio} slower",
    "access": "dependent reads of memory are {ratio} slower",
    "single_copy": "the kernel's copies between processes are {ratio} slower",
    "sends": "messages from it are {ratio} slower, to {pairs} of {of} partners",
    "receives": "messages to it are {ratio} slower, from {pairs} of {of} partners",
    "latency": "round trips with it are {ratio} slower, with {pairs} of {of} partners",
}


def verdict_lines(verdict: NodesVerdict) -> list[str]:
    """Return the verdict in at most MOST_LINES lines, the summary first and what was compared last."""
    own = [f"{host} does not answer: {reason}" for host, reason in verdict.silent.items()]
    own += [_node_line(nodes) for nodes in _alike(verdict.nodes)]
    own += [_link_line(link) for link in verdict.links]
    if verdict.loaded_nodes:
        names = hostlist(node.node for node in verdict.loaded_nodes)
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
    parts = []
    if verdict.silent:
        parts.append(f"{_count(len(verdict.silent), 'node')} {_does(len(verdict.silent))} not answer")
    if verdict.nodes:
        parts.append(f"{_count(len(verdict.nodes), 'node')} {_is(len(verdict.nodes))} slow")
    if verdict.links:
        parts.append(f"{_count(len(verdict.links), 'link')} {_is(len(verdict.links))} slow")
    if not verdict.compared:
        return f"nothing was compared: {verdict.why or 'no launch gave values'}"
    if not parts:
        least = f"{100 * MINIMUM_EFFECT:.0f} %"
        return f"no node and no measured link is slower than the others by more than {least} beyond doubt"
    return ", ".join(parts)


def _coverage_line(verdict: NodesVerdict) -> str:
    covered = Coverage(verdict.compared, verdict.pairs, verdict.compared * (verdict.compared - 1) // 2, 0)
    text = (
        f"compared: {_count(verdict.compared, 'node')}, {covered.pairs} of {covered.all_pairs} pairs, "
        f"{_count(verdict.launches, 'launch', 'launches')}, {verdict.wall_s:.0f} s"
    )
    if 0 < covered.pairs < covered.all_pairs:
        share = 100 * covered.shortest_share()
        text += f"; a slow path that {share:.2g} % of all pairs use is among them with 99 % probability"
    return text


def _alike(nodes: Sequence[SlowNode]) -> list[list[SlowNode]]:
    """Return nodes with the same symptoms together, where there are several."""
    groups: dict[tuple[str, ...], list[SlowNode]] = {}
    for node in nodes:
        groups.setdefault(tuple(sorted(one.measure for one in node.slow)), []).append(node)
    found: list[list[SlowNode]] = []
    for group in groups.values():
        found += [group] if len(group) >= TOGETHER else [[node] for node in group]
    return sorted(found, key=lambda group: -group[0].ratio)


def _node_line(nodes: Sequence[SlowNode]) -> str:
    node = nodes[0]
    symptoms = "; ".join(_symptom(one, node) for one in node.slow)
    text = f"{hostlist(one.node for one in nodes)}: {symptoms}"
    if len(nodes) > 1:
        text = f"{hostlist(one.node for one in nodes)} ({len(nodes)} nodes, {node.node} most): {symptoms}"
    return text + _evidence({one.measure for one in node.slow})


def _symptom(one: Slow, node: SlowNode) -> str:
    busy = ""
    if one.measure == "processors" and node.busy is not None:
        busy = f", {node.busy[0]} of {node.busy[1]} have to share (other processes, or a CPU quota)"
    return _WORDS[one.measure].format(ratio=_ratio(one), busy=busy, pairs=one.pairs, of=one.of)


def _evidence(measures: set[str]) -> str:
    """Return what else is known: what is not slow, and what this is typical of."""
    network, own = measures & {"sends", "receives", "latency"}, measures - {"sends", "receives", "latency"}
    if network == {"sends"}:
        text = "; messages to it are not slow"
    elif network == {"receives"}:
        text = "; messages from it are not slow"
    else:
        text = ""
    if network and not own:
        return text + "; pairs without it are not slow, nor is it by itself"
    if own == {"access", "single_copy"} or own == {"access"}:
        return text + "; copies and arithmetic are not slow: typical of small pages in place of huge ones"
    if "copy" in own and not own & {"clock", "processors"}:
        return text + "; arithmetic is not slow: typical of memory of another NUMA node or a missing memory channel"
    if "clock" in own:
        return f"{text}; typical of a lower clock rate (power limit, throttling, governor), if nothing else runs there"
    return text


def _link_line(link: SlowLink) -> str:
    arrow = f"between {link.a} and {link.b}, both ways" if link.ways == 2 else f"from {link.a} to {link.b}, one way"
    kinds = " and ".join(
        f"{'round trips' if one.measure == 'latency' else 'messages'} are {_ratio(one)} slower "
        f"({format_time(one.value_s)} instead of {format_time(one.typical_s)})"
        for one in link.slow
    )
    return f"{arrow}: {kinds}; the {link.others} other pairs of these two nodes are not slow"


def _ratio(one: Slow) -> str:
    return ratio_words(one.ratio, one.interval)


def _count(number: int, word: str, words: str | None = None) -> str:
    return f"{number} {word if number == 1 else words or word + 's'}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _does(number: int) -> str:
    return "does" if number == 1 else "do"


def hostlist(names: Iterable[str]) -> str:
    """Return names as Slurm writes them, `n[1-3,07],login`, in an order of its own.

    Numbers with leading zeros keep their width.
    """
    groups: dict[tuple[str, str, int], list[int]] = {}
    plain: list[str] = []
    for name in dict.fromkeys(names):
        # The last number of the name without its domain: n12.cluster -> n, 12, .cluster.
        head, dot, tail = name.partition(".")
        match = re.fullmatch(r"(.*?)(\d+)(\D*)", head)
        if match is None:
            plain.append(name)
            continue
        digits = match[2]
        width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        # With and without leading zeros are two kinds only where a width is needed: 09 and 10 belong together.
        groups.setdefault((match[1], match[3] + dot + tail, width), []).append(int(digits))
    for (prefix, suffix, width), numbers in list(groups.items()):
        if width == 0:
            # n10 belongs to n09 where both have the same width.
            for size in {w for p, s, w in groups if (p, s) == (prefix, suffix) and w}:
                same = [number for number in numbers if len(str(number)) == size]
                groups[prefix, suffix, size] += same
                numbers = [number for number in numbers if number not in same]
            groups[prefix, suffix, 0] = numbers
    words = [
        f"{prefix}{_ranges(numbers, width)}{suffix}" for (prefix, suffix, width), numbers in groups.items() if numbers
    ]
    return ",".join(sorted([*words, *plain]))


def _ranges(numbers: Sequence[int], width: int) -> str:
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    words = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in parts]
    return words[0] if len(parts) == 1 and parts[0][0] == parts[0][1] else f"[{','.join(words)}]"


def excluded(verdict: NodesVerdict, above: float | None) -> list[str]:
    """Return the nodes to leave out: those that don't answer, and those that are slow by `above` at least.

    A slow link is none of its two nodes' fault, and excludes neither.
    """
    slow = [node.node for node in verdict.nodes if above is None or _surely(node.slow) >= above]
    return [*verdict.silent, *slow]


def fails(verdict: NodesVerdict, above: float) -> bool:
    """Return whether a node does not answer, or a node or link is slower than the others by `above` beyond doubt."""
    slow = [node.slow for node in verdict.nodes] + [link.slow for link in verdict.links]
    return bool(verdict.silent) or any(_surely(every) >= above for every in slow)


def _surely(slow: Sequence[Slow]) -> float:
    """Return the largest lower end of the intervals."""
    return max((one.interval[0] for one in slow), default=0.0)


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
