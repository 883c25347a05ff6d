# SPDX-License-Identifier: Apache-2.0
"""The engine that a dry run plans with: one that is there already. Nothing is compiled, and no compiler is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.resources import data_folder
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.blas import processor_features
from slowpath.run.engine.build import chosen_engine, wheel_engine
from slowpath.run.engine.cache import CHOICE, Engine, source_hash
from slowpath.run.engine.meter import Tell
from slowpath.run.engine.usable import built_for

PLACE = "ENGINE"  # stands for the path in command lines


@dataclass(frozen=True)
class UnbuiltEngine:
    """One that the run will compile: nothing can be asked of it yet."""

    program: Path = Path(PLACE)
    facts: Mapping[str, Any] = field(default_factory=dict)


def planned_engine(
    mpi: Mpi, environ: Mapping[str, str] | None = None, tell: Tell = lambda _: None
) -> Engine | UnbuiltEngine:
    """The engine that a run would take, or what stands for it, with one line that says what it leaves unchecked.

    Raises: EnvironmentFailure: SLOWPATH_ENGINE names none that fits, or none can ever be built for this MPI.
    """
    environ = mpi.environ(os.environ if environ is None else environ)
    if environ.get(CHOICE):
        return chosen_engine(mpi, environ)
    built = built_for(mpi, source_hash(data_folder("engine")), processor_features(), environ)
    if built is not None:
        return built
    found = wheel_engine(mpi, environ)
    if isinstance(found, Engine):
        return found
    if mpi.mpicxx is None or mpi.no_header:
        raise EnvironmentFailure(
            f"{mpi.identity} at {mpi.prefix} has {mpi.why_not_built} to compile the engine, or use another MPI "
            "with --mpi"
        )
    tell(
        f"not checked: the engine for {mpi.identity} is not built yet, and it is what refuses cells that can't run; "
        f"slowpath engine build --mpi {mpi.mpiexec} builds it, so does the run. {PLACE} stands for its path."
    )
    return UnbuiltEngine()
