# SPDX-License-Identifier: Apache-2.0
"""From what is prepared to a measured run folder: create, measure, resume."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, stopped
from slowpath.core.files import require_utf8, write_atomically
from slowpath.core.guard import clean_words
from slowpath.core.machine import Others, PlaceFacts
from slowpath.core.plan import Plan
from slowpath.core.signals import stop_signals
from slowpath.core.units import format_bytes
from slowpath.core.version import __version__
from slowpath.mpi.place import PlaceJob, faults
from slowpath.plan.cost import needed_bytes, of_rounds
from slowpath.record.folder import RUN_SCHEMA, RunInfo, create_run_folder, read_run, write_run
from slowpath.record.plan_files import begin_again, read_plan, write_plan
from slowpath.run.engine.build import Tell
from slowpath.run.execute import Execution, RunEnd
from slowpath.run.machine import machine_facts
from slowpath.run.ownership import now, owned, require_free
from slowpath.run.prepare import Commands, PreparedRun, mpi_facts, require_job
from slowpath.run.progress import Progress, duration
from slowpath.run.reopen import Terms, end_leftovers, reopen, require_no_other, what_is_left
from slowpath.run.schedule import RunLimits, Schedule

# Kept free as well: report, results, and what others write meanwhile.
RESERVE_BYTES = 32 * 1024 * 1024


def create(prepared: PreparedRun, out: Path | None, command: list[str], others: Others | None = None) -> Path:
    """The run folder with everything that is known before the first launch.

    Args: command: how to run it again, for run.json.  others: what was looked at just before; None: nothing.
    Raises: EnvironmentFailure: the folder is taken, the disk is full or read-only, or no job can be started here.
    """
    require_job([library.mpi for library in prepared.libraries], os.environ)
    run = create_run_folder(prepared.plan.campaign, out)
    require_space(run, prepared.plan)
    write_atomically(run / "campaign.toml", prepared.campaign_text)
    write_plan(run / "plan.json", prepared.plan)
    write_run(run, _run_info(run, prepared, command, others))
    return run


def measure(
    run: Path,
    plan: Plan,
    commands: Commands,
    limits: RunLimits,
    progress: Progress,
    schedule: Schedule | None = None,
    machine: int = 0,
) -> RunEnd:
    """Run all that is left of `plan`, then write how the run ended into run.json.

    Args: machine: as LaunchInfo.machine.
    Raises: Interrupted, EnvironmentFailure (every launch failed, or the disk refuses; Taken: another process measures
            into the folder); all that was measured is kept.
            UsageError, before the first launch: the folder's path can't be recorded.
    """
    require_utf8(run.absolute())
    with owned(run, "slowpath run"):
        begun = time.monotonic()
        execution = Execution(run, plan, commands, limits, progress, schedule, machine=machine)
        with stop_signals():
            result = execution.execute()
        if result.rounds < plan.rounds:
            write_plan(run / "plan.json", of_rounds(plan, result.rounds))
        info = read_run(run)
        write_run(
            run,
            msgspec.structs.replace(
                info,
                status=result.status,
                finished=now(),
                wall_s=(info.wall_s or 0.0) + time.monotonic() - begun,
                notes=[*info.notes, *result.notes],
            ),
        )
        if result.status == "interrupted":
            raise stopped(f"slowpath run --resume {run}{_named(info)}")
        if result.launches and not result.launches_ok and not result.cells_ok:
            reason = result.first_reason or "see the launches"
            place = msgspec.convert(info.machine.get("place") or {}, PlaceFacts)
            job = PlaceJob(plan.ranks, str(info.mpi.get("name")), commands.environ)
            why = [f"{fault.text} ({reason}); {fault.do}" for fault in faults(place, job)][:1] or [reason]
            raise EnvironmentFailure(f"{run}: nothing was measured: {why[0]}; see also: slowpath doctor")
        return result


def resume(
    run: Path,
    environ: Mapping[str, str],
    tell: Tell,
    limits: RunLimits,
    progress: Callable[[], Progress],
    terms: Terms | None = None,
) -> RunEnd:
    """Measure what is left of a run that was cut off, with the same MPIs and engines.

    Args:   progress: made when the first launch is near.
    Raises: RecordError, EnvironmentFailure: as `reopen`; else as `measure`.
    """
    terms = terms or Terms()
    require_free(run)  # at once, before anything is compiled
    require_no_other(run)
    reopened = reopen(run, environ, tell, terms)
    with owned(run, "slowpath run --resume", tell):
        end_leftovers(run, tell)
        schedule, machine = what_is_left(run, reopened)  # only now does nobody else add launches
        tell(f"launches left: {len(schedule.launches_left())} of {len(reopened.plan.launches)}")
        return measure(run, reopened.plan, reopened.commands, limits, progress(), schedule, machine)


AGAIN_S = 600.0  # at most


def measure_again(run: Path, again: Path, tell: Tell, progress: Callable[[], Progress]) -> None:
    """Measure the cells of a run twice as often, into `again`, or go on with that until it is complete.

    Raises: EnvironmentFailure: `again` is of an earlier run of that name; else as `resume`.
    """
    if not again.exists():
        begin_again(run, again, 2, now())
    if (read_run(again).started or "") < (read_run(run).started or ""):
        raise EnvironmentFailure(f"{again}: is older than {run}; remove it")
    state = state_of(again)
    if state is None or not state.is_over:
        least_s = min(2 * measured_s(run), AGAIN_S)
        tell(f"cells may be slower: measuring {run} again, about {duration(least_s)} (--no-again leaves it out)")
        resume(again, os.environ, tell, RunLimits(budget_s=AGAIN_S, whole_rounds=True), progress)


@dataclass(frozen=True)
class State:
    """How far a run folder is.  wall_s: spent so far.  is_over: whether nothing is left to continue."""

    plan: Plan
    wall_s: float
    is_over: bool


def state_of(run: Path) -> State | None:
    """Return how far a run folder is; None: no run was begun there.  Raises: RecordError: it can't be read."""
    if not (run / "run.json").exists():
        return None
    info = read_run(run)
    return State(read_plan(run / "plan.json"), info.wall_s or 0.0, info.status in ("complete", "partial"))


