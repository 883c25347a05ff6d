# SPDX-License-Identifier: Apache-2.0
"""A run from its first question to its last file: what `slowpath run` and `slowpath resume` do between them."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from slowpath import __version__
from slowpath.engine.build import engine_for
from slowpath.engine.cache import Engine
from slowpath.engine.describe import describe
from slowpath.errors import EnvironmentFailure, Interrupted, RecordError
from slowpath.launch.find import find_mpi
from slowpath.launch.launchers import launcher_named, unavailable_binding
from slowpath.launch.mpi import Mpi
from slowpath.launch.settings import resolver
from slowpath.plan.campaign import Campaign, load
from slowpath.plan.cost import fit_budget
from slowpath.plan.expand import expand
from slowpath.plan.files import read_plan, write_plan
from slowpath.plan.model import Plan
from slowpath.record.folder import (
    RUN_SCHEMA,
    RunInfo,
    create_run_folder,
    read_run,
    write_atomically,
    write_run,
)
from slowpath.run.execute import Execution, Limitations, Result
from slowpath.run.interrupt import stop_signals
from slowpath.run.launching import Starter, starter
from slowpath.run.machine import machine_facts
from slowpath.run.progress import Progress
from slowpath.run.resume import schedule_after
from slowpath.run.schedule import Schedule
from slowpath.run.space import require_space

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """All that is decided before the first launch. `notes` are for the user and for run.json."""

    campaign: Campaign
    plan: Plan
    mpi: Mpi
    engine: Engine
    description: dict[str, Any]
    starter: Starter
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
    """Campaign, MPI, engine and plan of a run. Raises: UsageError, EnvironmentFailure."""
    campaign = load(campaign_name)
    mpi = find_mpi(mpi_option, environ)
    engine = engine_for(mpi, environ, tell)
    description = describe(engine, mpi.environ(environ))
    # 31 bits: short enough to type again with --seed.
    seed = secrets.randbits(31) if seed is None else seed
    plan = expand(
        campaign,
        description,
        mpi.identity,
        resolver(mpi.name, mpi.version, mpi.transport),
        seed,
        ranks=ranks,
        rounds=rounds,
    )
    plan = without_unavailable_bindings(plan, mpi)
    notes = []
    if budget_s is not None:
        plan, note = fit_budget(plan, budget_s)
        notes += [note] if note else []
    return Prepared(campaign, plan, mpi, engine, description, starter(mpi, engine.program, environ), tuple(notes))


def without_unavailable_bindings(plan: Plan, mpi: Mpi) -> Plan:
    """`plan` with the cells skipped whose binding the launcher can't be asked for."""
    launcher = launcher_named(mpi.launcher)
    reasons = {
        placement.name: reason
        for placement in plan.placements
        if (reason := unavailable_binding(launcher, placement.bind)) is not None
    }
    if not reasons:
        return plan
    cells = [msgspec.structs.replace(cell, skip=cell.skip or reasons.get(cell.placement)) for cell in plan.cells]
    launches = [launch for launch in plan.launches if launch.placement not in reasons]
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
    mpi, note = prepared.mpi, prepared.engine.note
    machine = machine_facts(prepared.starter.environ)
    machine["engine"] = {"key": note.key, "compiler": note.compiler, "path": str(prepared.engine.program)}
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
        mpi={
            "name": mpi.name,
            "version": mpi.version,
            "vendor": mpi.vendor_line,
            "abi": mpi.abi,
            "standard_abi": mpi.standard_abi,
            "source": mpi.source,
            "prefix": str(mpi.prefix),
            "mpiexec": str(mpi.mpiexec),
            "launcher": mpi.launcher,
            "env": dict(mpi.env),
        },
        machine=machine,
        notes=list(prepared.notes),
    )


def measure(
    run: Path,
    plan: Plan,
    starting: Starter,
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


def reopen(run: Path, environ: Mapping[str, str], tell: Tell) -> tuple[Plan, Starter, Schedule]:
    """What `resume` needs: the plan, the same MPI and engine as before, and what is left.

    Raises: RecordError: no run, or an imported one.  EnvironmentFailure: MPI or engine are not what they were.
    """
    info = read_run(run)
    if info.imported:
        raise RecordError(f"{run}: was imported from logs, so there is nothing to resume")
    plan = read_plan(run / "plan.json")
    mpi = find_mpi(info.mpi.get("mpiexec"), environ)
    if (mpi.name, mpi.version) != (info.mpi.get("name"), info.mpi.get("version")):
        before = f"{info.mpi.get('name')} {info.mpi.get('version')}"
        raise EnvironmentFailure(f"{run}: was measured with {before}, but now it is {mpi.identity}; start a new run")
    engine = engine_for(mpi, environ, tell)
    if engine.note.key != info.machine.get("engine", {}).get("key"):
        raise EnvironmentFailure(
            f"{run}: was measured with another build of the engine; times of two builds don't mix: start a new run"
        )
    return plan, starter(mpi, engine.program, environ), schedule_after(run, plan)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
