# SPDX-License-Identifier: Apache-2.0
"""Differences between two runs, any of which may be the cause of a difference between their times. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from slowpath.compare.read import mpi_of
from slowpath.core.machine_kind import gpus, memory
from slowpath.core.results import MpiResult, RunResult
from slowpath.run.machine import stated_variables


class RunDifference(msgspec.Struct, frozen=True):
    """A fact that differs between two runs. None means that the run does not state it."""

    what: str
    a: str | None
    b: str | None


def _machine(key: str) -> Callable[[RunResult], str | None]:
    return lambda run: _words(run.machine.get(key))


def _words(value: Any) -> str | None:
    return None if value is None else str(value)


def _load(run: RunResult) -> str | None:
    """Return the load average over the last minute, rounded to whole processes, which shows other work."""
    load = run.machine.get("load")
    first = load[0] if isinstance(load, list) and load else None
    return f"{first:.0f}" if isinstance(first, int | float) else None


def _of_mpis(fact: Callable[[MpiResult], str | None]) -> Callable[[RunResult], str | None]:
    def of_all(run: RunResult) -> str | None:
        every = [fact(mpi) for mpi in run.mpis or [run.mpi]]
        return ", ".join(dict.fromkeys(word for word in every if word)) or None

    return of_all


def mpi_identity(mpi: MpiResult) -> str:
    """Return library and version, or "" if an old or imported run does not state them."""
    return " ".join(filter(None, (mpi.name, mpi.version)))


def engine_build(run: RunResult, mpi: str | None) -> dict[str, Any]:
    """Return key, compiler and path of the engine that the run used for this MPI, or {} if it does not state them."""
    engine = mpi_of(run, mpi).engine or run.machine.get("engine")
    return engine if isinstance(engine, dict) else {}


def _builds(run: RunResult) -> str | None:
    keys = [engine_build(run, mpi.mpi).get("key") for mpi in run.mpis or [run.mpi]]
    return ", ".join(dict.fromkeys(str(key) for key in keys if key)) or None


def _bindings(run: RunResult) -> str | None:
    found = [
        f"{p.name}: {' '.join(str(rank.cpus_allowed) for rank in p.observed)}" for p in run.placements if p.observed
    ]
    return "; ".join(found) or None


FACTS: tuple[tuple[str, Callable[[RunResult], str | None]], ...] = (
    ("campaign", lambda run: run.campaign),
    ("host", _machine("host")),
    ("processor", _machine("processor")),
    ("processors allowed", _machine("processors_allowed")),
    ("memory", lambda run: memory(run.machine)),
    ("GPUs", lambda run: gpus(run.machine)),
    ("distribution", _machine("distribution")),
    ("kernel", _machine("kernel")),
    ("huge pages", _machine("huge_pages")),
    ("frequency governor", _machine("governor")),
    ("load at the start", _load),
    ("MPI", _of_mpis(mpi_identity)),
    ("MPI library", _of_mpis(lambda mpi: mpi.library)),
    ("MPI launcher", _of_mpis(lambda mpi: mpi.mpiexec)),
    ("engine", lambda run: run.engine),
    ("engine build", _builds),
    ("slowpath", lambda run: run.slowpath),
    ("clock quantum, ns", lambda run: _words(run.quantum_ns)),
    ("binding of ranks", _bindings),
    ("began", lambda run: run.started),
    ("status", lambda run: run.status),
)


def differences(a: RunResult, b: RunResult) -> list[RunDifference]:
    """Return all differences in the order of FACTS, followed by the user's own MPI variables."""
    found = [RunDifference(what, fact(a), fact(b)) for what, fact in FACTS]
    mine, yours = (stated_variables(run.machine) for run in (a, b))
    found += [RunDifference(f"variable {n}", mine.get(n), yours.get(n)) for n in sorted({*mine, *yours})]
    return [difference for difference in found if difference.a != difference.b]