def measured_s(run: Path) -> float:
    """Wall time that was spent on a run so far, seconds.  Raises: RecordError."""
    return read_run(run).wall_s or 0.0


def _run_info(run: Path, prepared: PreparedRun, command: list[str], others: Others | None) -> RunInfo:
    every = [library.facts for library in prepared.libraries]
    machine = machine_facts(prepared.commands.environ)
    machine |= {"others": msgspec.to_builtins(others)} if others else {}
    machine["engine"] = every[0]["engine"]
    machine["place"]["ranks"] = prepared.plan.ranks
    return RunInfo(
        schema=RUN_SCHEMA,
        id=run.absolute().name,
        campaign=prepared.plan.campaign,
        title=prepared.plan.title,
        started=now(),
        slowpath=__version__,
        engine=prepared.engine,
        seed=prepared.plan.seed,
        ranks=prepared.plan.ranks,
        command=clean_words(command),
        mpi=mpi_facts(prepared.libraries[0].mpi),
        machine=machine,
        notes=list(prepared.notes),
        mpis=every,
    )


def _named(info: RunInfo) -> str:
    """` --mpi PATH` where the user named the MPIs so, and a search would not find them."""
    mpis = info.mpis or [info.mpi]
    paths = [str(mpi.get("mpiexec")) for mpi in mpis if mpi.get("source") == "option" and mpi.get("mpiexec")]
    return f" --mpi {shlex.quote(','.join(paths))}" if paths and len(paths) == len(mpis) else ""


def require_space(folder: Path, plan: Plan) -> None:
    """Raises EnvironmentFailure if the disk of `folder` has not the room for a run of `plan`."""
    needed = needed_bytes(plan) + RESERVE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EnvironmentFailure(
            f"{folder}: the run needs {_short(needed)} and {_short(free)} are free; free space, or name another place"
        )


def _short(count: int) -> str:
    return format_bytes(-(-count // 2**20) * 2**20)
