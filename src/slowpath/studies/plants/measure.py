# SPDX-License-Identifier: Apache-2.0
"""One diagnosis of this machine with something planted, by the same command that a user would give."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, Interrupted
from slowpath.core.secrets import clean_words
from slowpath.diagnose.conclusion import diagnosed
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
END_S = 5.0  # a diagnosis that is interrupted ends its launch and writes what it has; then it is killed
ALL_CORES = Pen()
_HOLDING = threading.Lock()  # of the stamp of the folder, which each job renews


class Children:
    """Diagnoses that run now, of all threads."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._changed = threading.Condition()
        self._stopped = False

    @contextmanager
    def started(self, argv: Sequence[str], environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program, which is interrupted if this is left before its end.  Raises: Interrupted: none is begun."""
        with self._changed:
            if self._stopped:
                raise Interrupted("stopped")
            process = start_piped(argv, environ)
            self._running.add(process)
        try:
            with process:
                try:
                    yield process
                except BaseException:
                    _end(process)
                    raise
        finally:
            with self._changed:
                self._running.discard(process)
                self._changed.notify_all()

    def stop(self) -> None:
        """Interrupt all of them as Ctrl-C does, wait until they are over, and begin no other."""
        with self._changed:
            self._stopped = True
            for number in (signal.SIGINT, signal.SIGKILL):
                for process in self._running:
                    if process.returncode is None:  # only its own thread may ask whether it is over
                        os.kill(process.pid, number)
                if self._changed.wait_for(lambda: not self._running, END_S):
                    return


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it; by force where its end takes too long."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()


@dataclass(frozen=True)
class Ground:
    """Where plants grow.

    preloaded: the library that delays calls.  command: arguments of slowpath that end in a folder with diagnosis.json.
    conclude: from a folder, in the pen of its diagnosis.  children: what runs on it now.
    """

    library: Library
    preloaded: Path
    command: Sequence[str]
    conclude: Callable[[Path, Pen], PlantedDiagnosis | None] = field(default=lambda folder, pen: concluded(folder))
    children: Children = field(default_factory=Children)

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

        Raises: EnvironmentFailure: the command failed, or left no findings behind.  Interrupted.
        """
        if (before := self.conclude(folder, pen)) is not None:
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
            code, said = _run_to_its_end(self.children, pen.around(argv), environ)
        except subprocess.TimeoutExpired:
            raise EnvironmentFailure(f"{' '.join(argv)}: took over {LIMIT_S:g} s") from None
        if code == Interrupted.exit_code:
            raise Interrupted("stopped")
        if code != 0:
            last = (said.strip().splitlines() or ["no message"])[-1]
            raise EnvironmentFailure(f"{' '.join(argv)}: exit code {code}: {last}")
        if (made := self.conclude(folder, pen)) is None:
            raise EnvironmentFailure(f"{folder}: holds no whole diagnosis; look at {folder / DIAGNOSIS}")
        return made


def _run_to_its_end(children: Children, argv: Sequence[str], environ: Mapping[str, str]) -> tuple[int, str]:
    """Exit code and stderr.  Raises: subprocess.TimeoutExpired, after LIMIT_S; it is ended then."""
    end = time.monotonic() + LIMIT_S
    with children.started(argv, environ) as process:
        while True:
            try:
                _, said = process.communicate(timeout=BEAT_S)
                return process.returncode, said.decode(errors="replace")
            except subprocess.TimeoutExpired:
                with _HOLDING:
                    keep_held()
                if time.monotonic() > end:
                    raise


def concluded(folder: Path) -> PlantedDiagnosis | None:
    """Return what the rules say of the diagnosis in a folder; None: there is none, or it is not over."""
    found = diagnosed(folder)
    return None if found is None else PlantedDiagnosis(*found)


def prepare(mpi: str | None, command: Sequence[str], tell: Tell = lambda _: None, dry: bool = False) -> Ground:
    """The MPI, and the library built for it; `dry`: only if it is built.  Raises: EnvironmentFailure, UsageError."""
    found = one_library(mpi, os.environ, tell, dry)
    preloaded = found.engine.program.parent / LIBRARY
    if found.is_built and not preloaded.is_file():
        raise EnvironmentFailure(f"{preloaded} is missing; rebuild the engine: slowpath engine build --force")
    return Ground(found, preloaded, command)


def unavailable(plant_class: PlantClass, library: Library) -> str | None:
    """Why a class of plants does not grow here; None: it does."""
    varied = varied_parameters(SURVEY)
    for name in plant_class.needs:
        if name not in varied:
            return f"the survey does not vary {name}"
    setting = plant_class.state.setting if plant_class.state else None
    return None if setting is None else library.resolve(setting)[1]
