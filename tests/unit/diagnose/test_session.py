# SPDX-License-Identifier: Apache-2.0
"""The loop over steps, with a bench that measures nothing: what is taken, what ends it, what --resume goes on with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import Bench, Cost, Prepared
from made_results import finding, leg, results
from msgspec.structs import replace

from slowpath.core.errors import Interrupted
from slowpath.core.results import Legs, Results
from slowpath.diagnose.own_settings import named
from slowpath.diagnose.session import Session, own_mpi, resume
from slowpath.diagnose.state import Asked, BudgetClock
from slowpath.diagnose.steps.settings import MOST_S
from slowpath.diagnose.tasks import SCHEMA, Diagnosis, SurveyTask, read_diagnosis, write_diagnosis
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import OwnSetting
from slowpath.run import reopen
from slowpath.run.reopen import Stated


@pytest.fixture
def bench(survey: Results, monkeypatch: pytest.MonkeyPatch) -> Bench:
    slow = survey.cells[0]
    slow = replace(slow, parameters={**slow.parameters, "pages": "small"})
    explained = Legs(observed=leg("shown"), explained=leg("shown"), proven=leg())  # no witness is needed
    first = finding("SP008", status="explained", legs=explained)
    made = Bench(replace(survey, cells=[slow, survey.cells[1]], findings=[first]))
    monkeypatch.setattr("slowpath.diagnose.session.measured_s", lambda folder: made.cost_s)
    monkeypatch.setattr("slowpath.diagnose.session.build_results", made.results)
    return made


def begun(bench: Bench, folder: Path, **more: Any) -> Session:
    fields: dict[str, Any] = {"schema": SCHEMA, "slowpath": "0", "command": [], "started": "now", "budget_s": 100.0}
    asked = Asked(frozenset(more.get("only", ())))
    return Session(folder, bench, Diagnosis(mpi="mpich 5.0.2", **(fields | more)), asked)  # type: ignore[arg-type]


def test_steps_are_taken_until_nothing_is_left(bench: Bench, tmp_path: Path) -> None:
    made = begun(bench, tmp_path).run()
    assert bench.measured == ["01-survey", "02-trial"]
    assert [step.folder for step in made.steps] == bench.measured
    assert made.status == "settled"
    assert made.spent_s == 20.0
    assert made.steps[0].summary == "1 fault (SP008)"
    assert made.verdict is not None
    assert made.verdict.count.startswith("1 fault (SP008)"), "one count, in the progress line as in every report"
    assert (made.steps[1].summary or "").startswith("not tried: huge pages: the trial gave no pairs")
    assert read_diagnosis(tmp_path) == made


def test_the_user_s_own_state_goes_before_the_survey_and_has_its_own_limit(bench: Bench, tmp_path: Path) -> None:
    bench.settings = [OwnSetting("UCX_TLS", "tcp")]
    bench.cost_s = 3.0
    made = begun(bench, tmp_path, name_only=True).run()
    assert bench.measured == ["01-state", "02-survey"]
    assert bench.limits["01-state"] == (MOST_S, WITHOUT_USER)
    left_s, held = bench.limits["02-survey"]
    assert (left_s or 0.0) <= 97.0
    assert held is None
    assert made.steps[0].summary == "no call is 1.25x slower than without your settings"
    assert made.steps[1].summary == "1 fault (SP008)"
    assert read_diagnosis(tmp_path) == made
    again = resume(tmp_path, bench, None, 99.0, name_only=True)  # type: ignore[arg-type]
    assert [step.folder for step in again.run().steps] == ["01-state", "02-survey"]


def test_from_the_survey_on_a_setting_that_slows_down_everything_is_set_aside(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps about the setting itself go before it, with the setting; the survey would take minutes under it."""
    bench.settings = [OwnSetting("UCX_TLS", "tcp"), OwnSetting("UCX_LOG_LEVEL", "info")]
    bench.environ = {"UCX_TLS": "tcp", "UCX_LOG_LEVEL": "info", "HOME": "/"}
    own = named(replace(finding("SP035"), run="01-state", text="With your settings."), [[bench.settings[0]]], [])
    monkeypatch.setattr("slowpath.diagnose.steps.settings.judged", lambda *_: [own])
    seen: dict[str, set[str]] = {}
    monkeypatch.setattr(
        Bench, "prepare", lambda self, campaign, kind: seen.update({kind: set(self.environ)}) or Prepared(Cost(3.0))
    )
    made = begun(bench, tmp_path).run()
    assert seen["state"] == {"UCX_TLS", "UCX_LOG_LEVEL", "HOME"}
    assert seen["survey"] == {"UCX_LOG_LEVEL", "HOME"}
    survey = next(step for step in made.steps if isinstance(step.task, SurveyTask))
    assert isinstance(survey.task, SurveyTask)
    assert survey.task.aside == ["UCX_TLS"]
    assert [setting.name for setting in survey.task.settings] == ["UCX_LOG_LEVEL"]
    assert survey.why == "survey, from here on without UCX_TLS"
    assert made.findings[0].cause == own.cause


