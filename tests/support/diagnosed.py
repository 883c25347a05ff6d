# SPDX-License-Identifier: Apache-2.0
"""A check-up with findings of every kind of card, and a diagnosis of it with a trial and all its sections."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.core.results import (
    ContrastResult,
    Finding,
    LawPoint,
    LawResult,
    Legs,
    LimitBracket,
    PanelRow,
    RemedyResult,
    RemovedRatio,
    Results,
    Snippet,
)
from slowpath.diagnose.tasks import Diagnosis, DiagnosisStep, SurveyTask, Task, TrialTask, WitnessTask
from slowpath.diagnose.trials import EFFECT
from support import checkup
from support.results import a_finding, a_leg

HUGE = "huge pages"
CODE = "void* buffer = aligned_alloc(2u << 20, length);\nmadvise(buffer, length, MADV_HUGEPAGE);"
SHELL = "export MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE=9216"


USUAL = PanelRow(
    name="MPI_Isend + Irecv + Waitall, long, first use", cells=32, outside=0, ratio=1.01, worst_ratio=1.2,
    low_ratio=0.9, high_ratio=1.1, limit_ratio=1.37, value_s=0.38e-6, source="this kind of machine", runs=18,
)  # fmt: skip
SLOW = replace(USUAL, name="MPI_Recv, short", outside=12, ratio=32.0, worst_ratio=90.0, value_s=7.1e-6)
PANEL = [replace(SLOW, name=f"{USUAL.name}, slow"), SLOW, *([USUAL] * 50)]


def results() -> Results:
    """The check-up with a panel and three findings: both sides, a law with a limit, one that nothing helps."""
    made = checkup.results()
    slowest = slow_pages(made)
    sides = a_finding(
        "SP008",
        title="Messages from small pages are slower than from huge pages",
        contrasts=[slowest.id],
        slow_cells=[slowest.b.cell],
        fast_cells=[slowest.a.cell],
        ratio=slowest.ratio,
        interval=slowest.interval,
        metric=slowest.metric,
        remedies=[remedy(HUGE, "Use huge pages for buffers of 1 MiB and more.", Snippet(code=CODE))],
    )
    cell_size = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"
    text = f"Set {cell_size}: messages up to about this length fit into one cell of shared memory."
    law = a_finding(
        "SP013", id="SP013:00000001", law=switch(), remedies=[remedy(cell_size, text, Snippet(shell=SHELL))]
    )
    alone = a_finding("SP017", id="SP017:00000002", affects_default=False, contrasts=[], doubts=["It may be <noise>."])
    return replace(made, findings=[sides, law, alone], panel=PANEL, no_reference={"MPI_Scan, long": 4})


def slow_pages(made: Results) -> ContrastResult:
    """The contrast of page kinds that decided for slower."""
    return next(
        contrast for contrast in made.contrasts if contrast.group == "page kind" and contrast.verdict == "slower"
    )


def remedy(name: str, text: str, snippet: Snippet) -> RemedyResult:
    """One that was not tried."""
    return RemedyResult(name=name, text=text, snippet=snippet, removed_ratio=None, side_effects=[],
                        verdict="not tried", reason="no trial was run")  # fmt: skip


def switch() -> LawResult:
    """Segments with a limit between 4 and 8 KiB."""
    times = [(1024.0 * 2**n, (1.0 + 0.1 * n + (2.0 if n > 2 else 0.0)) * 1e-6) for n in range(8)]
    points = [
        LawPoint(
            place={"message_bytes": length}, value_s=time_s, interval=(0.95 * time_s, 1.05 * time_s), fitted_s=time_s
        )
        for length, time_s in times
    ]
    return LawResult(
        name="segments",
        formula="t = a_j + b_j message_bytes in stretch j",
        coefficients=[],
        brackets=[LimitBracket(covariate="message_bytes", above=4096.0, up_to=8192.0)],
        residual_ratio=0.01,
        runner_up=None,
        refused=None,
        points=len(points),
        launches=8,
        text="t = 1.0 us up to 4 KiB; 3.3 us from 8 KiB on",
        drawn=tuple(points),
    )


def diagnosis() -> tuple[Diagnosis, dict[str, Results]]:
    """The diagnosis and the runs of its steps: a survey, a witness, a trial that proved."""
    survey = results()
    first, *others = survey.findings
    slowest = slow_pages(survey)
    proven = _proven(first)
    trial = TrialTask(finding=first.id, remedy=HUGE, axis="pages", slow="small", remedied="huge", metric=slowest.metric,
                      phase="steady")  # fmt: skip
    tasks: list[Task] = [SurveyTask(), WitnessTask(), trial]
    steps = [_step(number, task) for number, task in enumerate(tasks, 1)]
    made = Diagnosis(schema=3, slowpath="0", command=["slowpath", "diagnose", "--budget", "1m"],
                     started="2026-01-31T12:00:00+00:00", budget_s=60.0, mpi="mpich 5.0.2", status="budget",
                     spent_s=50.0, steps=steps, findings=[proven, *others], next=["try more"],
                     panel=PANEL)  # fmt: skip
    effect = replace(slowest, group=EFFECT)
    return made, {"01-survey": survey, steps[2].folder: replace(survey, contrasts=[effect])}


def _step(number: int, task: Task) -> DiagnosisStep:
    return DiagnosisStep(number=number, folder=f"{number:02d}-{task.kind}", why=f"to {task.kind}", estimate_s=1.0,
                         task=task, wall_s=5.0 * number, summary="done")  # fmt: skip


def _proven(finding: Finding) -> Finding:
    removed = RemovedRatio(value=1.01, interval=(0.97, 1.04))
    helped = replace(finding.remedies[0], verdict="proven", removed_ratio=removed,
                     reason="huge pages, toggled alone, removes 101% of the gap")  # fmt: skip
    legs = Legs(observed=a_leg(), explained=a_leg(), proven=a_leg())
    return replace(finding, remedies=[helped], status="proven", legs=legs)
