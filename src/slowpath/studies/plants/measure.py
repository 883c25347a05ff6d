# SPDX-License-Identifier: Apache-2.0
"""One diagnosis of this machine with something planted, by the same command that a user would give."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.secrets import clean_words
from slowpath.diagnose import concluded as diagnoses
from slowpath.diagnose.records import FILE as DIAGNOSIS
from slowpath.run.engine.meter import Tell
from slowpath.run.libraries import Library, one_library
from slowpath.run.ownership import BEAT_S, keep_held
from slowpath.run.prepare import varied_parameters
from slowpath.run.starting import start_piped
from slowpath.studies.plants.classes import PlantClass
from slowpath.studies.plants.pens import Pen
from slowpath.studies.plants.plant import Plant, PlantedDiagnosis

LIBRARY = "libslowpath-plant.so"
VARIABLE = "SLOWPATH_PLANT"
SURVEY = "survey"
LIMIT_S = 1800.0
ALL_CORES = Pen()
_HOLDING = threading.Lock()  # of the stamp of the folder, which each job renews


@dataclass(frozen=True)
class Ground:
    """Where plants grow.

    preloaded: the library that delays calls.  command: arguments of slowpath that end in a folder with diagnosis.json.
    """

    library: Library
    preloaded: Path
    command: Sequence[str]
    conclude: Callable[[Path], PlantedDiagnosis | None] = field(default=lambda folder: concluded(folder))

    @property
    def shown(self) -> list[str]:
        """The command without what it may hold of secrets."""
        return clean_words(self.command)

    def variables(self, plant: Plant | None) -> dict[str, str]:
        """Return what the user's environment would hold.  Raises: EnvironmentFailure: the MPI has no such setting."""
        if plant is None:
            return {}
        found: dict[str, str] = {}
        if plant.preloaded is not None:
            preloaded = [str(self.preloaded), *filter(None, [os.environ.get("LD_PRELOAD")])]
            found = {"LD_PRELOAD": ":".join(preloaded), VARIABLE: plant.preloaded}
            found |= {clause.environment: "1" for clause in plant.clauses if clause.environment}
        if plant.setting is None:
            return found
        state, why_not = self.library.resolve(plant.setting)
        if why_not is not None:
            raise EnvironmentFailure(why_not)
        return {**found, **state}

    def measured(self, plant: Plant | None, folder: Path, pen: Pen = ALL_CORES) -> PlantedDiagnosis:
        """Measure and conclude, or conclude anew from a folder that holds a whole diagnosis.

        Raises: EnvironmentFailure: the command failed, or left no findings behind.
        """
        if (before := self.conclude(folder)) is not None:
            return before
        if folder.exists():
            shutil.rmtree(folder)  # cut off in the middle
        argv = [
            sys.executable,
            "-m",
            "slowpath.cli",
            *self.command,
            "--mpi",
            str(self.library.mpi.mpiexec),
            "--out",
            str(folder),
        ]
        environ = {**os.environ, **self.variables(plant)}
        try:
            code, said = _run_to_its_end(pen.around(argv), environ)
        except subprocess.TimeoutExpired:
            raise EnvironmentFailure(f"{' '.join(argv)}: took over {LIMIT_S:g} s") from None
        if code != 0:
            last = (said.strip().splitlines() or ["no message"])[-1]
            raise EnvironmentFailure(f"{' '.join(argv)}: exit code {code}: {last}")
        if (made := self.conclude(folder)) is None:
            raise EnvironmentFailure(f"{folder}: holds no whole diagnosis; look at {folder / DIAGNOSIS}")
        return made


def _run_to_its_end(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[int, str]:
    """Exit code and stderr.  Raises: subprocess.TimeoutExpired, after LIMIT_S; it is ended then."""
    end = time.monotonic() + LIMIT_S
    with start_piped(argv, environ) as process:
        try:
            while True:
                try:
                    _, said = process.communicate(timeout=BEAT_S)
                    return process.returncode, said.decode(errors="replace")
                except subprocess.TimeoutExpired:
                    with _HOLDING:
                        keep_held()
                    if time.monotonic() > end:
                        raise
        except BaseException:
            process.kill()
            raise


def concluded(folder: Path) -> PlantedDiagnosis | None:
    """Return what the rules say of the diagnosis in a folder; None: there is none, or it is not over."""
    found = diagnoses.concluded(folder)
    return None if found is None else PlantedDiagnosis(*found)


def prepare(mpi: str | None, command: Sequence[str], tell: Tell = lambda _: None, dry: bool = False) -> Ground:
    """The MPI, and the library built for it; `dry`: only if it is built.  Raises: EnvironmentFailure, UsageError."""
    found = one_library(mpi, os.environ, tell, dry)
    preloaded = found.engine.program.parent / LIBRARY
    if found.is_built and not preloaded.is_file():
        raise EnvironmentFailure(f"{preloaded} is missing; build the engine anew: slowpath engine build --force")
    return Ground(found, preloaded, command)


def unavailable(plant_class: PlantClass, library: Library) -> str | None:
    """Why a class of plants does not grow here; None: it does."""
    varied = varied_parameters(SURVEY)
    for name in plant_class.needs:
        if name not in varied:
            return f"the survey does not vary {name}"
    setting = plant_class.state.setting if plant_class.state else None
    return None if setting is None else library.resolve(setting)[1]
