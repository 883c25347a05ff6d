# SPDX-License-Identifier: Apache-2.0
"""Everything that is decided before the first launch, whoever asks: for a campaign's name, a campaign, or a plan.

With `run.measure` this is all that other parts need to measure something: prepare, create, measure.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from slowpath.core.campaign import Campaign
from slowpath.core.campaign_file import recorded
from slowpath.core.engine_description import CheckCells, Verdicts
from slowpath.core.errors import UsageError
from slowpath.core.pace import AS_ESTIMATED, Pace, Size
from slowpath.core.plan import Cell, Plan
from slowpath.core.twins import twins_of
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.launchers import launcher_named
from slowpath.plan.campaign import INTERNAL, Nodes, load, require_sound, shipped
from slowpath.plan.cost import Cost, estimate, fit_budget
from slowpath.plan.expand import expand, order_launches
from slowpath.run.choose import choose_mpis
from slowpath.run.commands import RunCommands, commands_for
from slowpath.run.cores import allocated_nodes, nodes_of, unavailable_placement
from slowpath.run.engine.describe import checker, describe
from slowpath.run.engine.meter import Tell
from slowpath.run.libraries import Library, build_all
from slowpath.run.witness import unavailable


@dataclass(frozen=True)
class PreparedRun:
    """What is to be measured, and with what.

    campaign_text  campaign.toml of the run folder, byte for byte
    libraries      the MPIs with their engines, the first one first
    engine         version of the engine as it describes itself; None: it was not asked
    notes          for the user and for run.json
    """

    plan: Plan
    campaign_text: bytes
    libraries: tuple[Library, ...]
    commands: RunCommands
    engine: str | None = None
    notes: tuple[str, ...] = ()
    launch_s: float | None = None  # start and end of a job of two ranks here; None: not timed
    pace: Pace = AS_ESTIMATED  # of launches that are over

    @property
    def cost(self) -> Cost:
        """Estimated cost of the whole plan; `node_s` for all nodes of the allocation."""
        return estimate(self.plan, allocated_nodes(self.commands.environ), self.launch_s, self.pace)


def prepare(
    asked: str | Campaign,
    environ: Mapping[str, str],
    tell: Tell,
    mpi_option: str | None = None,
    ranks: Sequence[int] | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    budget_s: float | None = None,
    dry: bool = False,
    nodes: Nodes | None = None,
    pace: Pace = AS_ESTIMATED,
) -> PreparedRun:
    """Campaign, MPIs, engines and plan of a run.

    Args: asked: a campaign, or the name or path of one.
          dry: nothing is compiled; what an engine that is not built would refuse remains in the plan.
          nodes: to plan for; None: those of the allocation.
          pace: of launches that are over; the budget and the estimated cost count by it.
    Raises: UsageError, EnvironmentFailure."""
    campaign = _sound(asked) if isinstance(asked, Campaign) else load(asked)
    libraries = build_all(choose_mpis(mpi_option, campaign.mpi, environ), environ, tell, dry)
    first = libraries.usable[0]
    # All engines are built from one source, so that what one describes and accepts holds for all.
    description = describe(first.engine, first.mpi.environ(environ))
    planned_for = libraries.planned_for
    nodes = nodes or nodes_of(find_allocation(environ))
    plan = expand(campaign, description, planned_for, _seed(seed), ranks, rounds, nodes, checker_of(first, environ))
    plan = without_unavailable_witnesses(without_unavailable_bindings(plan, libraries.usable), libraries.usable)
    notes = list(libraries.notes)
    if budget_s is not None:
        plan, note = fit_budget(plan, budget_s, allocated_nodes(environ), pace)
        notes += [note] if note else []
    return replace(_prepared(plan, campaign, libraries.usable, description, environ, tuple(notes)), pace=pace)


def prepare_on(
    campaign: Campaign,
    hosts: Sequence[str],
    count: int,
    environ: Mapping[str, str],
    tell: Tell,
    mpi_option: str | None = None,
    dry: bool = False,
    by_name: bool = False,
) -> PreparedRun:
    """A campaign that the program made, for certain nodes.

    Args:   hosts: their names; empty: not known.  count: how many.  by_name: ask the launcher for these nodes, because
            the allocation has others as well.  Others: as prepare.
    Raises: UsageError, EnvironmentFailure.
    """
    found = prepare(campaign, environ, tell, mpi_option, dry=dry, nodes=Nodes(count, tuple(hosts)))
    if not by_name:
        return found
    places = [msgspec.structs.replace(place, hosts=list(hosts)) for place in found.plan.placements]
    return replace(found, plan=msgspec.structs.replace(found.plan, placements=places))


def prepare_campaign(
    campaign: Campaign, library: Library, description: Mapping[str, Any], environ: Mapping[str, str]
) -> PreparedRun:
    """A campaign that the program made, for one MPI that is already known.

    Args: description: as the library's engine describes itself.
    Raises: UsageError: the engine does not know what the campaign asks for.
    """
    campaign = _sound(campaign)
    nodes = nodes_of(find_allocation(environ))
    check = checker_of(library, environ)
    plan = expand(campaign, dict(description), [library.in_use], _seed(None), nodes=nodes, check=check)
    plan = without_unavailable_bindings(plan, [library])
    return _prepared(plan, campaign, (library,), description, environ)


def judge_ahead(
    campaigns: Sequence[Campaign], library: Library, description: Mapping[str, Any], environ: Mapping[str, str]
) -> None:
    """Have the engine judge the cells of several campaigns at once, before each is prepared by itself.

    Args: as of `prepare_campaign`.  Raises: EnvironmentFailure: the engine does not answer.
    """
    asked: dict[int, list[Cell]] = {}

    def collect(cells: Sequence[Cell], ranks: int) -> Verdicts:
        asked.setdefault(ranks, []).extend(cells)
        return {}

    nodes, check = nodes_of(find_allocation(environ)), checker_of(library, environ)
    for campaign in campaigns:
        with contextlib.suppress(UsageError):  # whoever prepares it reads why
            expand(_sound(campaign), dict(description), [library.in_use], 0, nodes=nodes, check=collect)
    for ranks, cells in asked.items():
        check([msgspec.structs.replace(cell, cell=number) for number, cell in enumerate(cells)], ranks)


def estimated_size(
    campaign: Campaign,
    library: Library,
    description: Mapping[str, Any],
    nodes: int,
    launch_s: float | None = None,
    pace: Pace = AS_ESTIMATED,
) -> Size:
    """Size of a campaign which the program made, on so many nodes; no cell of it is judged.

    Args: launch_s: start and end of a job of two ranks here; None: not timed.  pace: of launches.

    Raises: UsageError: its tables contradict each other.
    """
    campaign = msgspec.structs.replace(_sound(campaign), contrasts=[])
    one_round = expand(campaign, dict(description), [library.in_use], 0, rounds=1, nodes=Nodes(nodes))
    round_s = estimate(one_round, launch_s=launch_s, pace=pace).wall_s
    return Size(round_s * campaign.rounds, len(one_round.cells))


def prepare_plan(
    plan: Plan,
    campaign_text: bytes,
    libraries: Sequence[Library],
    environ: Mapping[str, str],
    notes: Sequence[str] = (),
) -> PreparedRun:
    """A plan that a program made; one without launches gets `plan.rounds` rounds of them, in random order.

    Args: libraries: under the names by which the plan's cells call their MPIs.
    """
    if not plan.launches:
        plan = msgspec.structs.replace(plan, launches=order_launches(plan.cells, plan.rounds, plan.seed))
    return PreparedRun(plan, campaign_text, tuple(libraries), commands_for(libraries, environ), notes=tuple(notes))


def checker_of(library: Library, environ: Mapping[str, str]) -> CheckCells:
    """The engine of `library` as the judge of cells."""
    return checker(library.engine, library.mpi.environ(environ))


def shipped_campaigns() -> list[str]:
    """Names of the campaigns that come with Slowpath, in alphabetical order."""
    return [name for name in shipped() if name not in INTERNAL]


def campaign_named(name_or_path: str) -> Campaign:
    """A shipped campaign by its name, or one from a file.  Raises: UsageError."""
    return load(name_or_path)


def _sound(campaign: Campaign) -> Campaign:
    require_sound(campaign)
    return campaign


def new_seed() -> int:
    """31 random bits: short enough to type again with --seed."""
    return secrets.randbits(31)


def _seed(given: int | None) -> int:
    return new_seed() if given is None else given


def _prepared(
    plan: Plan,
    campaign: Campaign,
    libraries: tuple[Library, ...],
    description: Mapping[str, Any],
    environ: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> PreparedRun:
    engine = str(description.get("engine"))
    return PreparedRun(plan, recorded(campaign), libraries, commands_for(libraries, environ), engine, notes)


def without_unavailable_bindings(plan: Plan, libraries: Sequence[Library]) -> Plan:
    """`plan` with the cells skipped whose binding their MPI's launcher can't be asked for."""
    reasons = {
        (library.name, placement.name): reason
        for library in libraries
        for placement in plan.placements
        if (reason := unavailable_placement(launcher_named(library.mpi.launcher), placement)) is not None
    }
    if not reasons:
        return plan
    cells = [
        msgspec.structs.replace(cell, skip=cell.skip or reasons.get((cell.mpi or "", cell.placement)))
        for cell in plan.cells
    ]
    launches = [launch for launch in plan.launches if (launch.mpi, launch.placement) not in reasons]
    return msgspec.structs.replace(plan, cells=cells, launches=launches)


def without_unavailable_witnesses(plan: Plan, libraries: Sequence[Library]) -> Plan:
    """`plan` with the witnessed cells skipped whose engine can't be watched."""
    witnessed = twins_of(plan).witnessed
    reasons = {
        library.name: why for library in libraries if library.is_built and (why := unavailable(library.engine.program))
    }
    skipped = {
        cell.cell: reasons[cell.mpi or ""] for cell in plan.cells if witnessed & {cell.cell} and cell.mpi in reasons
    }
    if not skipped:
        return plan
    cells = [msgspec.structs.replace(cell, skip=cell.skip or skipped.get(cell.cell)) for cell in plan.cells]
    launches = [launch for launch in plan.launches if not skipped.keys() & set(launch.cells)]
    return msgspec.structs.replace(plan, cells=cells, launches=launches)
