# SPDX-License-Identifier: Apache-2.0
"""Where ranks were found, against where they were asked to go. Pure.

A launcher may ignore what it is asked for without a word: a binding that the site's Slurm has no plugin for, -ppn
inside a job, a second --map-by. So what the ranks saw is compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.core.cpu_list import parse_cpu_list
from slowpath.core.plan import Placement
from slowpath.core.results import Line, PlacementResult
from slowpath.record.events import Rank

MOST_LINES = 4
Groups = Mapping[str, Sequence[frozenset[int]]]


def groups_of(machine: Mapping[str, Any]) -> Groups:
    """Processor groups by level, from run.json's machine; empty where they were not found."""
    reported = machine.get("processor_groups") or {}
    return {level: [parse_cpu_list(one) for one in each] for level, each in reported.items()}


def differences(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    """What of the placement the ranks of one launch did not find; empty: all that is known is as asked.

    groups: those of the node on which slowpath ran; ranks whose processors are not among them are not judged by them.
    """
    if not ranks:
        return []
    return [*_nodes(placement, ranks), *_binding(placement, ranks, groups), *_spread(placement, ranks, groups)]


def placement_lines(placements: Sequence[PlacementResult]) -> list[Line]:
    """Lines of the verdict: what is asked for and not so. placements: as in results.json."""
    names: dict[str, list[str]] = {}
    for placement in placements:
        for text in placement.differs:
            names.setdefault(text, []).append(placement.name)
    texts = [f"placement {_some(where)}: {text}." for text, where in names.items()]
    if len(texts) > MOST_LINES:
        more = len(texts) - MOST_LINES + 1
        rest = f"{more} more differences between placements asked for and observed are listed with the placements."
        texts = [*texts[: MOST_LINES - 1], rest]
    return [Line(level="warning", text=text, contrast=None) for text in texts]


def _some(names: Sequence[str]) -> str:
    return f"'{names[0]}'" + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _nodes(placement: Placement, ranks: Sequence[Rank]) -> list[str]:
    by_host: dict[str, int] = {}
    for rank in ranks:
        by_host[rank.host] = by_host.get(rank.host, 0) + 1
    found, where = [], ", ".join(by_host)
    if placement.nodes is not None and len(by_host) != placement.nodes:
        found.append(f"{placement.nodes} nodes were asked for, and the ranks are on {len(by_host)} ({where})")
    elif placement.ranks_per_node is not None and set(by_host.values()) != {placement.ranks_per_node}:
        counts = ", ".join(f"{count} on {host}" for host, count in by_host.items())
        found.append(f"{placement.ranks_per_node} ranks on each node were asked for, and there are {counts}")
    if placement.hosts and {_short(host) for host in placement.hosts} != {_short(host) for host in by_host}:
        found.append(f"the nodes {', '.join(placement.hosts)} were asked for, and the ranks are on {where}")
    return found


def _short(host: str) -> str:
    return host.partition(".")[0]


def _binding(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    known = frozenset().union(*groups.get("core", ()))
    found: list[str] = []
    for rank in ranks:
        mine = parse_cpu_list(rank.cpus_allowed)
        if not mine or not mine <= known:
            continue
        if placement.bind == "none":
            if mine != known:
                found.append(f"no binding was asked for, and rank {rank.rank} may only use {rank.cpus_allowed}")
        elif placement.bind in groups and not any(mine <= group for group in groups[placement.bind]):
            found.append(f"a {placement.bind} was asked for, and rank {rank.rank} may use {rank.cpus_allowed}")
    return [*found, *_shared_cores(placement, ranks, groups)]


def _shared_cores(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    """Two ranks bound to one core, where the node has a core for each."""
    if placement.bind != "core":
        return []
    by_host: dict[str, list[Rank]] = {}
    for rank in ranks:
        by_host.setdefault(rank.host, []).append(rank)
    found = []
    for host, there in by_host.items():
        places = [_place(rank, groups, "core") for rank in there]
        reported = [place for place in places if place is not None]
        if len(reported) == len(there) <= len(groups["core"]) and len(set(reported)) < len(reported):
            found.append(f"a core for each rank was asked for, and ranks of {host} share one")
    return found


def _spread(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    if placement.spread is None or len({rank.host for rank in ranks}) > 1:
        return []
    level = "core_group" if placement.spread == "core" else placement.spread
    places = [_place(rank, groups, level) for rank in ranks]
    if level not in groups or None in places:
        return []
    words, distinct = level.replace("_", " "), len(set(places))
    if placement.spread == "core" and distinct > 1 and any(len(ranks) <= len(group) for group in groups[level]):
        return [f"neighbouring cores were asked for, and the ranks are in {distinct} {words}s"]
    if placement.spread != "core" and distinct < min(len(ranks), len(groups[level])):
        return [f"each rank in another {words} was asked for, and the ranks are in {distinct}"]
    return []


def _place(rank: Rank, groups: Groups, level: str) -> int | None:
    """The group in which all of the rank's processors lie; None: not in one."""
    mine = parse_cpu_list(rank.cpus_allowed)
    inside = (number for number, group in enumerate(groups.get(level, ())) if mine and mine <= group)
    return next(inside, None)
