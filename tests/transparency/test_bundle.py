# SPDX-License-Identifier: Apache-2.0
"""The script of a bundle counts the runs of its own campaign, and of no other."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from transparency_suite.bundle import SCRIPT

from watchdog import WATCHDOG_S

LAUNCHER = "#!/bin/sh\necho 'calls 64, wrong 0, seconds 0.1'\n"


@pytest.fixture
def bundle(blankless: Path) -> Path:
    """A bundle of one family, whose launcher starts nothing, on a path without a blank."""
    folder = blankless / "bundle"
    (folder / "mpi" / "none" / "bin").mkdir(parents=True)
    (folder / "mpi" / "none" / "tables").mkdir()
    (folder / "mpi" / "none" / "tables" / "0.json").write_text("{}")
    launcher = folder / "mpi" / "none" / "bin" / "mpiexec"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    (folder / "families").write_text("moves tables\nlengths\n")
    shutil.copy2(SCRIPT, folder / "run.sh")
    return folder


def run(bundle: Path, out: Path) -> subprocess.CompletedProcess[str]:
    argv = ["bash", str(bundle / "run.sh"), str(out), "0", "2"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


def test_a_second_campaign_counts_its_own_runs_alone(bundle: Path, tmp_path: Path) -> None:
    said = [run(bundle, tmp_path / "out").stdout for _ in range(2)]
    assert said[0] == said[1]
    assert "8 runs of 1 s" in said[0]
    assert "right: 8\n512 calls\n" in said[0]
    assert len((tmp_path / "out" / "lines").read_text().splitlines()) == 8


def test_a_folder_of_something_else_stays(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    done = run(bundle, tmp_path)
    assert done.returncode == 2
    assert "is not empty and holds no campaign" in done.stderr
    assert (tmp_path / "kept").exists()
