# SPDX-License-Identifier: Apache-2.0
"""The folder of a diagnosis is a run folder to report, slowpath.open, history and compare."""

from __future__ import annotations

from pathlib import Path

import pytest

import slowpath
from slowpath.cli.main import exit_code
from slowpath.compare.read import read_source
from slowpath.core.errors import RecordError
from slowpath.diagnose.page import contrasts_csv
from slowpath.diagnose.tasks import SCHEMA, Diagnosis, DiagnosisStep, SurveyTask, WitnessTask, write_diagnosis
from slowpath.record.imports.choose import import_files
from slowpath.report.api import DiagnosisRun as Opened

FIELD = Path(__file__).parents[1] / "data" / "field"
CSV_HEAD = "step,id,"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two imported runs as steps. Tests write derived files alone."""
    made = tmp_path_factory.mktemp("diagnoses") / "alice-diagnosis"
    made.mkdir()
    import_files(sorted(FIELD.glob("overalloc-*.txt")), made / "01-survey")
    import_files([FIELD / "host-bound.txt"], made / "02-witness")
    steps = [
        DiagnosisStep(number=1, folder="01-survey", why="look", estimate_s=1.0, task=SurveyTask(), wall_s=1.0),
        DiagnosisStep(number=2, folder="02-witness", why="count", estimate_s=1.0, task=WitnessTask(), wall_s=1.0),
    ]
    findings = slowpath.open(made / "01-survey").findings
    assert findings
    diagnosis = Diagnosis(
        schema=SCHEMA, slowpath="0", command=["slowpath", "diagnose", "--out", str(made)], started="now", budget_s=9.0,
        mpi="mpich 5.0.2", status="settled", steps=steps, findings=findings,
    )  # fmt: skip
    write_diagnosis(made, diagnosis)
    return made


def test_report_writes_its_files_and_those_of_its_steps(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", str(folder)]) == 0
    assert capfd.readouterr().out.startswith("Diagnosis of mpich 5.0.2")
    assert {report.parent.name for report in folder.rglob("report.html")} == {folder.name, "01-survey", "02-witness"}
    assert exit_code(["report", str(folder), "--panel"]) == 0
    assert "No kind of call was compared with healthy runs." in capfd.readouterr().out
    assert exit_code(["report", str(folder), "--panel", "--format", "csv"]) == 2
    head, *rows = contrasts_csv(folder).splitlines()
    assert head.startswith(CSV_HEAD)
    assert {row.partition(",")[0] for row in rows} <= {"01-survey", "02-witness"}


def test_open_is_the_survey_with_all_steps(folder: Path) -> None:
    opened = slowpath.open(folder)
    assert isinstance(opened, Opened)
    survey, witness = opened.steps
    assert [cell.label for cell in opened.cells] == [cell.label for cell in survey.cells]
    assert len(opened.rows()) == len(survey.rows()) + len(witness.rows())
    assert {row["step"] for row in opened.rows()} == {"01-survey", "02-witness"}
    assert opened.findings[0].rule.startswith("SP")


def test_compare_takes_the_survey(folder: Path) -> None:
    assert read_source(folder).folder == folder / "01-survey"


def test_a_diagnosis_without_its_steps_is_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "diagnosis.json").write_bytes((folder / "diagnosis.json").read_bytes())
    with pytest.raises(RecordError, match="no step of this diagnosis is there"):
        slowpath.open(tmp_path)
    (tmp_path / "diagnosis.json").write_text("{")
    with pytest.raises(RecordError, match="cannot be read"):
        read_source(tmp_path)
