# SPDX-License-Identifier: Apache-2.0
"""The loop over steps, with a bench that measures nothing: what is taken, what ends it, what --resume goes on with."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import Bench, Cost, Prepared
from made_results import finding, leg, results, step
from msgspec.structs import replace

from slowpath.cli import diagnose
from slowpath.core.errors import EnvironmentFailure, Interrupted, UsageError
from slowpath.core.results import Legs, Results
from slowpath.diagnose import session, start
from slowpath.diagnose.asked import Asked
from slowpath.diagnose.clock import EACH_S, BudgetClock
from slowpath.diagnose.own_settings.named import named
from slowpath.diagnose.page.text import render_brief
from slowpath.diagnose.records import SCHEMA, Diagnosis, read_diagnosis, write_diagnosis
from slowpath.diagnose.session import Session
from slowpath.diagnose.start import resume
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.own_state import MOST_S
from slowpath.diagnose.tasks import SurveyTask
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import OwnSetting
from slowpath.run import reopen
from slowpath.run.reopen import Stated


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
    assert made.steps[0].summary == "nothing takes 1.25 times as long as in a clean state"
    assert made.steps[1].summary == "1 fault (SP008)"
    assert read_diagnosis(tmp_path) == made
    again = resume(tmp_path, bench, None, 99.0, name_only=True)  # type: ignore[arg-type]
    assert [one.folder for one in again.run().steps] == ["01-state", "02-survey"]


def test_from_the_survey_on_a_setting_that_slows_down_everything_is_set_aside(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps about the setting itself go before it, with the setting; the survey would take minutes under it."""
    bench.settings = [OwnSetting("UCX_TLS", "tcp"), OwnSetting("UCX_LOG_LEVEL", "info")]
    bench.environ = {"UCX_TLS": "tcp", "UCX_LOG_LEVEL": "info", "HOME": "/"}
    own = named(replace(finding("SP035"), run="01-state", text="With your settings."), [[bench.settings[0]]], [])
    monkeypatch.setattr("slowpath.diagnose.steps.own_state.judged", lambda *_: [own])
    seen: dict[str, set[str]] = {}
    monkeypatch.setattr(
        Bench, "prepare", lambda self, campaign, kind: seen.update({kind: set(self.environ)}) or Prepared(Cost(3.0))
    )
    made = begun(bench, tmp_path).run()
    assert seen["state"] == {"UCX_TLS", "UCX_LOG_LEVEL", "HOME"}
    assert seen["survey"] == {"UCX_LOG_LEVEL", "HOME"}
    survey = next(one for one in made.steps if isinstance(one.task, SurveyTask))
    assert isinstance(survey.task, SurveyTask)
    assert survey.task.aside == ["UCX_TLS"]
    assert [one.name for one in survey.task.settings] == ["UCX_LOG_LEVEL"]
    assert survey.why == "look for slow paths, from here on without UCX_TLS"
    assert made.findings[0].cause == own.cause


def test_the_survey_is_made_whatever_the_budget_and_the_rest_only_if_it_fits(bench: Bench, tmp_path: Path) -> None:
    made = begun(bench, tmp_path, budget_s=5.0).run()
    assert bench.measured == ["01-survey"]
    assert made.status == "budget"
    assert made.next == ["try 'huge pages' against SP008"]


def test_the_engine_judges_all_that_may_not_fit_at_once(bench: Bench, tmp_path: Path) -> None:
    """Each start of an engine with GPU memory takes as long as a launch, and nothing may fit at the end."""
    first = bench.survey.findings[0]
    bench.survey = replace(bench.survey, findings=[first, *(replace(first, id=name) for name in "ab")])
    made = begun(bench, tmp_path, budget_s=5.0).run()
    assert bench.measured == ["01-survey"]
    assert made.status == "budget"
    (others,) = bench.judged
    assert others >= 2, "the survey was taken at once, and then there is one question about all trials but the first"


