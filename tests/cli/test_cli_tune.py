# SPDX-License-Identifier: Apache-2.0
"""slowpath tune from its command to files that a program runs with; one that was cut off goes on where it was."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi

STEPS = ("choose", "prove", "verify")
Slowpath = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.needs("minutes")
def test_a_tuning_writes_what_it_measured_and_goes_on_where_it_was_cut_off(
    slowpath: Slowpath, engine_cache: Path, blankless: Path
) -> None:
    mpi = find_mpi("embedded")
    env = {"SLOWPATH_MPI": str(mpi.mpiexec), "SLOWPATH_CACHE_DIR": str(engine_cache)}
    folder = blankless / "tune"
    few = ("--collectives", "scatter", "--bytes", "8", "--rounds", "5", "--budget", "1s", "--out", str(folder))
    done = slowpath("tune", *few, env=env)
    assert done.returncode == 0, done.stderr
    assert "part of this step left out; allow a longer --budget" in done.stderr, "a launch or two all the same"
    assert any(said in done.stdout for said in ("scatter, 8 B, 2 ranks", "nothing is proven", "1 cell faster alone"))
    assert (folder / "tuned.txt").read_text() == done.stdout
    table = json.loads((folder / "tuning.json").read_text())
    assert table["mpi"] == f"{mpi.name}-{mpi.version}"
    # Cut off before the last step: the steps that are there are read, not measured.
    steps = sorted(step.name for step in folder.iterdir() if (step / "run.json").is_file())
    assert steps[0] == "choose-2"
    shutil.rmtree(folder / steps[-1])
    (folder / "tuned.txt").unlink()
    again = slowpath("tune", "--resume", str(folder), "--budget", "1s", env=env)
    assert again.returncode == 0, again.stderr
    measured = [line.partition(":")[0] for line in again.stderr.splitlines() if line.partition("-")[0] in STEPS]
    assert steps[-1] in measured
    assert "choose-2" not in measured


BUDGET_S = 20
MARGIN = 3  # a step that can't be left out has 5 s of its own, and results are read and written after the last one


@pytest.mark.needs("minutes")
def test_a_tuning_ends_with_its_budget_and_says_what_it_left_out(
    slowpath: Slowpath, engine_cache: Path, blankless: Path
) -> None:
    """All collectives and lengths need many times the budget; what the command itself takes here is measured first."""
    mpi = find_mpi("embedded")
    env = {"SLOWPATH_MPI": str(mpi.mpiexec), "SLOWPATH_CACHE_DIR": str(engine_cache)}
    begun_s = time.monotonic()
    dry = slowpath("tune", "--dry-run", env=env)
    command_s = time.monotonic() - begun_s
    assert dry.returncode == 0, dry.stderr
    begun_s = time.monotonic()
    done = slowpath("tune", "--budget", f"{BUDGET_S}s", "--out", str(blankless / "tune"), env=env)
    took_s = time.monotonic() - begun_s
    assert done.returncode == 0, done.stderr
    assert took_s < MARGIN * (BUDGET_S + command_s)
    assert "left out; allow a longer --budget" in done.stderr
    assert (blankless / "tune" / "tuned.txt").read_text() == done.stdout
