# SPDX-License-Identifier: Apache-2.0
"""A run from its first question to its last file: what `slowpath run` and `slowpath resume` do between them."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.errors import EnvironmentFailure, Interrupted
from slowpath.core.files import write_atomically
from slowpath.core.plan import Plan
from slowpath.core.twins import twins_of
from slowpath.core.version import __version__
from slowpath.mpi.allocation import find_allocation
from slowpath.mpi.launchers import launcher_named
from slowpath.plan.campaign import Campaign, load
from slowpath.plan.cost import fit_budget
from slowpath.plan.expand import expand
from slowpath.record.folder import RUN_SCHEMA, RunInfo, create_run_folder, read_run, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run.choose import choose_mpis
from slowpath.run.engine.describe import describe
from slowpath.run.execute import Execution, Limitations, Result
from slowpath.run.interrupt import stop_signals
from slowpath.run.launching import Starters, Starting, starters
from slowpath.run.libraries import Libraries, Library, Tell, build_all, mpi_facts
from slowpath.run.machine import machine_facts
from slowpath.run.placing import nodes_of, unavailable_placement
from slowpath.run.progress import Progress
from slowpath.run.schedule import Schedule
from slowpath.run.space import require_space
from slowpath.run.witness import unavailable


@dataclass(frozen=True)
class Prepared:
    """All that is decided before the first launch. `notes` are for the user and for run.json."""

    campaign: Campaign
    plan: Plan
    libraries: Libraries
    description: dict[str, Any]
    starters: Starters
    notes: tuple[str, ...]


def prepare(
    campaign_name: str,
    environ: Mapping[str, str],
    tell: Tell,
    mpi_option: str | None = None,
    ranks: int | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    budget_s: float | None = None,
) -> Prepared:
    """Campaign, MPIs, engines and plan of a run. Raises: UsageError, EnvironmentFailure."""
    campaign = load(campaign_name)
    libraries = build_all(choose_mpis(mpi_option, campaign.mpi, environ), environ, tell)
    first = libraries.usable[0]
    # All engines are built from one source, so that the description of one holds for all.
    description = describe(first.engine, first.mpi.environ(environ))
    # 31 bits: short enough to type again with --seed.
    seed = secrets.randbits(31) if seed is None else seed
    nodes = nodes_of(find_allocation(environ))
    plan = expand(campaign, description, libraries.planned_for, seed, ranks=ranks, rounds=rounds, nodes=nodes)
    plan = without_unavailable_bindings(plan, libraries.usable)
    plan = without_unavailable_witnesses(plan, libraries.usable)
    notes = list(libraries.notes)
    if budget_s is not None:
        plan, note = fit_budget(plan, budget_s)
        notes += [note] if note else []
    return Prepared(campaign, plan, libraries, description, starters(libraries.usable, environ), tuple(notes))


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
    reasons = {one.name: why for one in libraries if (why := unavailable(one.engine.program)) is not None}
    skipped = {
        cell.cell: reasons[cell.mpi or ""] for cell in plan.cells if witnessed & {cell.cell} and cell.mpi in reasons
    }
    if not skipped:
        return plan
    cells = [msgspec.structs.replace(cell, skip=cell.skip or skipped.get(cell.cell)) for cell in plan.cells]
    launches = [launch for launch in plan.launches if not skipped.keys() & set(launch.cells)]
    return msgspec.structs.replace(plan, cells=cells, launches=launches)


def create(prepared: Prepared, out: Path | None, command: list[str]) -> Path:
    """The run folder with everything that is known before the first launch.

    Raises: EnvironmentFailure: the folder is taken, or the disk is full or read-only.
    """
    run = create_run_folder(prepared.campaign.name, out)
    require_space(run, prepared.plan)
    write_atomically(run / "campaign.toml", prepared.campaign.text)
    write_plan(run / "plan.json", prepared.plan)
    write_run(run, _run_info(run, prepared, command))
    return run


def _run_info(run: Path, prepared: Prepared, command: list[str]) -> RunInfo:
    every = [library.facts for library in prepared.libraries.usable]
    machine = machine_facts(prepared.starters.environ)
    machine["engine"] = every[0]["engine"]
    return RunInfo(
        schema=RUN_SCHEMA,
        id=run.absolute().name,
        campaign=prepared.campaign.name,
        title=prepared.campaign.title,
        campaign_sha256=hashlib.sha256(prepared.campaign.text).hexdigest(),
        started=_now(),
        slowpath=__version__,
        engine=str(prepared.description.get("engine")),
        seed=prepared.plan.seed,
        ranks=prepared.plan.ranks,
        command=command,
        mpi=mpi_facts(prepared.libraries.usable[0].mpi),
        machine=machine,
        notes=list(prepared.notes),
        mpis=every,
    )


def measure(
    run: Path,
    plan: Plan,
    starting: Starting,
    limits: Limitations,
    progress: Progress,
    schedule: Schedule | None = None,
) -> Result:
    """Run all that is left of `plan`, then write how the run ended into run.json.

    Raises: Interrupted, EnvironmentFailure (every launch failed, or the disk refuses); all that was measured is kept.
    """
    begun = time.monotonic()
    execution = Execution(run, plan, starting, limits, progress, schedule)
    with stop_signals():
        result = execution.execute()
    info = read_run(run)
    write_run(
        run,
        msgspec.structs.replace(
            info,
            status=result.status,
            finished=_now(),
            wall_s=(info.wall_s or 0.0) + time.monotonic() - begun,
            notes=[*info.notes, *result.notes],
        ),
    )
    if result.status == "interrupted":
        raise Interrupted(f"stopped; what was measured is kept. Go on with: slowpath resume {run}")
    if result.launches and not result.launches_ok and not result.cells_ok:
        raise EnvironmentFailure(
            f"no launch succeeded: {result.first_reason or 'see the launches'}; output is kept in {run / 'launches'}; "
            "see also: slowpath doctor"
        )
    return result


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
