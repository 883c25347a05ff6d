# SPDX-License-Identifier: Apache-2.0
"""What was measured of each node and each pair, launch by launch: what `infer` judges. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from slowpath.experiments.measured.load import LaunchRecord
from slowpath.experiments.measured.series import NS, SampleBlock
from slowpath.experiments.nodes import FASTEST, MEAN, PAIRS, seconds_per_operation

Alone = Literal["clock", "processors", "copy", "access", "single_copy"]
Between = Literal["latency", "stream"]
ALONE: tuple[Alone, ...] = ("clock", "processors", "copy", "access", "single_copy")
Rounds = Mapping[int, float]  # launch -> seconds
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
