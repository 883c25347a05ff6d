# SPDX-License-Identifier: Apache-2.0
"""More launches are started where cells of the survey agree on which launches are slow, once."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence

import numpy as np
from made_results import cell, estimate, results, step
from msgspec.structs import replace
from planted_switch import state

from slowpath.core.campaign import campaign_toml
from slowpath.core.results import Results
from slowpath.diagnose.state import Asked, MeasuredStep
from slowpath.diagnose.steps.again import LAUNCH_ROUNDS, LENGTHS
from slowpath.diagnose.steps.order import proposals
from slowpath.diagnose.tasks import SurveyTask


def survey(slow: Sequence[int], cells: int = 3, more_s: float = 1e-4) -> Results:
    """Five launches, of which some are slow in some of four cells."""
    random = np.random.default_rng(1)
    made = []
    for number in range(4):
        times = 1e-5 * np.exp(random.normal(0, 0.02, 5)) + more_s * np.isin(np.arange(5), slow) * (number < cells)
        one = cell(number, {"message_bytes": "8", "messages": "600", "pattern": "one_way"}, times.tolist())
        metric = next(iter(one.metrics.values()))
        made.append(replace(one, metrics={"one_way_s": replace(metric, phases={"steady": estimate(times.tolist())})}))
    return results(made)


def kinds(of: Results, *more: MeasuredStep) -> list[str]:
    return [one.task.kind for one in proposals(state([], [MeasuredStep(step(1, SurveyTask()), of), *more]))]


def test_launches_that_several_cells_call_slow_are_started_again() -> None:
    assert kinds(survey([1, 3])) == ["launches"]
    assert kinds(survey([2])) == ["launches"]
    text = campaign_toml(next(proposals(state([], [MeasuredStep(step(1, SurveyTask()), survey([2]))]))).campaign)
    campaign = tomllib.loads(text)
    assert campaign["campaign"]["rounds"] == LAUNCH_ROUNDS
    assert campaign["cells"][0]["parameters"]["message_bytes"] == list(LENGTHS)


def test_who_asks_for_the_rule_gets_its_launches() -> None:
    surveyed = [MeasuredStep(step(1, SurveyTask()), survey([]))]
    for rule, expected in (("SP029", ["launches"]), ("SP064", [])):
        asked = dataclasses.replace(state([], surveyed), asked=Asked(frozenset({rule})))
        assert [one.task.kind for one in proposals(asked)] == expected
