# SPDX-License-Identifier: Apache-2.0
"""diagnosis.json comes back as it was; text and page hold what matters."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_results import finding, law, remedy, step

from slowpath.core.errors import RecordError
from slowpath.core.results import Snippet
from slowpath.diagnose.tasks import (
    FILE,
    SCHEMA,
    Diagnosis,
    DiagnosisStep,
    SurveyTask,
    read_diagnosis,
    write_diagnosis,
)

CMA = "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"
LIMIT = 50020


@pytest.fixture
def made() -> Diagnosis:
    """One that proved a remedy and ran out of its budget."""
    proven = remedy(
        f"set {CMA}", "proven", (1.0, 0.9, 1.1), reason="it <moved>", snippet=Snippet(shell=f"export {CMA}=44519")
    )
    survey = DiagnosisStep(number=1, folder="01-survey", why="where?", estimate_s=1.0, task=SurveyTask(), wall_s=2.0,
                  summary="1 finding")  # fmt: skip
    return Diagnosis(
        schema=SCHEMA, slowpath="0", command=["slowpath"], started="now", budget_s=60.0, mpi="mpich 5.0.2",
        status="budget", spent_s=12.0, steps=[survey, step(2)],
        findings=[finding(law=law((LIMIT, LIMIT + 1)), remedies=[proven])], next=["more <of> it"],
    )  # fmt: skip


def test_the_file_comes_back(made: Diagnosis, tmp_path: Path) -> None:
    write_diagnosis(tmp_path, made)
    assert read_diagnosis(tmp_path) == made


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a diagnosis"),
        ('{"schema": 99}', "another version of slowpath"),
        ('{"schema": 2}', "another version of slowpath"),
        ('{"schema": 3}', "is not a diagnosis"),
        ('{"schema": 3, "steps": [{}]}', "is not a diagnosis"),
    ],
)
def test_what_is_no_diagnosis_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(RecordError, match=message):
        read_diagnosis(tmp_path)
