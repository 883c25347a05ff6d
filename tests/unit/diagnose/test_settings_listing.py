# SPDX-License-Identifier: Apache-2.0
"""Lines about the user's settings: what is ignored, left in, or helps."""

from __future__ import annotations

from made_results import cell, contrast, environment, results, step
from msgspec.structs import replace

from slowpath.core.results import LibraryVariable, Results
from slowpath.diagnose.own_settings import OWN_WITNESSED, lines
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.tasks import SurveyTask, WitnessTask
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import own_settings

ENVIRON = {"MPIR_CVAR_ASYNC_PROGRES": "1", "MPIR_CVAR_ASYNC_PROGRESS": "1", "UCX_TLZ": "3", "HYDRA_LAUNCHER": "ssh"}


def measured(survey: Results, environ: dict[str, str]) -> list[MeasuredStep]:
    return [MeasuredStep(step(1, SurveyTask(settings=list(own_settings(environ)))), survey)]


def witnessed(environment_name: str, value: int) -> MeasuredStep:
    seen = results([cell(0, {"message_bytes": "8"}, [1e-6] * 3)])
    rows = [LibraryVariable(name="MPIR_CVAR_ASYNC_PROGRESS", value=value, type="int", description="")]
    run = replace(
        seen.run, mpi=replace(seen.run.mpi, control_variables=rows), environments=[environment(environment_name)]
    )
    return MeasuredStep(step(2, WitnessTask()), replace(seen, run=run))


def test_what_ucx_and_mpi_t_do_not_know(survey: Results) -> None:
    run = replace(survey.run, mpi=replace(survey.run.mpi, unused_variables={"UCX_TLZ": "UCX_TLS"}))
    steps = [*measured(replace(survey, run=run), ENVIRON), witnessed(OWN_WITNESSED, 1)]
    assert lines(steps, "mpich") == [
        "MPIR_CVAR_ASYNC_PROGRES=1: ignored: MPICH has no such variable; nearest: MPIR_CVAR_ASYNC_PROGRESS",
        "UCX_TLZ=3: ignored: nothing in UCX reads it here; nearest: UCX_TLS",
        "kept, because launches need them or they choose devices or code: HYDRA_LAUNCHER",
        "taken away together: 3",
    ]


def test_settings_that_help_are_said_to(survey: Results) -> None:
    own, without = survey.cells[0], replace(survey.cells[1], environment=WITHOUT_USER)
    helping = replace(
        contrast("c", a=without.cell, b=own.cell, axis="environment"),
        ratio=0.5,
        interval=(0.45, 0.55),
        verdict="faster",
    )
    told = lines(measured(replace(survey, cells=[own, without], contrasts=[helping]), {"UCX_TLS": "sm"}), "mpich")
    assert told[0] == "your settings help: without them it takes 2.00x on 48 KiB messages"
    slow = replace(helping, ratio=2.0, interval=(1.9, 2.1), verdict="slower")
    told = lines(measured(replace(survey, cells=[own, without], contrasts=[slow]), {"UCX_TLS": "sm"}), "mpich")
    assert told == ["taken away together: 1"]
