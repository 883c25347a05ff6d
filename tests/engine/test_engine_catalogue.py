# SPDX-License-Identifier: Apache-2.0
"""What the engine says of its experiments is what Python says of them: metrics and parameters' roles."""

from __future__ import annotations

import os

import pytest

from slowpath.core.engine_description import DescribedExperiment, EngineDescription, decode
from slowpath.experiments.experiment import Experiment
from slowpath.experiments.metric import RATES
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.run.engine.cache import Engine
from slowpath.run.engine.describe import describe

# Measured by no engine: slowpath-ipc is a program of its own, and imported logs have times of other programs.
WITHOUT_ENGINE = ("ipc", "printed")
MEASURED = [one for one in EXPERIMENTS if one.name not in WITHOUT_ENGINE]


@pytest.fixture(scope="module")
def description(engine: Engine) -> EngineDescription:
    return decode(describe(engine, os.environ))


@pytest.fixture(params=MEASURED, ids=lambda one: one.name)
def both(request: pytest.FixtureRequest, description: EngineDescription) -> tuple[Experiment, DescribedExperiment]:
    """An experiment as Python and as the engine have it."""
    return request.param, description.experiment(request.param.name)


def test_python_knows_every_experiment_of_the_engine(description: EngineDescription) -> None:
    assert {one.name for one in description.experiments} == {one.name for one in MEASURED}


def test_roles_are_those_of_the_engine(both: tuple[Experiment, DescribedExperiment]) -> None:
    ours, described = both
    assert dict(ours.roles) == {parameter.name: parameter.role for parameter in described.parameters}


def test_metrics_are_those_of_the_engine(both: tuple[Experiment, DescribedExperiment]) -> None:
    ours, described = both
    rates = {rate.name: rate for rate in RATES}
    theirs = [metric for metric in described.metrics if metric.name not in rates]
    declared = {metric.name: metric for metric in (*ours.metrics, *ours.beside)}
    assert {metric.name for metric in theirs} == set(declared)
    for metric in theirs:
        mine = declared[metric.name]
        assert (metric.unit, metric.better, metric.meaning) == (mine.unit, mine.better, mine.meaning)
        assert (metric.bandwidth, metric.message_rate) == (mine.bandwidth, mine.message_rate)
    for metric in described.metrics:
        if metric.name in rates:
            assert (metric.unit, metric.better) == (rates[metric.name].unit, rates[metric.name].better)


def test_patterns_yield_what_the_engine_says(both: tuple[Experiment, DescribedExperiment]) -> None:
    ours, described = both
    for pattern in ours.patterns:
        theirs = {metric.name for metric in described.metrics if metric.pattern == pattern.name}
        assert {metric.name for metric in pattern.metrics} <= theirs
    assert described.parameter("pattern").choices is not None
    assert {pattern.name for pattern in ours.patterns} == set(described.parameter("pattern").choices or ())
    assert ours.patterns[0].name == described.parameter("pattern").default


def test_a_brief_measurement_sets_parameters_that_exist(both: tuple[Experiment, DescribedExperiment]) -> None:
    ours, described = both
    names = {parameter.name for parameter in described.parameters}
    assert set(ours.brief) <= names
    for effect in ours.side_effects:
        assert set(effect.parameters) <= names
