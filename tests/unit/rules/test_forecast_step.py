# SPDX-License-Identifier: Apache-2.0
"""The step `forecast`: what laws predict is written into the task, measured in one run, and decides over the cause."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from made_results import step
from planted_results import KIB, Planted

from slowpath.core.campaign_file import campaign_toml
from slowpath.core.engine_description import CellVerdict, Verdicts
from slowpath.core.plan import Cell
from slowpath.core.results import Finding, LawResult, Results
from slowpath.diagnose.conclusion import conclude
from slowpath.diagnose.records import DiagnosisStep
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, State
from slowpath.diagnose.steps import forecast
from slowpath.diagnose.steps.order import proposals
from slowpath.diagnose.tasks import ForecastTask, SurveyTask, Task
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings

ONE_WAY = "one_way_s"
LIVE = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
PLAIN = {"pattern": "one_way", "memory": "host", "pages": "small", "buffer_bytes": "message"}
Seconds = Callable[[float], float]


def cache(buffers: float) -> float:
    """A cache of 16 entries whose miss costs 60 us."""
    return 2e-5 if buffers <= 16 else 8e-5


def only_in_the_survey(buffers: float) -> float:
    """As the cache at the values of the survey; twice as dear beyond them."""
    return cache(buffers) * (2.0 if buffers > 64 else 1.0)


def measured(time_s: Seconds) -> Results:
    run = Planted(1)
    for live in LIVE:
        run.cell({ONE_WAY: {"steady": time_s(live)}}, **PLAIN, live_buffers=live, message_bytes=64 * KIB)
    found = run.results()
    return msgspec.structs.replace(found, findings=findings(found, ROLES))


def state(survey: Results) -> State:
    of = LibraryFacts("mpich", "5.0.2")
    return State(survey.findings, [MeasuredStep(step(1, SurveyTask()), survey)], of, {})


def proposed(survey: Results) -> tuple[ForecastTask, dict[str, Any]]:
    [one] = forecast.propose(state(survey))
    assert isinstance(one.task, ForecastTask)
    return one.task, tomllib.loads(campaign_toml(one.campaign))


def run_of(campaign: dict[str, Any], time_s: Seconds, phase: float = 1.0) -> Results:
    """What the campaign's cells take.  phase: of the machine, a factor."""
    run = Planted(2)
    for group in campaign["cells"]:
        parameters = dict(group["parameters"])
        times = {ONE_WAY: {"steady": phase * time_s(float(parameters["live_buffers"]))}}
        run.cell(times, **parameters, also={"group": group["name"]})
    return run.results()


def concluded(survey: Results, task: Task, seen: Results) -> Finding:
    done: list[DiagnosisStep] = [step(1, SurveyTask()), step(2, task)]
    [found] = conclude([MeasuredStep(done[0], survey), MeasuredStep(done[1], seen)], []).findings
    return found


def law_of(one: Finding) -> LawResult:
    assert one.law is not None
    return one.law


def later(one: Finding) -> list[bool | None]:
    return [told.held for told in law_of(one).forecasts if told.kind == "later"]


def test_what_is_predicted_stands_in_the_task_with_anchors_of_the_survey() -> None:
    survey = measured(cache)
    task, campaign = proposed(survey)
    [entry] = task.entries
    places = [place.forecast.place["live_buffers"] for place in entry.places]
    assert places[0] == 128
    assert not set(places) & set(LIVE)
    assert all(place.forecast.seen_s is None and place.forecast.interval[0] > 0 for place in entry.places)
    assert {int(one.parameters["live_buffers"]) for one in entry.anchors} <= set(LIVE)
    lives = [float(group["parameters"]["live_buffers"]) for group in campaign["cells"]]
    assert lives == [*(float(one.parameters["live_buffers"]) for one in entry.anchors), *places]
    assert len({(*g["environment"], *g["placement"]) for g in campaign["cells"]}) == 1  # one set of launches
    # It survives the way through diagnosis.json.
    assert msgspec.json.decode(msgspec.json.encode(task), type=Task) == task


