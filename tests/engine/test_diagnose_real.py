# SPDX-License-Identifier: Apache-2.0
"""A diagnosis of one-sided messages under a real MPI: found, proven by a trial, and concluded again from disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ranks import Ranks

from slowpath.analyse.build import build_results
from slowpath.diagnose.bench import Bench
from slowpath.diagnose.ranks import A_PAIR, Job, Part
from slowpath.diagnose.session import begin, resume
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.order import conclude
from slowpath.diagnose.tasks import SurveyTask, read_diagnosis
from slowpath.mpi.mpi import Mpi
from slowpath.plan.campaign import decode
from slowpath.run.engine.cache import Engine
from slowpath.run.engine.describe import describe
from slowpath.run.prepare import Library
from slowpath.run.progress import Quiet
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")
SURVEY = b"""
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


# Puts to a window of the program's own memory take 5 us of the processor more than others: far beyond what a library
# and a busy machine make of the difference.
SLOW = """
#include <mpi.h>
#include <time.h>
static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
int MPI_Put(const void* data, int n, MPI_Datatype type, int to, MPI_Aint at, int m, MPI_Datatype of, MPI_Win window) {
    int *flavor, is_known, code = PMPI_Put(data, n, type, to, at, m, of, window);
    PMPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &is_known);
    if (is_known && *flavor == MPI_WIN_FLAVOR_CREATE) for (long long end = now_ns() + 5000; now_ns() < end;) {}
    return code;
}
"""
CONTROL = b"""
[campaign]
name = "survey"
title = "One cell of pairs"
rounds = 2

[[environment]]
name = "default"

[[placement]]
name = "bound"

[[cells]]
name = "control"
experiment = "p2p"
[cells.parameters]
pattern = "ping_pong"
samples = 20
time_limit_s = 0.004
"""
CORES = len(os.sched_getaffinity(0))
BUDGET_S = 4.0 * WATCHDOG_S  # on a busy machine a step takes minutes; nothing here is measured for as long as it may be


def bench_of(mpi: Mpi, engine: Engine, job: Job = A_PAIR) -> Bench:
    return Bench(
        built=Library("mpi", mpi.identity, mpi, engine),
        description=describe(engine, mpi.environ(os.environ)),
        environ=dict(os.environ),
        gpus=0,
        cores=CORES,
        tell=lambda line: None,
        progress=Quiet,
        cell_timeout_s=WATCHDOG_S,
        command=["slowpath", "diagnose"],
        job=job,
    )


def test_a_window_s_memory_is_found_and_its_remedy_proven(
    mpi: Mpi, engine: Engine, ranks: Ranks, blankless: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "slowpath.diagnose.steps.survey.survey_campaign", lambda shipped, gpus: decode(SURVEY, "survey")
    )
    monkeypatch.setattr("slowpath.diagnose.ranks.parts", lambda *_: [])
    (blankless / "slow.c").write_text(SLOW)
    monkeypatch.setenv("LD_PRELOAD", str(ranks.compiled(blankless / "slow.c")))
    bench, folder = bench_of(mpi, engine), tmp_path / "diagnosis"
    made = begin(bench, BUDGET_S, folder).run()
    first = next(finding for finding in made.findings if finding.rule == "SP019")
    proven = next(remedy for remedy in first.remedies if remedy.name == "MPI_Win_allocate")
    assert first.status == "proven", first.legs.proven
    assert proven.removed_ratio.interval[0] > 0.5
    assert made.status == "settled"

    kept = read_diagnosis(folder)
    assert kept == made
    measured = [MeasuredStep(step, build_results(folder / step.folder)) for step in kept.steps]
    again = conclude(measured).findings
    assert [finding.status for finding in again] == [finding.status for finding in made.findings]
    resumed = resume(folder, bench, None, BUDGET_S).run()
    assert [step.folder for step in resumed.steps] == [step.folder for step in made.steps]


def test_pairs_stay_pairs_and_more_ranks_than_cores_are_not_timed(
    mpi: Mpi, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a job of four ranks on two cores two are timed, and each cell says with how many it was measured."""
    ways = {"collective": "bcast", "message_bytes": "8", "way": ["library", "scatter+allgather"]}
    timed = Part("bcast by other calls", ways, effort={"samples": "10", "time_limit_s": "0.002"})
    monkeypatch.setattr(
        "slowpath.diagnose.steps.survey.survey_campaign", lambda shipped, gpus: decode(CONTROL, "survey")
    )
    monkeypatch.setattr("slowpath.diagnose.ranks.parts", lambda *_: [timed])
    made = begin(bench_of(mpi, engine, Job(4, cores=2)), BUDGET_S, tmp_path / "diagnosis", name_only=True).run()
    task = made.steps[0].task
    assert isinstance(task, SurveyTask)
    assert (made.status, task.ranks, task.left_out) == ("settled", 4, [])
    assert [step.task.kind for step in made.steps] == ["survey", "path"]
    assert any(" go by " in line for line in made.paths), made.paths
    results = build_results(tmp_path / "diagnosis" / made.steps[0].folder)
    ranks = {placement.name: placement.ranks for placement in results.run.placements}
    assert {cell.group: ranks[cell.placement] or 2 for cell in results.cells} == {
        "control": 2,
        "bcast by other calls": 2,
    }
    assert all(cell.status == "ok" for cell in results.cells)
    assert all("collective_work_s" in cell.metrics for cell in results.cells if cell.experiment == "coll")


def test_four_ranks_have_a_launch_of_their_own(
    mpi: Mpi, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {"collective": "allreduce", "message_bytes": "8"}
    timed = Part("allreduce", ways, effort={"samples": "10", "time_limit_s": "0.002"})
    monkeypatch.setattr(
        "slowpath.diagnose.steps.survey.survey_campaign", lambda shipped, gpus: decode(CONTROL, "survey")
    )
    monkeypatch.setattr("slowpath.diagnose.ranks.parts", lambda *_: [timed])
    made = begin(bench_of(mpi, engine, Job(4, cores=None)), BUDGET_S, tmp_path / "diagnosis", name_only=True).run()
    results = build_results(tmp_path / "diagnosis" / made.steps[0].folder)
    places = {placement.name: (placement.ranks, len(placement.observed)) for placement in results.run.placements}
    assert places == {"bound": (2, 2), "4 ranks": (4, 4)}
    (cell,) = [cell for cell in results.cells if cell.experiment == "coll"]
    assert (cell.placement, cell.status) == ("4 ranks", "ok")
