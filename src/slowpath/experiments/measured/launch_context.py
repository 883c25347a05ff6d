# SPDX-License-Identifier: Apache-2.0
"""What a launch says about its ranks, and about one cell in addition to the samples. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.cpu_list import parse_cpu_list
from slowpath.record.events import Intervals, Rank, Repetitions

_NOT_RECORDED = "the record does not say which processors the ranks may use"


@dataclass(frozen=True)
class LaunchContext:
    """One launch, for one cell.

    size: ranks.  one_clock: rank 0 and the last rank share a node, hence CLOCK_MONOTONIC.  one_node: all ranks do.
    hosts: by rank; empty where the record does not say.
    shares_clock: all ranks read one CLOCK_MONOTONIC though on several nodes, which are containers of one machine.
    shared_cores: why not every rank has a processor of its own; None: each has.
    """

    size: int
    one_clock: bool
    one_node: bool = True
    shared_cores: str | None = _NOT_RECORDED
    repetitions: tuple[Repetitions, ...] = ()
    intervals: tuple[Intervals, ...] = ()
    hosts: tuple[str, ...] = ()
    shares_clock: bool = False

    def one_clock_with(self, rank: int) -> bool:
        """Rank 0 and this one share a node, so that their times are on one clock."""
        if len(self.hosts) != self.size:
            return self.one_clock
        return self.hosts[0] == self.hosts[rank]

    @property
    def take_turns(self) -> bool:
        """Ranks are known to share processors, so that the kernel switches between them."""
        return self.shared_cores not in (None, _NOT_RECORDED)


def why_cores_are_shared(ranks: Sequence[Rank]) -> str | None:
    """Why the ranks can't all run at once, each on a processor of its own; None: they can.

    A processor is what the kernel numbers as one, so two ranks on the hardware threads of one core count as apart.
    Ranks that may use several processors are taken to be spread as well as can be.
    """
    if not ranks:
        return _NOT_RECORDED
    by_host: dict[str, list[frozenset[int]]] = {}
    for rank in ranks:
        allowed = parse_cpu_list(rank.cpus_allowed)
        if not allowed:
            return _NOT_RECORDED
        by_host.setdefault(rank.host, []).append(allowed)
    for host, sets in by_host.items():
        if (running := _placed(sets)) < len(sets):
            several = f"{running} processor{'s' * (running > 1)}"
            return f"{len(sets)} ranks of {host} can run on {several} at a time: while one waits, another one computes"
    return None


def _placed(sets: Sequence[frozenset[int]]) -> int:
    """How many ranks can have a processor of their own: a maximum matching by augmenting paths.

    Source: Kuhn 1955, doi 10.1002/nav.3800020109; in the form of Berge's lemma.
    """
    holder: dict[int, int] = {}

    def move(rank: int) -> bool:
        """Breadth first, since a chain of moves may be as long as there are ranks."""
        came_from: dict[int, int] = {}
        queue = [rank]
        for mover in queue:
            for processor in sets[mover]:
                if processor in came_from:
                    continue
                came_from[processor] = mover
                if processor not in holder:
                    _hand_over(holder, came_from, processor, rank)
                    return True
                queue.append(holder[processor])
        return False

    return sum(move(rank) for rank in range(len(sets)))


def _hand_over(holder: dict[int, int], came_from: dict[int, int], processor: int, rank: int) -> None:
    """Gives each processor on the way to the rank that asked for it, up to `rank`, which had none."""
    while True:
        mover = came_from[processor]
        before = next((p for p, held_by in holder.items() if held_by == mover), None)
        holder[processor] = mover
        if mover == rank or before is None:
            return
        processor = before
