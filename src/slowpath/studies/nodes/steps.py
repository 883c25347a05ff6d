# SPDX-License-Identifier: Apache-2.0
"""One step of `slowpath nodes`: a run folder of its own, measured, continued or taken as it is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.campaign import Campaign
from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Launch, Plan
from slowpath.experiments.measured.load import LaunchRecord, load_launches
from slowpath.run.engine.meter import Tell
from slowpath.run.limits import RunLimits
from slowpath.run.measure import create, measure_prepared, resume, state_of
from slowpath.run.prepare import PreparedRun, prepare_on
from slowpath.run.progress import Progress
from slowpath.run.reopen import Terms
from slowpath.studies.nodes.schedule import MESSAGE_BYTES, Effort, contact


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