def test_the_survey_is_made_whatever_the_budget_and_the_rest_only_if_it_fits(bench: Bench, tmp_path: Path) -> None:
    made = begun(bench, tmp_path, budget_s=5.0).run()
    assert bench.measured == ["01-survey"]
    assert made.status == "budget"
    assert made.next == ["try 'huge pages' against SP008"]


def test_name_only_tries_nothing(bench: Bench, tmp_path: Path) -> None:
    made = begun(bench, tmp_path, name_only=True).run()
    assert bench.measured == ["01-survey"]
    assert made.status == "named"


def test_ctrl_c_keeps_the_step_and_resume_goes_on_with_it(bench: Bench, tmp_path: Path) -> None:
    bench.fails = Interrupted
    with pytest.raises(Interrupted, match="--resume"):
        begun(bench, tmp_path).run()
    kept = read_diagnosis(tmp_path)
    assert kept.status == "interrupted"
    assert [step.wall_s for step in kept.steps] == [None]
    bench.fails = None
    again = Session(tmp_path, bench, kept)  # type: ignore[arg-type]
    again.load()
    assert bench.resumed == ["01-survey"]
    made = again.run()
    assert bench.measured == ["01-survey", "02-trial"]
    assert made.status == "settled"


def test_a_budget_with_resume_is_what_is_added(bench: Bench, tmp_path: Path) -> None:
    assert begun(bench, tmp_path, budget_s=15.0).run().status == "budget"
    made = resume(tmp_path, bench, 13.0, 99.0).run()  # type: ignore[arg-type]
    assert bench.measured == ["01-survey", "02-trial"]
    assert (made.spent_s, made.budget_s, made.status) == (20.0, 23.0, "settled")


@dataclass
class Waiting:
    """A user's clock: a build, launches and conclusions take their time on it."""

    now_s: float = 0.0
    limits_s: list[float] = field(default_factory=list)

    def measured_on(self, bench: Bench, monkeypatch: pytest.MonkeyPatch, launches_s: float, results_s: float) -> None:
        def measure(_: Prepared, folder: Path, budget_s: float | None, *_more: object) -> None:
            bench.measured.append(folder.name)
            self.limits_s.append(budget_s or 0.0)
            self.now_s += min(launches_s, budget_s or 0.0)

        def shown(folder: Path) -> Results:
            self.now_s += results_s
            return bench.survey if folder.name == "01-survey" else results()

        monkeypatch.setattr(bench, "measure", measure)
        monkeypatch.setattr(bench, "results", shown)


