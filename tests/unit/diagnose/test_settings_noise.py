# SPDX-License-Identifier: Apache-2.0
"""Settings that change nothing, under laws of launches as machines have them: none is named, whatever a survey saw."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from made_results import contrast, results, step
from msgspec.structs import replace
from numpy.random import Generator
from test_settings import settings, surveyed

from slowpath.core.campaign import campaign_toml
from slowpath.core.results import Finding, Results
from slowpath.diagnose.own_settings import again
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, Proposal, State
from slowpath.diagnose.steps.order import conclude
from slowpath.diagnose.steps.settings import MOST_STEPS
from slowpath.diagnose.steps.settings import propose_settings as propose
from slowpath.findings.conclude import group_of
from slowpath.mpi.own_settings import OwnSetting
from slowpath.stats.estimate import Floats

Law = Callable[[Generator, int], Floats]
# Times as long, of launches one after the other, as all cells of a launch have it.
LAWS: Mapping[str, Law] = {
    "normal": lambda random, launches: np.exp(0.05 * random.standard_normal(launches)),
    "heavy tails": lambda random, launches: np.exp(0.03 * random.standard_t(2, launches)),
    "two kinds": lambda random, launches: np.where(random.random(launches) < 0.3, 1.5, 1.0),
    "drift": lambda random, launches: np.exp(0.03 * np.cumsum(random.standard_normal(launches))),
}
OF_A_CELL = 0.02  # spread of its own, logarithmic
DIAGNOSES = 20


def measured(
    proposal: Proposal, own: list[OwnSetting], slow: Callable[[set[str]], float], law: Law, random: Generator
) -> Results:
    """What its campaign would show; the order of the launches of a round is random."""
    campaign: dict[str, Any] = tomllib.loads(campaign_toml(proposal.campaign))
    rounds, names = campaign["campaign"]["rounds"], [environment["name"] for environment in campaign["environment"]]
    order = np.array([random.permutation(len(names)) for _ in range(rounds)])
    launches = np.take_along_axis(law(random, order.size).reshape(order.shape), order, axis=1)
    every = {setting.name for setting in own}
    unset = [set(environment.get("unset", [])) for environment in campaign["environment"]]
    of = {name: slow(every - gone) * column for name, gone, column in zip(names, unset, launches.T, strict=True)}
    made = []
    for contrast_ in campaign["contrast"]:
        own_s = np.exp(OF_A_CELL * random.standard_normal((rounds, 2)))
        pairs = 1e-6 * own_s * np.stack([of[contrast_["a"]], of[contrast_["b"]]], axis=1)
        made.append(contrast(contrast_["name"], [(float(a), float(b)) for a, b in pairs]))
    return results(contrasts=made)


def diagnosed(count: int, seen: float, slow: Callable[[set[str]], float], law: Law, seed: int) -> list[Finding]:
    """Findings where the survey saw a slowdown.  Args: seen: its ratio.  slow: what is there -> times as long."""
    own, random = settings(count), np.random.default_rng(seed)
    first = surveyed(own, lambda there, _: seen if there else 1.0)
    noisy = [replace(finding, ratio=seen, interval=(0.99 * seen, 1.01 * seen)) for finding in first.results.findings]
    steps = [MeasuredStep(first.step, replace(first.results, findings=noisy))]
    for number in range(2, MOST_STEPS + 3):
        findings = conclude(steps).findings
        state = State(findings, steps, LibraryFacts("openmpi", "5.0.11"), {setting.name: "1" for setting in own})
        proposal = next(propose(state), None)
        if proposal is None:
            return list(findings)
        steps.append(MeasuredStep(step(number, proposal.task), measured(proposal, own, slow, law, random)))
    raise AssertionError("no end")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("seen", [1.08, 1.3])
def test_no_fault_where_no_setting_does_anything(law: str, count: int, seen: float) -> None:
    """One diagnosis of three named `OMPI_MCA_btl_vader_single_copy_mechanism` on a machine whose messages go by UCX."""
    ended = [diagnosed(count, seen, lambda _: 1.0, LAWS[law], seed) for seed in range(DIAGNOSES)]
    named = [finding.cause for findings in ended for finding in findings if finding.cause]
    faults = [finding.text for findings in ended for finding in findings if group_of(finding) == "fault"]
    assert len(named) <= 1
    assert len(faults) <= 1


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [1, 4])
def test_the_setting_that_doubles_a_time_is_named(law: str, count: int) -> None:
    bad = settings(count)[-1].name
    ended = [
        diagnosed(count, 2.0, lambda there: 2.0 if bad in there else 1.0, LAWS[law], seed) for seed in range(DIAGNOSES)
    ]
    causes = {finding.cause for findings in ended for finding in findings if finding.cause}
    assert causes <= {f"{bad}=1 makes messages slower."}
    faults = sum(any(group_of(finding) == "fault" for finding in findings) for findings in ended)
    named = sum(any(finding.cause for finding in findings) for findings in ended)
    assert faults >= 0.8 * DIAGNOSES
    if count == 1 or law != "two kinds":  # where a launch in three is 1.5 times slower, which of several stays open
        assert named >= 0.7 * DIAGNOSES


def test_more_contrasts_need_clearer_pairs() -> None:
    logs = np.array([0.05, 0.11, 0.08, 0.12, 0.07])
    every = np.stack([np.ones(5), np.exp(logs)], axis=1)
    assert again(every, 1).seen == "shown"
    assert again(every, 50).seen == "open"
    assert again(every[:, ::-1], 1).seen == "gone"
    assert again(every, 1).words.startswith("with your settings ")
