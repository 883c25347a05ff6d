# SPDX-License-Identifier: Apache-2.0
"""verdict.json of `slowpath nodes`: what is slow, and how much of the allocation was compared; and its words. Pure.

Words are the verdict of at most 12 lines, and Slurm's list of nodes to exclude.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from slowpath.core.units import format_time, ratio_words
from slowpath.studies.nodes.infer import Slow, SlowLink, SlowNode
from slowpath.studies.nodes.schedule import MINIMUM_EFFECT, Coverage

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
