# SPDX-License-Identifier: Apache-2.0
"""A run of the fake engine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from slowpath.core.plan import PLAN_SCHEMA, Cell, Environment, Launch, Placement, Plan
from slowpath.mpi.mpi import Mpi
from slowpath.run import process
from slowpath.run.prepare import MpiCommands

FAKES = Path(__file__).parent / "fakes"
MakePlan = Callable[..., Plan]


def plan_of(behaviours: list[str], rounds: int = 1, environments: list[Environment] | None = None) -> Plan:
    """One cell for each behaviour in each environment; every round launches each environment."""
    environments = environments or [Environment("default")]
    cells = [
        Cell(
            cell=len(behaviours) * e + b,
            key=f"key{e}-{b}",
            group="g",
            label=f"{behaviour} {e}",
            experiment="fake",
            parameters={"behave": behaviour},
            environment=environment.name,
            placement="free",
        )
        for e, environment in enumerate(environments)
        for b, behaviour in enumerate(behaviours)
    ]
    launches = [
        Launch(
            launch=1 + round_ * len(environments) + e,
            round=round_ + 1,
            environment=environment.name,
            placement="free",
            cells=[cell.cell for cell in cells if cell.environment == environment.name],
            seed=1000 + 10 * round_ + e,
        )
        for round_ in range(rounds)
        for e, environment in enumerate(environments)
    ]
    return Plan(
        schema=PLAN_SCHEMA,
        campaign="fake",
        title="Fake",
        ranks=2,
        rounds=rounds,
        seed=1,
        minimum_effect=0.03,
        environments=environments,
        placements=[Placement("free", "none")],
        cells=cells,
        contrasts=[],
        launches=launches,
    )


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake engine ignores SIGTERM where it hangs, so waiting for it is of no use."""
    monkeypatch.setattr(process, "GRACE_S", 0.2)


@pytest.fixture(autouse=True)
def _watchdogs_time(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the watchdog, time passes only where the fake engine hangs: one that is slow to start does not."""
    now_s, ended_within = [0.0], process._ended_within

    def wake(job: subprocess.Popen[bytes], _: float) -> bool:
        ended = ended_within(job, 0.05)
        newest = max((run_folder / "launches").iterdir(), default=run_folder)
        now_s[0] += process.WAKE_S if (newest / "hangs").exists() else 1e-6
        return ended

    monkeypatch.setattr(process, "_ended_within", wake)

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        now_s[0] += seconds

    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))


@pytest.fixture
def make_plan() -> MakePlan:
    """`plan_of`."""
    return plan_of


@pytest.fixture
def fake_commands(run_folder: Path) -> MpiCommands:
    """Starts the fake engine through the fake launcher; FAKE_RUN marks its processes as this test's."""
    mpi = Mpi(
        name="unknown",
        version=None,
        source="option",
        prefix=FAKES,
        mpiexec=FAKES / "mpiexec",
        mpicxx=None,
        abi="unknown",
        standard_abi=False,
        launcher="mpiexec",
        vendor_line="fake",
    )
    # The interpreter of these tests: a python3 that is a shell script may have something to say of its own.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return MpiCommands(mpi, FAKES / "engine.py", {**os.environ, "PATH": path, "FAKE_RUN": str(run_folder)}, cores=2)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """An empty run folder."""
    folder = tmp_path / "run"
    (folder / "launches").mkdir(parents=True)
    return folder