@pytest.mark.parametrize(("build_s", "launches_s", "results_s"), [(0, 25, 4), (20, 25, 4), (0, 90, 4), (0, 25, 9)])
def test_a_budget_is_the_time_that_the_user_waits(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build_s: float, launches_s: float, results_s: float
) -> None:
    """`--budget 60s` took 87 s: engines that are built, launches beyond their estimate and analysis count as well."""
    waiting = Waiting()
    waiting.measured_on(bench, monkeypatch, launches_s, results_s)
    clock = BudgetClock(0.0, now=lambda: waiting.now_s)
    waiting.now_s += build_s
    diagnosis = begun(bench, tmp_path, budget_s=60.0).diagnosis
    made = Session(tmp_path, bench, diagnosis, clock=clock).run()  # type: ignore[arg-type]
    assert bench.measured[0] == "01-survey"
    assert waiting.now_s <= 60.0 + results_s  # the first conclusion alone could not be foreseen
    assert made.spent_s == max(waiting.now_s, 10.0 * len(bench.measured))
    assert all(limit_s <= 60.0 - build_s for limit_s in waiting.limits_s)


def test_a_first_step_that_took_the_whole_budget_is_the_answer(bench: Bench, tmp_path: Path, monkeypatch) -> None:
    bench.settings, bench.cost_s = [OwnSetting("UCX_TLS", "tcp")], 3.0
    monkeypatch.setattr("slowpath.diagnose.session.measured_s", lambda _: 9.0)
    assert (begun(bench, tmp_path, budget_s=9.0).run().status, bench.measured) == ("budget", ["01-state"])


@pytest.mark.parametrize("slowed", [False, True])
def test_a_fault_of_the_user_s_own_state_is_said_as_soon_as_it_is_measured(
    slowed: bool, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict comes at the end of the budget, and whoever reads the first line can end the rest."""
    bench.settings, bench.cost_s = [OwnSetting("UCX_TLS", "tcp")], 3.0
    own = named(replace(finding("SP035"), run="01-state", text="With UCX_TLS=tcp."), [[bench.settings[0]]], [])
    load = finding("SP048", number=1, text="Others keep 2.0 of 2 cores busy.", run="01-state")
    monkeypatch.setattr("slowpath.diagnose.steps.settings.judged", lambda *_: [load, own] if slowed else [])
    begun(bench, tmp_path).run()
    said = [line for line in bench.lines if line.startswith("Fault: ")]
    assert said == ([f"Fault: {load.text}", f"Fault: {own.text}"] if slowed else [])
    step_line = next(line for line in bench.lines if line.startswith("01-state: ") and "with and without" not in line)
    assert step_line == ("01-state: 2 faults (SP048, SP035)" if slowed else step_line)
    following = next(line for line in bench.lines if line.startswith("02-"))
    assert not said or bench.lines.index(said[-1]) < bench.lines.index(following)


def test_resume_takes_the_mpi_of_the_folder_whatever_else_is_here_by_now(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(bench, tmp_path, name_only=True).run()
    asked: list[tuple[str | None, str | None, Path]] = []
    facts = {"name": "mpich", "version": "5.0.2", "mpiexec": "/opt/mpich/bin/mpiexec"}
    monkeypatch.setattr(reopen, "read_run", lambda folder: SimpleNamespace(mpi=facts, folder=folder))

    def again(was: Stated, where: str, environ: dict[str, str], *, trust: bool) -> SimpleNamespace:
        asked.append((was.name, was.version, Path(where)))
        return SimpleNamespace(mpiexec=Path("/here/mpich/bin/mpiexec"))

    monkeypatch.setattr(reopen, "mpi_again", again)
    assert own_mpi(tmp_path, {"PATH": "/opt/openmpi/bin"}) == "/here/mpich/bin/mpiexec"
    assert asked == [("mpich", "5.0.2", tmp_path / "01-survey")]
    (tmp_path / "empty").mkdir()
    write_diagnosis(tmp_path / "empty", begun(bench, tmp_path / "empty").diagnosis)
    assert own_mpi(tmp_path / "empty", {}) is None
