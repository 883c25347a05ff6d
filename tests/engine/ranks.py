# SPDX-License-Identifier: Apache-2.0
"""Programs on ranks of the MPI under test, plans for the engine, and what the engine left in its folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

# MPICH: a rank that waits sleeps now and then where there are more ranks than cores. It spins otherwise, and takes the
# time of those it waits for: 16 ranks on 2 cores need 34 s for what then takes 6. No test of so many judges time.
WAITING_SLEEPS = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64"}
Process = subprocess.CompletedProcess[str]
Event = dict[str, Any]


def finished(argv: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Process:
    """`argv` with its output as text, whatever its exit code."""
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


@dataclass(frozen=True)
class Ranks:
    """Starts programs under one MPI; `engine` is built for it."""

    mpi: Mpi
    engine: Engine

    def environ(self) -> dict[str, str]:
        """This process's, with what the MPI needs."""
        return self.mpi.environ(os.environ)

    def compiled(self, source: Path) -> Path:
        """The library made of a file in C that calls MPI, beside it."""
        if self.mpi.mpicxx is None:
            pytest.skip("no compiler wrapper")
        library, wrapper = source.with_suffix(".so"), self.mpi.mpicxx.with_name("mpicc")
        argv = [str(wrapper), "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(argv, env=self.environ(), check=True, capture_output=True)
        return library

    def start(
        self,
        *words: str,
        ranks: int = 2,
        of_ranks: Mapping[str, str] | None = None,
        exported: Mapping[str, str] | None = None,
        of_all: Mapping[str, str] | None = None,
    ) -> Process:
        """Start `words`, a program and its arguments, and wait for its end.

        Variables: of_ranks: set by env(1) in each rank, so that the launcher has them not.  exported: by the launcher,
        as a run does.  of_all: of the launcher, which most hand on.
        """
        setting = ["env", *(f"{name}={value}" for name, value in of_ranks.items())] if of_ranks else []
        launcher, cores = launcher_named(self.mpi.launcher), len(os.sched_getaffinity(0))
        argv, environ = [*setting, *words], self.environ()
        made = command(
            launcher, str(self.mpi.mpiexec), self.mpi.name, ranks, "none", exported or {}, argv, cores, environ
        )
        crowded = WAITING_SLEEPS if ranks > cores else {}
        return finished(made.argv, {**environ, **crowded, **made.variables, **(of_all or {})})

    def run_engine(self, *words: str, **how: Any) -> Process:
        """The engine with these arguments; `how` as in `start`."""
        return self.start(str(self.engine.program), *words, **how)

    def run_plan(
        self, folder: Path, cells: Sequence[str], seed: int = 3, program: Path | None = None, **how: Any
    ) -> Process:
        """Launch 7 of a plan, which leaves its record in `folder`, emptied before.

        cells: the experiment and its parameters, as in "p2p message_bytes=8".  program: another engine.
        """
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        plan = folder / "plan.txt"
        lines = [f"cell {number} {text}" for number, text in enumerate(cells)]
        plan.write_text("\n".join(["slowpath-plan 1", "launch 7", f"seed {seed}", *lines, ""]))
        return self.start(str(program or self.engine.program), "--plan", str(plan), "--out", str(folder), **how)


def events_in(folder: Path) -> list[Event]:
    """All events of a launch, as it wrote them."""
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def ends_of_cells(events: Sequence[Event]) -> list[Event]:
    """One cell_end a cell, in the order of the plan."""
    ends = {event["cell"]: event for event in events if event["event"] == "cell_end"}
    return [ends[number] for number in sorted(ends)]


def described(engine: Engine) -> dict[str, Any]:
    """What the engine says of itself."""
    document: dict[str, Any] = json.loads(finished([engine.program, "describe", "--json"]).stdout)
    return document
