# SPDX-License-Identifier: Apache-2.0
"""A diagnosis of one-sided messages under a real MPI: found, proven by a trial, and concluded again from disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slowpath.analyse.build import build_results
from slowpath.diagnose.bench import Bench
from slowpath.diagnose.conclusion import conclude
from slowpath.diagnose.records import read_diagnosis
from slowpath.diagnose.start import begin, resume
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps import survey
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from slowpath.run.engine.describe import describe
from slowpath.run.libraries import Library
from slowpath.run.progress import Quiet

SURVEY = """
[campaign]
name = "survey"
title = "Windows alone"
rounds = 5

[[cells]]
name = "windows"
experiment = "put"
[cells.parameters]
window = ["allocate", "create"]
puts = 200
samples = 40
time_limit_s = 0.004
warmup_s = 0.001
instructions = 2

[[contrast]]
name = "window kind"
question = "Does it matter whose memory a window is?"
cells = "windows"
axis = "window"
a = "allocate"
b = "create"
metric = "time_per_put_s"
"""


def test_a_window_s_memory_is_found_and_its_remedy_proven(
    mpi: Mpi, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "survey_text", lambda shipped, own, gpus: SURVEY)
    bench = Bench(
        built=Library("mpi", mpi.identity, mpi, engine),
        description=describe(engine, mpi.environ(os.environ)),
        environ=dict(os.environ),
        gpus=0,
        cores=len(os.sched_getaffinity(0)),
        tell=lambda line: None,
        progress=Quiet,
        cell_timeout_s=60.0,
        command=["slowpath", "diagnose"],
    )
    made = begin(bench, 600.0, tmp_path / "diagnosis").run()
    found = next(one for one in made.findings if one.rule == "SP019")
    proven = next(one for one in found.remedies if one.name == "MPI_Win_allocate")
    assert found.status == "proven", found.legs.proven
    assert proven.removed_ratio.interval[0] > 0.5
    assert made.status == "settled"

    folder = tmp_path / "diagnosis"
    kept = read_diagnosis(folder)
    assert kept == made
    measured = [MeasuredStep(step, build_results(folder / step.folder)) for step in kept.steps]
    again = conclude(measured, kept.forced).findings
    assert [one.status for one in again] == [one.status for one in made.findings]
    resumed = resume(folder, bench, None, 600.0).run()
    assert [step.folder for step in resumed.steps] == [step.folder for step in made.steps]
