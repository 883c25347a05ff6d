# SPDX-License-Identifier: Apache-2.0
"""The examples work: the notebook's code runs, the Slurm script is sound. ReFrame: tests/cli/test_reframe.py."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slowpath.record.imports.choose import import_files
from watchdog import WATCHDOG_S

ROOT = Path(__file__).parents[3]
FIELD = ROOT / "tests" / "data" / "field"
EXAMPLES = ROOT / "examples"
NOTEBOOK = json.loads((EXAMPLES / "notebook" / "run-folder.ipynb").read_text())


def code_cells() -> list[str]:
    return ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLOWPATH_RUN", str(import_files(sorted(FIELD.glob("*.txt")), tmp_path / "run")))
    names: dict[str, Any] = {}
    for number, cell in enumerate(code_cells()):
        exec(compile(cell, f"cell {number}", "exec"), names)
    said = capsys.readouterr().out
    assert "first message slower than later ones" in said
    assert len(names["rows"]) > 9
    assert names["blocks"]


def test_the_slurm_script_runs_or_resumes(tmp_path: Path) -> None:
    """With a stand-in for slowpath that prints what it is asked: the script itself is what is tested."""
    (tmp_path / "slowpath").write_text('#!/bin/sh\necho "slowpath $* cache=$SLOWPATH_CACHE_DIR"\n')
    (tmp_path / "slowpath").chmod(0o755)
    script = EXAMPLES / "slurm" / "checkup.sbatch"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}

    def submitted(*arguments: str) -> list[str]:
        done = subprocess.run(
            ["bash", str(script), *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=True, timeout=WATCHDOG_S,
        )  # fmt: skip
        return done.stdout.splitlines()

    doctor, run, report = submitted()
    cache = f"cache={tmp_path}/.slowpath-cache"
    assert doctor == f"slowpath doctor {cache}"
    assert run == f"slowpath run checkup --out slowpath-runs/checkup-7 --quiet {cache}"
    assert report == "report: slowpath-runs/checkup-7/report.html"
    (tmp_path / "slowpath-runs" / "overalloc-7").mkdir(parents=True)
    (tmp_path / "slowpath-runs" / "overalloc-7" / "run.json").touch()
    assert submitted("overalloc")[1] == f"slowpath run --resume slowpath-runs/overalloc-7 {cache}"


@pytest.mark.parametrize(
    ("measured", "gated", "code", "left"),
    [(4, 0, 0, ["run-7.log"]), (0, 0, 0, []), (0, 1, 1, ["run-7", "run-7.log"])],
)
def test_a_prolog_drains_its_node_for_a_regression_alone(
    tmp_path: Path, measured: int, gated: int, code: int, left: list[str]
) -> None:
    bin_, folder = tmp_path / "bin", tmp_path / "node"
    bin_.mkdir()
    folder.mkdir()
    (bin_ / "slowpath").write_text(
        f"#!/bin/sh\nenv | grep -q ^SLURM && exit 9\n[ $1 = gate ] && exit {gated}\n[ {measured} = 0 ] && mkdir $6\n"
        f"exit {measured}\n"
    )
    (bin_ / "slowpath").chmod(0o755)
    environ = {"PATH": f"{bin_}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLOWPATH_NODE_FOLDER": str(folder)}
    codes = [
        subprocess.run([EXAMPLES / "slurm" / "prolog.sh"], env=environ, check=False, timeout=WATCHDOG_S).returncode
        for _ in range(2)
    ]
    assert codes == [0, code], "the first run is the baseline"
    assert sorted(path.name for path in folder.glob("run-*")) == left
    assert (folder / "baseline").is_dir() == (measured == 0)
