# SPDX-License-Identifier: Apache-2.0
"""The ranks that a diagnosis is about, and where they can go: cores of a node, nodes of the allocation. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.errors import UsageError
from slowpath.core.result import MOST_RANKS
from slowpath.diagnose.places import LaunchPlace

PAIR = 2
MOST_PER_CORE = 32  # more ranks share a core only to wait for each other
FEWEST_COUNTED, MOST_COUNTED = 8, 64  # fewer ranks give no law over their number; one of so many predicts more


@dataclass(frozen=True)
class Job:
    """ranks: as asked for.  cores: of one node; None: not known, and nothing is called too many.  nodes: at hand.

    spreads: levels of a node with two groups of processors or more, the widest last: core_group, numa, socket.
    """

    ranks: int = PAIR
    cores: int | None = None
    nodes: int = 1
    spreads: tuple[str, ...] = ()

    @property
    def all_cores(self) -> int | None:
        """Of all nodes."""
        return None if self.cores is None else self.cores * self.nodes

    @property
    def is_crowded(self) -> bool:
        """Whether ranks share cores, so that their times are the scheduler's."""
        return self.all_cores is not None and self.ranks > self.all_cores

    @property
    def timed_ranks(self) -> int:
        """Ranks of cells whose times are used: all, or as many as there are cores."""
        if self.all_cores is None or not self.is_crowded:
            return self.ranks
        return max(PAIR, self.all_cores)

    @property
    def counted_ranks(self) -> int:
        """Ranks of cells that are counted: all, and enough for a law, since they need no cores."""
        return min(max(self.ranks, FEWEST_COUNTED), MOST_COUNTED)

    @property
    def timed_places(self) -> Mapping[str, LaunchPlace]:
        """Where these go, by the name of the placement; the first is where a job of so many would run."""
        return _places(self.timed_ranks, self)

    @property
    def counted_place(self) -> tuple[str, LaunchPlace]:
        """Where ranks go to be counted: a count is the same on any number of cores."""
        ranks = self.counted_ranks
        if not self.is_crowded and ranks == self.ranks:
            return next(iter(self.timed_places.items()))
        return f"{ranks} ranks, counted", self._anywhere(ranks)

    @property
    def crowded_place(self) -> tuple[str, LaunchPlace]:
        """Where ranks go to share cores, as many as asked for."""
        ranks = min(self.ranks, MOST_COUNTED)
        if ranks == self.counted_ranks:
            return self.counted_place
        return f"{ranks} ranks, crowded", self._anywhere(ranks)

    def _anywhere(self, ranks: int) -> LaunchPlace:
        nodes = self.nodes if self.nodes > 1 and ranks % self.nodes == 0 else None
        return LaunchPlace("none", ranks, nodes, ranks // nodes if nodes else None)


A_PAIR = Job()


def _places(ranks: int, job: Job) -> dict[str, LaunchPlace]:
    name = f"{ranks} ranks"
    if job.nodes > 1:
        fitting = [count for count in range(1, job.nodes + 1) if ranks % count == 0 and _holds(job, ranks // count)]
        over = {count: LaunchPlace("core", ranks, count, ranks // count) for count in (*fitting[-1:], *fitting[:1])}
        return {f"{name}, {count} node{'s' * (count > 1)}": one for count, one in over.items()} or {
            name: LaunchPlace("core", ranks)
        }
    found = {name: LaunchPlace("core", ranks)}
    if job.spreads and ranks > PAIR and _holds(job, ranks + 1):
        widest = job.spreads[-1]
        found[f"{name}, over {widest.replace('_', ' ')}s"] = LaunchPlace("core", ranks, spread=widest)
    return found


def _holds(job: Job, each: int) -> bool:
    return job.cores is None or each <= job.cores


def require_possible(job: Job, on_paper: bool = False) -> None:
    """Args:   on_paper: nothing is to be started: the cost of any number can be stated.
    Raises: UsageError: no diagnosis of so many ranks can be made here.
    """
    if job.ranks < PAIR:
        raise UsageError(f"--ranks {job.ranks}: a diagnosis needs at least {PAIR} ranks, a sender and a receiver")
    if job.ranks > MOST_RANKS:
        raise UsageError(f"--ranks {job.ranks}: a run can hold at most {MOST_RANKS}")
    if not on_paper and (too_many := why_too_many(job)) is not None:
        raise UsageError(f"--ranks {job.ranks}: {too_many}")


def why_too_many(job: Job) -> str | None:
    """What is wrong with so many ranks here; None: nothing."""
    if job.all_cores is None or job.ranks <= job.all_cores * MOST_PER_CORE:
        return None
    return (
        f"{_cores(job)} hold at most {job.all_cores * MOST_PER_CORE} ranks, {MOST_PER_CORE} a core, and only to "
        "count messages; use fewer ranks or an allocation of more nodes"
    )


def crowded_lines(job: Job) -> list[str]:
    """What more ranks than cores mean for a diagnosis; []: there are not more."""
    if not job.is_crowded:
        return []
    refused = why_too_many(job)
    return [
        f"{job.ranks} ranks on {_cores(job)}: ranks wait for a core, so the scheduler determines their times",
        f"skipped: times of collectives and of first use with {job.ranks} ranks; they are measured with "
        f"{job.timed_ranks}",
        f"kept with {job.counted_ranks} ranks: counts of messages, bytes and rounds, which do not depend on the "
        "number of cores",
        *([f"more than can be started here: {refused}"] if refused else []),
    ]


def _cores(job: Job) -> str:
    here = f"{job.all_cores} core{'' if job.all_cores == 1 else 's'}"
    return f"{here} of {job.nodes} nodes" if job.nodes > 1 else here
