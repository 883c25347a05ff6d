# SPDX-License-Identifier: Apache-2.0
"""What the screening points at is measured alone, all factors in one campaign; what does not show alone is doubted."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from made_results import METRIC, cell, contrast, results, step
from msgspec.structs import replace
from planted_switch import state

from slowpath.core.campaign import campaign_toml
from slowpath.core.results import Finding, Results
from slowpath.diagnose.state import Asked, MeasuredStep, Proposal
from slowpath.diagnose.steps.kind import StepConclusion
from slowpath.diagnose.steps.order import conclude, kind_of, proposals
from slowpath.diagnose.tasks import SingleTask, SurveyTask
from slowpath.experiments.registry import ROLES
from slowpath.plan.campaign import decode
from slowpath.plan.expand import MpiInUse, expand, screened
from slowpath.slowpaths.evaluate import findings

AXES = {
    "offset_bytes": ["0", "1:0", "0:1", "1"],
    "order": ["forward", "shuffled"],
    "idle_s": ["0", "0.001"],
    "direction": ["forward", "reverse"],
}
Parameters = Mapping[str, str]


@pytest.fixture
def screening(ping_pong: dict[str, str]) -> Callable[[Callable[[Parameters], float]], Results]:
    """A survey that is a screening alone; how many times as long each of its runs takes."""

    def make(cost: Callable[[Parameters], float]) -> Results:
        noise = np.random.default_rng(5)
        cells = [
            cell(
                number,
                {**ping_pong, "message_bytes": "65536", **point},
                (7e-6 * cost(point) * np.exp(noise.normal(0, 0.02, 5))).tolist(),
            )
            for number, point in enumerate(screened(AXES, AXES).points())
        ]
        made = results(cells)
        return replace(made, findings=findings(made, ROLES))

    return make


def off_page(point: Parameters) -> float:
    return 2.0 if point["offset_bytes"].startswith("1") else 1.0


def surveyed(made: Results) -> MeasuredStep:
    return MeasuredStep(step(1, SurveyTask()), made)


def asked_next(made: Results, only: frozenset[str] = frozenset()) -> Proposal | None:
    here = replace_asked(state(made.findings, [surveyed(made)]), only)
    return next((one for one in proposals(here) if isinstance(one.task, SingleTask)), None)


def replace_asked(here: Any, only: frozenset[str]) -> Any:
    from dataclasses import replace as changed

    return changed(here, asked=Asked(rules=only))


def test_a_clear_factor_is_varied_alone_over_starts_and_lengths(
    screening: Callable[..., Results], description: dict[str, Any]
) -> None:
    proposal = asked_next(screening(off_page))
    assert proposal is not None
    assert proposal.task == SingleTask(factors=["offset_bytes of the sender"], parameters=["offset_bytes"])
    (group,) = tomllib.loads(campaign_toml(proposal.campaign))["cells"]
    assert group["parameters"]["offset_bytes"] == ["0", "1:0", "64:0", "2048:0", "4096:0"]
    assert len(group["parameters"]["message_bytes"]) >= 6
    assert group["parameters"]["order"] == "forward"
    # With the pattern that the survey has, the engine's planner takes it.
    text = campaign_toml(proposal.campaign).replace('"ping_pong"', '"one_way"').replace(METRIC, "one_way_s")
    plan = expand(decode(text.encode(), "single"), description, [MpiInUse("mpich", "mpi", lambda _: ({}, None))], 1)
    assert len(plan.cells) == 30
    assert len(plan.contrasts) == 24


def alone(ping_pong: dict[str, str], ratio: float) -> Results:
    """The sender's start alone, at one length."""
    noise, times = np.random.default_rng(6), {}
    for number, offset in enumerate(("0", "1:0")):
        slow = ratio if number else 1.0
        times[offset] = (7e-6 * slow * np.exp(noise.normal(0, 0.02, 6))).tolist()
    cells = [
        cell(number, {**ping_pong, "message_bytes": "65536", "offset_bytes": offset}, values)
        for number, (offset, values) in enumerate(times.items())
    ]
    pairs = list(zip(times["0"], times["1:0"], strict=True))
    one = contrast("start alone", pairs)
    sides = [replace(side, value=value) for side, value in zip((one.a, one.b), times, strict=True)]
    made = results(cells, contrasts=[replace(one, axis="offset_bytes", a=sides[0], b=sides[1])])
    return replace(made, findings=findings(made, ROLES))


def concluded(screening: Callable[..., Results], ping_pong: dict[str, str], ratio: float) -> tuple[Finding, str]:
    made = screening(off_page)
    task = SingleTask(factors=["another name of it"], parameters=["offset_bytes"])
    steps = [surveyed(made), MeasuredStep(step(2, task), alone(ping_pong, ratio))]
    before, after = conclude(steps[:1], []), conclude(steps, [])
    assert isinstance(after, StepConclusion)
    (one,) = after.findings
    assert one.rule == "SP031"
    return one, kind_of(task).summary(task, before, after)


def test_what_shows_alone_takes_the_screening_s_place(
    screening: Callable[..., Results], ping_pong: dict[str, str]
) -> None:
    one, words = concluded(screening, ping_pong, 2.0)
    assert one.contrasts
    assert one.run == "02-single"
    assert one.doubts == []
    assert words == "SP031 by itself"
