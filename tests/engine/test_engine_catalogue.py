# SPDX-License-Identifier: Apache-2.0
"""What the engine says of its experiments is what Python says of them: metrics and parameters' roles."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from slowpath.core.files import data_folder
from slowpath.experiments.experiment import RATES, Experiment
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.run.engine.cache import Engine
from slowpath.run.engine.describe import describe

RECORDED = data_folder("schema") / "engine.json"
# Measured by no engine: imported logs have times of other programs.
WITHOUT_ENGINE = ("printed",)
MEASURED = [experiment for experiment in EXPERIMENTS if experiment.name not in WITHOUT_ENGINE]
ONLY_OURS = {"name", "not_across"}  # of a metric: what it is found by, and the judge's
Json = dict[str, Any]
Both = tuple[Experiment, Json]


@pytest.fixture(scope="module")
def described(engine: Engine) -> dict[str, Json]:
    """The engine's own description of each experiment."""
    return {experiment["name"]: experiment for experiment in describe(engine, os.environ)["experiments"]}


@pytest.fixture(params=MEASURED, ids=lambda experiment: experiment.name)
def both(request: pytest.FixtureRequest, described: dict[str, Json]) -> Both:
    """An experiment as Python and as the engine have it."""
    return request.param, described[request.param.name]


def test_the_recorded_description_is_that_of_the_engine(engine: Engine) -> None:
    """Dry runs plan with it where no engine is built. tools/generate-docs says how it is recorded anew."""
    assert json.loads(RECORDED.read_text()) == describe(engine, os.environ)


def test_python_knows_every_experiment_of_the_engine(described: dict[str, Json]) -> None:
    assert set(described) == {experiment.name for experiment in MEASURED}


def test_roles_are_those_of_the_engine(both: Both) -> None:
    ours, theirs = both
    assert dict(ours.roles) == {parameter["name"]: parameter["role"] for parameter in theirs["parameters"]}


def test_metrics_are_those_of_the_engine(both: Both) -> None:
    ours, theirs = both
    rates = {rate.name: rate for rate in RATES}
    declared = {metric.name: metric for metric in (*ours.metrics, *ours.counted)}
    assert {metric["name"] for metric in theirs["metrics"]} - set(rates) == set(declared)
    for metric in theirs["metrics"]:
        mine = declared.get(metric["name"]) or rates[metric["name"]]
        shared = ("unit", "better") if metric["name"] in rates else vars(mine).keys() - ONLY_OURS
        assert {name: metric[name] for name in shared} == {name: getattr(mine, name) for name in shared}


def test_patterns_yield_what_the_engine_says(both: Both) -> None:
    ours, theirs = both
    pattern = next(parameter for parameter in theirs["parameters"] if parameter["name"] == "pattern")
    assert sorted(pattern.name for pattern in ours.patterns) == sorted(pattern["choices"])
    assert ours.patterns[0].name == pattern["default"]
    for own_pattern in ours.patterns:
        yielded = {metric["name"] for metric in theirs["metrics"] if metric["pattern"] == own_pattern.name}
        assert {metric.name for metric in own_pattern.metrics} == yielded - {
            metric.name for metric in (*RATES, *ours.counted)
        }


def test_a_brief_measurement_sets_parameters_that_exist(both: Both) -> None:
    ours, theirs = both
    names = {parameter["name"] for parameter in theirs["parameters"]}
    assert set(ours.brief) <= names
    for effect in ours.side_effects:
        assert set(effect.parameters) <= names