def test_a_survey_that_the_budget_ended_settles_nothing(bench: Bench, tmp_path: Path) -> None:
    run = bench.survey.run
    bench.survey = replace(
        bench.survey, findings=[], run=replace(run, launches=replace(run.launches, planned=8, done=5, failed=1))
    )
    made = begun(bench, tmp_path).run()
    assert made.status == "budget"
    assert (made.next, made.launches_left_out) == ([], 2)
    assert "The survey ended 2 launches short" in render_brief(made, "folder")


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


def test_after_the_survey_steps_are_estimated_by_how_long_launches_took(bench: Bench, tmp_path: Path) -> None:
    """A launch that hung teaches nothing (run.schedule): a trial of 10 s was taken for one of 60 s, and left out."""
    bench.ratio = 6.0
    made = begun(bench, tmp_path, budget_s=55.0).run()
    assert (bench.measured, bench.paced) == (["01-survey"], [["01-survey"]])
    bench.ratio = 1.0
    resume(tmp_path, bench, 55.0 - made.spent_s, 99.0).run()  # type: ignore[arg-type]
    assert bench.measured == ["01-survey", "02-trial"]
    assert bench.paced == [["01-survey"]] * 2, "a diagnosis that goes on learns from the launches that it finds"


@pytest.mark.parametrize("slowed", [False, True])
def test_a_fault_of_the_user_s_own_state_is_said_as_soon_as_it_is_measured(
    slowed: bool, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict comes at the end of the budget, and whoever reads the first line can end the rest."""
    bench.settings, bench.cost_s = [OwnSetting("UCX_TLS", "tcp")], 3.0
    own = named(replace(finding("SP035"), run="01-state", text="With UCX_TLS=tcp."), [[bench.settings[0]]], [])
    load = finding("SP048", number=1, text="Others keep 2.0 of 2 cores busy.", run="01-state")
    monkeypatch.setattr("slowpath.diagnose.steps.own_state.judged", lambda *_: [load, own] if slowed else [])
    begun(bench, tmp_path).run()
    said = [line for line in bench.told if line.startswith("Fault: ")]
    assert said == ([f"Fault: {load.text}", f"Fault: {own.text}"] if slowed else [])
    step_line = next(line for line in bench.told if line.startswith("01-state: ") and "slower with" not in line)
    assert step_line == ("01-state: 2 faults (SP048, SP035)" if slowed else step_line)
    following = next(line for line in bench.told if line.startswith("02-"))
    assert not said or bench.told.index(said[-1]) < bench.told.index(following)


@pytest.mark.parametrize(("slowed", "taught"), [(False, ["01-state", "02-survey"]), (True, ["02-survey"])])
def test_launches_under_a_setting_that_slowed_them_down_teach_nothing(
    slowed: bool, taught: list[str], bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.settings, bench.cost_s = [OwnSetting("UCX_TLS", "tcp")], 3.0
    own = named(replace(finding("SP035"), run="01-state", text="With your settings."), [[bench.settings[0]]], [])
    monkeypatch.setattr("slowpath.diagnose.steps.own_state.judged", lambda *_: [own] if slowed else [])
    begun(bench, tmp_path, name_only=True).run()
    assert bench.measured == ["01-state", "02-survey"]
    assert bench.paced == [taught]


def test_a_first_trial_is_begun_where_the_pairs_of_a_proof_fit(bench: Bench, tmp_path: Path) -> None:
    """It has 10 pairs, and 8 prove: what is left for 9 of them was left unused."""
    launches_s, kept_back_s = 10.0, 2.0 + 2 * EACH_S + 0.5
    begun(bench, tmp_path, budget_s=launches_s + kept_back_s + 0.85 * launches_s).run()
    assert bench.measured == ["01-survey", "02-trial"]
    (tmp_path / "less").mkdir()
    begun(bench, tmp_path / "less", budget_s=launches_s + kept_back_s + 0.7 * launches_s).run()
    assert bench.measured[2:] == ["01-survey"]


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


def test_a_narrow_verdict_speaks_of_what_was_asked_for(bench: Bench, tmp_path: Path) -> None:
    bench.survey = replace(bench.survey, findings=[replace(bench.survey.findings[0], rule="SP005")])
    made = begun(bench, tmp_path, only=["SP008"], name_only=True).run()
    assert [one.rule for one in made.findings] == ["SP005"]  # kept, and no answer
    assert render_brief(made, "d").startswith("None of the slow paths that you asked for was found on mpich")


def test_a_narrow_survey_is_not_asked_for_what_it_left_out(bench: Bench, tmp_path: Path) -> None:
    begun(bench, tmp_path, only=["SP008"], name_only=True).run()
    with pytest.raises(UsageError, match="covered SP008 and left out lengths; start a new diagnosis"):
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
    assert start.own_mpi(tmp_path, {"PATH": "/opt/openmpi/bin"}) == "/here/mpich/bin/mpiexec"
    assert asked == [("mpich", "5.0.2", tmp_path / "01-survey")]
    (tmp_path / "empty").mkdir()
    write_diagnosis(tmp_path / "empty", begun(bench, tmp_path / "empty").diagnosis)
    assert start.own_mpi(tmp_path / "empty", {}) is None


def test_a_budget_that_a_build_used_up_is_said_and_nothing_is_measured(bench: Bench, tmp_path: Path) -> None:
    diagnosis = begun(bench, tmp_path, budget_s=60.0).diagnosis
    late = Session(tmp_path, bench, diagnosis, clock=BudgetClock(0.0, now=lambda: 75.0))  # type: ignore[arg-type]
    with pytest.raises(EnvironmentFailure, match="75 s of the budget of 60 s had passed before the first launch"):
        late.run()
    assert bench.measured == []


def test_what_conclusions_take_is_kept_back_by_the_number_of_cells() -> None:
    """A survey of 251 cells was cut off at 50 of 60 s, and 13 s went into its results."""
    now_s = [0.0]
    clock = BudgetClock(0.0, now=lambda: now_s[0])
    before_s = clock.left_s(60.0, 0.0, 250)
    assert before_s < 60.0 - 10.0
    now_s[0] = 5.0
    clock.concluded(0.0, 250)
    assert clock.each_s == 5.0 / 250
    assert clock.left_s(60.0, 5.0, 10) == pytest.approx(60.0 - 5.0 - 2.0 - 10 * 5.0 / 250)
    now_s[0] = 8.0
    clock.concluded(5.0, 10)  # findings are judged anew, however few cells a step has
    assert clock.left_s(60.0, 8.0, 10) == pytest.approx(60.0 - 8.0 - 2.0 - 3.0)
    few = BudgetClock(0.0, now=lambda: 2.0)
    few.concluded(0.0, 3)  # the user's own state, before the survey
    assert few.left_s(60.0, 0.0, 250) == pytest.approx(before_s - 2.0 - 2.0 + 3 * few.each_s)


@pytest.mark.parametrize(("words", "counts_from"), [([], "engine"), (["--budget", "2m"], "beginning")])
def test_compiling_an_engine_counts_only_where_a_budget_was_named(
    words: list[str], counts_from: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first default diagnosis on two cores compiled for 210 s and had nothing left of its 120 s."""
    monkeypatch.setattr("slowpath.run.prepare.one_library", lambda *_: None)
    begun_s = time.monotonic() - 210.0
    with diagnose.diagnose_command.make_context("diagnose", list(words)):
        _, explicit, since_s = diagnose._built(None, True, False, begun_s)
    assert explicit == bool(words)
    assert (since_s == begun_s) == (counts_from == "beginning")
    assert since_s == begun_s or time.monotonic() - since_s < 60


@pytest.mark.parametrize(("processors", "is_wrong"), [("0-1", False), ("0", True)])
def test_ranks_that_are_only_counted_are_not_too_many_for_their_processors(
    processors: str, is_wrong: bool, survey: Results
) -> None:
    """A survey of two ranks counts calls of eight: in a cpuset of two processors 17 of 34 diagnoses began with "8 ranks
    may use only processors 16-17 of 32"."""
    place = {"processors": processors, "online": 32, "ranks": 8}
    made = replace(survey, run=replace(survey.run, machine={"place": place}))
    verdict = session.verdict_of([], [MeasuredStep(step(1, SurveyTask(ranks=2)), made)])
    assert verdict.answer is not None
    assert ("may use only" in verdict.answer) is is_wrong
