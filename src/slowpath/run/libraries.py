# SPDX-License-Identifier: Apache-2.0
"""The MPIs of a run, each with its engine and the name by which the run knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.place import gpu_driver_is_there, network_is_up
from slowpath.mpi.settings import Resolved, resolver
from slowpath.plan.expand import MpiInUse, absent, numbered, short_names
from slowpath.run.choose import ChosenMpis, choose_mpis
from slowpath.run.engine.build import engine_for
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.engine.describe import UnbuiltEngine, planned_engine
from slowpath.run.engine.meter import Tell


@dataclass(frozen=True)
class Library:
    """One MPI and the engine for it.

    name      short, unique in the run (core.plan.PlannedMpi)
    identity  library and version, unique in the run, too
    """

    name: str
    identity: str
    mpi: Mpi
    engine: UsableEngine

    @property
    def in_use(self) -> MpiInUse:
        """Return what the planner has to know of it."""
        found = resolver(self.mpi.name, self.mpi.version, self.mpi.transport, network_is_up(), gpu_driver_is_there())
        return MpiInUse(self.name, self.identity, found)

    def resolve(self, setting: str) -> Resolved:
        """Variables that put it into a library-neutral state, or the reason why there are none."""
        return self.in_use.resolve(setting)

    @property
    def is_built(self) -> bool:
        """Whether the engine is there; it may not be in a dry run."""
        return not isinstance(self.engine, UnbuiltEngine)

    @property
    def facts(self) -> dict[str, Any]:
        """Return what run.json states of it: the MPI, and its name and engine in this run."""
        return {"short_name": self.name, **mpi_facts(self.mpi), "engine": dict(self.engine.facts)}


@dataclass(frozen=True)
class Libraries:
    """All MPIs of a run: those that are there, and names with the reason why not."""

    usable: tuple[Library, ...]
    missing: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def planned_for(self) -> list[MpiInUse]:
        """Return what `plan.expand` takes."""
        return [*(library.in_use for library in self.usable), *(absent(*item) for item in self.missing.items())]


def mpi_facts(mpi: Mpi) -> dict[str, Any]:
    """Return what run.json states of an MPI."""
    return {
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
    }


def one_library(option: str | None, environ: Mapping[str, str], tell: Tell, dry: bool = False) -> Library:
    """The one MPI of `--mpi`, SLOWPATH_MPI or the PATH, with its engine.

    Args: dry: as in `build_all`.
    Raises: UsageError: the option names several.  EnvironmentFailure: as `build_all`.
    """
    usable = build_all(choose_mpis(option, None, environ), environ, tell, dry).usable
    if len(usable) != 1:
        raise UsageError("only one MPI can be shown; name one with --mpi")
    return usable[0]


def build_all(chosen: ChosenMpis, environ: Mapping[str, str], tell: Tell, dry: bool = False) -> Libraries:
    """Engines for all chosen MPIs, built one after the other.

    Args: dry: builds none; where one is missing an UnbuiltEngine stands for it.
    Raises: EnvironmentFailure: no engine can be built for an MPI that has to be there, or for any.
    """
    built: list[tuple[Mpi, UsableEngine]] = []
    failures: list[tuple[Mpi, EnvironmentFailure]] = []
    for mpi in chosen.found:
        try:
            built.append((mpi, (planned_engine if dry else engine_for)(mpi, environ, tell)))
        except EnvironmentFailure as error:
            if chosen.unbuilt == "fail":
                raise
            failures.append((mpi, error))
    if not built:
        raise failures[0][1]
    doubts = tuple(f"{mpi.identity}: {mpi.doubt}" for mpi, _ in built if mpi.doubt)
    if chosen.unbuilt == "leave out":
        notes = tuple(f"left out: {mpi.identity} at {mpi.prefix}: {error}" for mpi, error in failures)
        return Libraries(_libraries(built, [])[0], {}, (*doubts, *notes))
    usable, unbuilt = _libraries(built, failures)
    return Libraries(usable, {**chosen.missing, **unbuilt}, doubts)


def require_job(mpis: Sequence[Mpi], environ: Mapping[str, str]) -> None:
    """Check that srun runs inside a job, unless the user named it.

    Raises: EnvironmentFailure: outside of a job each launch would queue.
    """
    for mpi in mpis:
        if mpi.launcher == "srun" and mpi.source in ("PATH", "campaign") and find_allocation(environ) is None:
            raise EnvironmentFailure(
                f"{mpi.identity} starts its ranks with srun, and outside a job every launch would wait in the "
                "queue; run it inside a job (salloc, or slowpath run --script), or use another MPI: --mpi embedded"
            )


def _libraries(
    built: Sequence[tuple[Mpi, UsableEngine]], failures: Sequence[tuple[Mpi, EnvironmentFailure]]
) -> tuple[tuple[Library, ...], dict[str, str]]:
    """The MPIs with an engine, and those without under their names with the reason."""
    every = [mpi for mpi, _ in (*built, *failures)]
    identities = [mpi.identity for mpi in every]
    names = short_names([mpi.name for mpi in every], identities)
    named = list(zip(names, numbered(identities), strict=True))
    usable = [Library(*ids, *pair) for ids, pair in zip(named[: len(built)], built, strict=True)]
    unbuilt = {name: str(error) for name, (_, error) in zip(names[len(built) :], failures, strict=True)}
    return tuple(usable), unbuilt
