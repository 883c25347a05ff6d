# SPDX-License-Identifier: Apache-2.0
"""The loop over steps, with a bench that measures nothing: what is taken, what ends it, what --resume goes on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from made_results import finding, leg, results
from msgspec.structs import replace

from slowpath.core.campaign import Campaign
from slowpath.core.errors import EnvironmentFailure, Interrupted, UsageError
from slowpath.core.results import Finding, Legs, Results
from slowpath.diagnose import session
from slowpath.diagnose.asked import Asked
from slowpath.diagnose.records import SCHEMA, Diagnosis, read_diagnosis
from slowpath.diagnose.session import Session
from slowpath.diagnose.start import resume
from slowpath.diagnose.state import EVERYTHING, LibraryFacts, MeasuredStep, State


@dataclass
class Cost:
    wall_s: float


@dataclass
class Prepared:
    cost: Cost


@dataclass
class Bench:
    """Every run takes as long as was estimated; the survey shows a slow cell with small pages."""

    survey: Results
    cost_s: float = 10.0
    refused: Sequence[str] = ()
    fails: type[Exception] | None = None
    told: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    cores: int = 4
    identity: str = "mpich 5.0.2"
    library = LibraryFacts("mpich", "5.0.2")
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def built(self) -> Bench:
        return self

    def tell(self, line: str) -> None:
        self.told.append(line)

    def state(self, findings: Sequence[Finding], measured: Sequence[MeasuredStep], asked: Asked = EVERYTHING) -> State:
        return State(findings, measured, self.library, self.environ, asked=asked, cores=self.cores)

    def prepare(self, campaign: Campaign, kind: str) -> Prepared:
        if kind in self.refused:
            raise UsageError("this engine has none")
        return Prepared(Cost(self.cost_s))

    def create(self, prepared: Prepared, folder: Path) -> None:
        folder.mkdir()

    def measure(self, prepared: Prepared, folder: Path, budget_s: float | None) -> None:
        self.measured.append(folder.name)
        if self.fails is not None:
            raise self.fails("no")

    def require_machine_of(self, folder: Path) -> None:
        if folder.name in self.elsewhere:
            raise EnvironmentFailure(f"{folder.name}: was measured on another machine")

    def resume(self, folder: Path) -> None:
        self.resumed.append(folder.name)

    def results(self, folder: Path) -> Results:
        return self.survey if folder.name == "01-survey" else results()


@pytest.fixture
def bench(survey: Results, monkeypatch: pytest.MonkeyPatch) -> Bench:
    slow = survey.cells[0]
    slow = replace(slow, parameters={**slow.parameters, "pages": "small"})
    explained = Legs(observed=leg("shown"), explained=leg("shown"), proven=leg())  # no witness is needed
    found = finding("SP008", status="explained", legs=explained)
    made = Bench(replace(survey, cells=[slow, survey.cells[1]], findings=[found]))
    monkeypatch.setattr(session, "measured_s", lambda folder: made.cost_s)
    monkeypatch.setattr(session, "build_results", made.results)
    return made


def begun(bench: Bench, folder: Path, **more: Any) -> Session:
    fields: dict[str, Any] = {"schema": SCHEMA, "slowpath": "0", "command": [], "started": "now", "budget_s": 100.0}
    asked = Asked(frozenset(more.get("only", ())))
    return Session(folder, bench, Diagnosis(mpi="mpich 5.0.2", **(fields | more)), asked)  # type: ignore[arg-type]


def test_steps_are_taken_until_nothing_is_left(bench: Bench, tmp_path: Path) -> None:
    made = begun(bench, tmp_path).run()
    assert bench.measured == ["01-survey", "02-trial"]
    assert [one.folder for one in made.steps] == bench.measured
    assert made.status == "settled"
    assert made.spent_s == 20.0
    assert made.steps[0].summary == "1 slow path (SP008)"
    assert (made.steps[1].summary or "").startswith("not tried: huge pages: the trial gave no pairs")
    assert read_diagnosis(tmp_path) == made


def test_the_survey_is_made_whatever_the_budget_and_the_rest_only_if_it_fits(bench: Bench, tmp_path: Path) -> None:
    made = begun(bench, tmp_path, budget_s=5.0).run()
    assert bench.measured == ["01-survey"]
    assert made.status == "budget"
    assert made.next == ["try 'huge pages' against SP008"]


def test_name_only_tries_nothing(bench: Bench, tmp_path: Path) -> None:
    made = begun(bench, tmp_path, name_only=True).run()
    assert bench.measured == ["01-survey"]
    assert made.status == "named"


def test_what_the_engine_refuses_is_left_out_once_and_said(bench: Bench, tmp_path: Path) -> None:
    bench.refused = ["trial"]
    made = begun(bench, tmp_path).run()
    assert bench.measured == ["01-survey"]
    left_out = [line for line in bench.told if line.startswith("left out")]
    assert left_out == ["left out: try 'huge pages' against SP008: this engine has none"]
    assert (made.status, made.next) == ("settled", [])
    bench.refused = ["survey"]
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError):
        begun(bench, tmp_path / "other").run()


def test_ctrl_c_keeps_the_step_and_resume_goes_on_with_it(bench: Bench, tmp_path: Path) -> None:
    bench.fails = Interrupted
    with pytest.raises(Interrupted, match="--resume"):
        begun(bench, tmp_path).run()
    kept = read_diagnosis(tmp_path)
    assert kept.status == "interrupted"
    assert [one.wall_s for one in kept.steps] == [None]
    bench.fails = None
    again = Session(tmp_path, bench, kept)  # type: ignore[arg-type]
    again.load()
    assert bench.resumed == ["01-survey"]
    made = again.run()
    assert bench.measured == ["01-survey", "02-trial"]
    assert made.status == "settled"


def test_a_machine_that_refuses_ends_the_survey_and_nothing_else(bench: Bench, tmp_path: Path) -> None:
    bench.fails = EnvironmentFailure
    with pytest.raises(EnvironmentFailure):
        begun(bench, tmp_path).run()
    (tmp_path / "other").mkdir()
    bench.fails = None
    going = begun(bench, tmp_path / "other", name_only=True)
    going.run()
    bench.fails = EnvironmentFailure
    after = Session(going.folder, bench, replace(going.diagnosis, name_only=False))  # type: ignore[arg-type]
    after.load()
    assert [one.folder for one in after.run().steps] == ["01-survey", "02-trial"]
    assert "02-trial: no" in bench.told


def test_a_budget_with_resume_is_what_is_added(bench: Bench, tmp_path: Path) -> None:
    assert begun(bench, tmp_path, budget_s=15.0).run().status == "budget"
    made = resume(tmp_path, bench, 10.0, 99.0).run()  # type: ignore[arg-type]
    assert bench.measured == ["01-survey", "02-trial"]
    assert (made.spent_s, made.budget_s, made.status) == (20.0, 20.0, "settled")


def test_steps_of_another_machine_are_not_gone_on_with(bench: Bench, tmp_path: Path) -> None:
    begun(bench, tmp_path).run()
    bench.elsewhere.append("02-trial")
    with pytest.raises(EnvironmentFailure, match="02-trial: was measured on another machine"):
        resume(tmp_path, bench, 10.0, 99.0)  # type: ignore[arg-type]


def test_resume_without_a_budget_takes_what_is_left_or_the_usual_one(bench: Bench, tmp_path: Path) -> None:
    begun(bench, tmp_path, name_only=True).run()
    assert resume(tmp_path, bench, None, 99.0).run().budget_s == 100.0  # type: ignore[arg-type]
    assert resume(tmp_path, bench, None, 99.0).run().budget_s == 20.0 + 99.0  # type: ignore[arg-type]


def test_only_what_was_asked_for_is_tried(bench: Bench, tmp_path: Path) -> None:
    begun(bench, tmp_path, name_only=True).run()
    made = resume(tmp_path, bench, None, 99.0, only=["SP013"]).run()  # type: ignore[arg-type]
    assert (bench.measured, made.status, made.only) == (["01-survey"], "settled", ["SP013"])
    resume(tmp_path, bench, None, 99.0, only=["small-page host memory"]).run()  # type: ignore[arg-type]
    assert bench.measured == ["01-survey", "02-trial"]


def test_a_narrow_survey_is_not_asked_for_what_it_left_out(bench: Bench, tmp_path: Path) -> None:
    begun(bench, tmp_path, only=["SP008"], name_only=True).run()
    with pytest.raises(UsageError, match="was for SP008 and left out lengths; begin a new diagnosis"):
        resume(tmp_path, bench, None, 99.0, only=["SP013"])  # type: ignore[arg-type]


def test_a_remedy_that_cannot_help_here_is_said_once_and_kept(bench: Bench, tmp_path: Path) -> None:
    bench.survey = replace(bench.survey, findings=[replace(bench.survey.findings[0], rule="SP017")])
    bench.cores = 2
    made = begun(bench, tmp_path).run()
    assert [one.remedy for one in made.not_tried] == ["asynchronous progress of MPICH"]
    reason = "it needs 2 cores for each rank (1 spare): 2 ranks have 2 cores here"
    assert made.not_tried[0].why == reason
    told = [line for line in bench.told if line.startswith("not tried")]
    assert told == [f"not tried: 'asynchronous progress of MPICH' against SP017: {reason}"]
