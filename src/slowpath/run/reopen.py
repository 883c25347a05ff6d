# SPDX-License-Identifier: Apache-2.0
"""Opening a run again: its plan, its MPIs and its engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.plan import Plan
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.record.folder import RunInfo, read_run
from slowpath.record.plan_files import read_plan
from slowpath.run.commands import RunCommands, commands_for
from slowpath.run.engine.build import engine_for
from slowpath.run.engine.meter import Tell
from slowpath.run.leftovers import end_job, leftovers_of
from slowpath.run.libraries import Library
from slowpath.run.process import GRACE_S


def reopen(run: Path, environ: Mapping[str, str], tell: Tell) -> tuple[Plan, RunCommands]:
    """What `resume` needs: the plan, and the same MPIs and engines as before.

    Raises: RecordError: no run, or an imported one.  EnvironmentFailure: an MPI or engine is not what it was.
    """
    info = read_run(run)
    if info.imported:
        raise RecordError(f"{run}: was imported from logs, so there is nothing to resume")
    plan = read_plan(run / "plan.json")
    libraries = [_same_library(run, facts, environ, tell) for facts in _recorded(info)]
    return plan, commands_for(libraries, environ)


def end_leftovers(run: Path, tell: Tell) -> None:
    """End what a slowpath that was killed left running on this node; it would disturb what is measured now.

    Raises: EnvironmentFailure: the run is still going on, under a slowpath that knew no record of its owner.
    """
    for left in leftovers_of(run):
        if left.owner is not None:
            raise EnvironmentFailure(
                f"{run}: is still being measured, by process {left.owner}; wait for its end, or stop it with: "
                f"kill {left.owner}"
            )
        end_job(None, left.job, GRACE_S)
        tell(f"ended processes that an earlier launch left behind: {len(left.processes)}")


def _recorded(info: RunInfo) -> list[dict[str, Any]]:
    """What run.json states of each MPI; a run from before there could be several has one, without a short name."""
    if info.mpis:
        return info.mpis
    return [{**info.mpi, "short_name": info.mpi.get("name"), "engine": info.machine.get("engine", {})}]


def _same_library(run: Path, facts: Mapping[str, Any], environ: Mapping[str, str], tell: Tell) -> Library:
    mpi = _same_mpi(str(run), facts, environ, "; start a new run")
    engine = engine_for(mpi, environ, tell)
    if engine.note.key != facts.get("engine", {}).get("key"):
        raise EnvironmentFailure(
            f"{run}: was measured with another build of the engine for {mpi.identity}; times of two builds don't mix: "
            "start a new run"
        )
    return Library(str(facts.get("short_name")), mpi.identity, mpi, engine)


@dataclass(frozen=True)
class RecordedEngine:
    """The engine of an earlier run, which another version of Slowpath may have built. facts: as run.json has them."""

    program: Path
    facts: Mapping[str, Any]


def recorded_library(
    where: str, name: str, facts: Mapping[str, Any], engine: Mapping[str, Any], environ: Mapping[str, str], tell: Tell
) -> Library:
    """The MPI and engine of an earlier run, found again; the engine at its recorded path, else the same one built anew.

    Args: where: the run, for errors.  name: what the library is to be called.  facts, engine: as run.json has them.
    Raises: EnvironmentFailure, UsageError: one of them is not there any more.
    """
    if not facts.get("mpiexec"):
        raise EnvironmentFailure(f"{where}: doesn't state which MPI it was measured with; measure it anew")
    mpi = _same_mpi(where, facts, environ)
    path = Path(str(engine.get("path", "")))
    if engine.get("path") and path.is_file():
        return Library(name, f"{name}: {mpi.identity}", mpi, RecordedEngine(path, engine))
    built = engine_for(mpi, environ, tell)
    if built.note.key != engine.get("key"):
        raise EnvironmentFailure(f"{where}: the engine {engine.get('key')} that it was measured with is gone")
    found = RecordedEngine(built.program, {**engine, "path": str(built.program)})
    return Library(name, f"{name}: {mpi.identity}", mpi, found)


def recorded_plan(run: Path) -> Plan:
    """The plan of an earlier run.  Raises: RecordError."""
    return read_plan(run / "plan.json")


def _same_mpi(where: str, facts: Mapping[str, Any], environ: Mapping[str, str], hint: str = "") -> Mpi:
    mpi = find_mpi(facts.get("mpiexec"), environ)
    if (mpi.name, mpi.version) != (facts.get("name"), facts.get("version")):
        before = " ".join(str(facts[key]) for key in ("name", "version") if facts.get(key))
        raise EnvironmentFailure(f"{where}: was measured with {before}, but {mpi.mpiexec} is now {mpi.identity}{hint}")
    return mpi