@pytest.mark.parametrize("phase", [0.8, 1.0, 1.5])
def test_a_true_law_holds_in_whatever_phase_the_machine_is(phase: float) -> None:
    survey = measured(cache)
    task, campaign = proposed(survey)
    one = concluded(survey, task, run_of(campaign, cache, phase))
    assert (one.rule, law_of(one).name, law_of(one).predicted) == ("SP003", "live buffers", "held")
    assert later(one).count(True) >= 3
    shown = next(told for told in law_of(one).forecasts if told.kind == "later")
    assert shown.text.startswith("predicted 81.5 us [")
    assert "at live buffers 128," in shown.text
    assert ", seen " in shown.text


def test_a_law_that_does_not_hold_beyond_the_survey_is_not_named_and_no_cause_rests_on_it() -> None:
    survey = measured(cache)
    assert law_of(survey.findings[0]).predicted == "held"  # of the points set apart, which lie inside
    task, campaign = proposed(survey)
    one = concluded(survey, task, run_of(campaign, only_in_the_survey))
    law = law_of(one)
    assert (one.rule, one.status, one.cause, law.name, law.predicted) == ("SP003", "observed", None, None, "failed")
    assert law.refused is not None
    assert law.refused.startswith("it depends on live buffers; no law holds: 'live buffers' predicted")
    assert "no law of its growth holds" in one.text
    assert one.remedies
    assert later(one)[0] is False


def test_what_was_not_measured_leaves_the_points_set_apart_to_decide() -> None:
    survey = measured(cache)
    task, _ = proposed(survey)
    one = concluded(survey, task, Planted(2).results())
    assert law_of(one).predicted == "held"
    assert all(told.seen_s is None for told in law_of(one).forecasts if told.kind == "later")


def test_it_is_made_once_after_the_witness_and_not_of_findings_of_later_steps() -> None:
    survey = measured(cache)
    of = state(survey)
    kinds = [type(one.task).__name__ for one in proposals(of)]
    assert kinds.count("ForecastTask") == 1
    assert kinds.index("WitnessTask") < kinds.index("ForecastTask") < kinds.index("RefineTask")
    task, campaign = proposed(survey)
    made = MeasuredStep(step(2, task), run_of(campaign, cache))
    assert not list(forecast.propose(replace(of, measured=[*of.measured, made])))
    elsewhere = [msgspec.structs.replace(one, run="02-suspect") for one in of.findings]
    assert not list(forecast.propose(replace(of, findings=elsewhere)))


def predicted(survey: Results, refuses: str | None = None, name: str = "message_bytes") -> list[dict[str, str]]:
    """Parameters of the places whose times are predicted.  refuses: a value of `name` that the engine can't measure."""

    def check(cells: Sequence[Cell], _: int) -> Verdicts:
        refused = [one.cell for one in cells if one.parameters[name] == refuses]
        return {number: CellVerdict(cell=number, reason="no") for number in refused}

    [one] = forecast.propose(replace(state(survey), check=check))
    assert isinstance(one.task, ForecastTask)
    return [dict(place.parameters) for entry in one.task.entries for place in entry.places]


def test_no_message_is_asked_for_that_its_buffer_does_not_hold() -> None:
    """8 MiB in a buffer of 4 MiB, which the planner refuses, left out the forecasts of all laws."""
    run = Planted(1)
    for length in (8, KIB, 3 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB, 2048 * KIB, 4096 * KIB):
        times = {ONE_WAY: {"first": 9e-6 + 4.5e-10 * length, "steady": 2e-6 + 0.5e-10 * length}}
        run.cell(times, **{**PLAIN, "buffer_bytes": str(4096 * KIB)}, message_bytes=length)
    made = run.results()
    places = predicted(msgspec.structs.replace(made, findings=findings(made, ROLES)))
    assert places
    assert all(int(one["message_bytes"]) <= int(one["buffer_bytes"]) for one in places)


def test_a_place_that_the_engine_refuses_takes_no_other_one_with_it() -> None:
    every = [one["live_buffers"] for one in predicted(measured(cache))]
    kept = [one["live_buffers"] for one in predicted(measured(cache), every[0], "live_buffers")]
    assert kept == every[1:]
    assert kept
