# SPDX-License-Identifier: Apache-2.0
"""How a diagnosis begins: anew, from a folder that was cut off, or only on paper."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from slowpath.core.errors import RecordError
from slowpath.core.version import __version__
from slowpath.diagnose.bench import Bench
from slowpath.diagnose.records import SCHEMA, Diagnosis, now, read_diagnosis, write_diagnosis
from slowpath.diagnose.session import Session
from slowpath.diagnose.steps.order import proposals
from slowpath.run.measure import new_folder


def begin(bench: Bench, budget_s: float, out: Path | None, name_only: bool = False) -> Session:
    """A new diagnosis in a folder of its own.  Raises: EnvironmentFailure: the folder is taken."""
    folder = new_folder("diagnosis", out)
    diagnosis = Diagnosis(
        schema=SCHEMA,
        slowpath=__version__,
        command=bench.command,
        started=now(),
        budget_s=budget_s,
        mpi=bench.built.identity,
        name_only=name_only,
    )
    write_diagnosis(folder, diagnosis)
    return Session(folder, bench, diagnosis)


def resume(folder: Path, bench: Bench, budget_s: float | None, name_only: bool = False) -> Session:
    """A diagnosis that was cut off, or gets more time, or is to prove what was only named.

    Raises: RecordError: the folder holds none, or one under another MPI.
    """
    diagnosis = read_diagnosis(folder)
    if diagnosis.mpi != bench.built.identity:
        raise RecordError(f"{folder}: was made under {diagnosis.mpi}, not under {bench.built.identity}; name that MPI")
    budget_s = budget_s or diagnosis.budget_s
    session = Session(
        folder, bench, replace(diagnosis, schema=SCHEMA, status="running", budget_s=budget_s, name_only=name_only)
    )
    session.load()
    return session


def dry_run(bench: Bench) -> list[str]:
    """What the survey would do, and how the rest is decided."""
    survey = next(proposals(bench.state([], [])))
    prepared = bench.prepare(survey.text, survey.task.kind)
    plan, cost = prepared.plan, prepared.cost
    cells = sum(cell.skip is None for cell in plan.cells)
    forced = bench.library.forced(bench.environ)
    return [
        f"survey: {cells} cells, {plan.rounds} rounds, {cost.launches} launches, about {cost.wall_s:.0f} s",
        *(f"your environment: {one.name}={one.value} ({one.state.replace('_', ' ')})" for one in forced),
        "then, by what the survey shows: limits refined, points that separate laws, trials of remedies",
    ]
