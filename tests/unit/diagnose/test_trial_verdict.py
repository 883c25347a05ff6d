# SPDX-License-Identifier: Apache-2.0
"""What a trial proves and what it does not, on planted times."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from made_results import contrast, finding, leg, planted_contrast, results, step
from msgspec.structs import replace

from slowpath.core.results import ContrastResult, Legs
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory
from slowpath.diagnose.steps.trial import apply
from slowpath.diagnose.tasks import FastSide, TrialTask
from slowpath.diagnose.trials import Gap, TrialOutcome, judge_trial
from slowpath.findings.finding import cost

TASK = TrialTask(
    finding="SP009:00000000", remedy="unset X", axis="environment", slow="default", remedied="without X",
    metric="one_way_s", phase="steady", control="it is short", fast_side="remedied",
)  # fmt: skip


def outcome(
    slow: float = 3e-3,
    remedied: float = 1e-3,
    fast: float = 1e-3,
    control: float | None = 1.0,
    pairs: int = 10,
    alike: float = 1.0,
    fast_remedied: float | None = None,
) -> TrialOutcome:
    """fast_remedied: None: the remedy changes nothing on the fast side."""
    contrasts = [
        planted_contrast("remedy", remedied, slow, pairs),
        planted_contrast("remedy again", remedied, slow, pairs, seed=2),
        planted_contrast("a/a", slow, slow * alike, pairs, seed=3),
    ]
    kind: FastSide = "remedied" if fast == remedied else "unchanged"
    if fast_remedied is not None:
        kind = "toggled"
        contrasts.append(planted_contrast("fast side", fast_remedied, fast, pairs, seed=1))
        contrasts.append(planted_contrast("fast side again", fast_remedied, fast, pairs, seed=5))
    elif fast != remedied:
        contrasts.append(planted_contrast("fast side", fast, fast, pairs, seed=1))
    if control is not None:
        contrasts.append(planted_contrast("negative control", 1e-6, control * 1e-6, pairs, seed=4))
    return judge_trial(replace(TASK, fast_side=kind), results(contrasts=contrasts))


def test_a_remedy_that_removes_the_gap_while_the_control_stays_is_proven() -> None:
    found = outcome()
    assert found.verdict == "proven"
    assert found.leg.state == "shown"
    assert found.removed_ratio.value == pytest.approx(1.0, abs=0.05)
    low, high = found.removed_ratio.interval
    assert low <= found.removed_ratio.value <= high


def test_a_control_that_changed_by_a_few_percent_does_not_hide_a_large_effect() -> None:
    contrasts = [
        planted_contrast("remedy", 1e-7, 5e-6),
        planted_contrast("remedy again", 1e-7, 5e-6, seed=2),
        planted_contrast("negative control", 1e-6, 1.04e-6, seed=4),
    ]
    contrasts[2] = replace(contrasts[2], verdict="slower", ratio=1.038, interval=(1.003, 1.049))
    found = judge_trial(replace(TASK, fast_side="remedied"), results(contrasts=contrasts))
    assert found.verdict == "proven"
    assert "hardly changed" in " ".join(found.leg.evidence)


@pytest.mark.parametrize(
    ("planted", "verdict", "state", "word"),
    [
        ({"remedied": 2.4e-3}, "partial", "missing", "a proof needs at least half"),
        ({"remedied": 3e-3, "fast": 3e-3}, "no effect", "refuted", "changes nothing"),
        ({"remedied": 6e-3}, "worse", "refuted", "slower"),
        ({"control": 1.5}, "partial", "missing", "control may have changed as well"),
        ({"control": None}, "partial", "missing", "no control is known"),
        ({"pairs": 5}, "partial", "missing", "a proof needs 8"),
        ({"alike": 1.3}, "partial", "missing", "two measurements"),
        ({"fast": 3.2e-3, "remedied": 2.8e-3}, "partial", "missing", "gap"),
    ],
)
def test_anything_less_is_not_proven_and_says_why(planted: dict[str, Any], verdict: str, state: str, word: str) -> None:
    found = outcome(**planted)
    assert (found.verdict, found.leg.state) == (verdict, state)
    assert word in found.reason


def gap(slow: list[float], remedied: list[float], fast: list[float], fast_remedied: list[float] | None = None) -> Gap:
    return Gap(*(np.array(one) for one in (slow, remedied, fast, fast_remedied or fast)))


def test_a_remedy_that_speeds_up_both_sides_removes_nothing_of_the_gap() -> None:
    """As an info key does to a lock (45 to 26.5 ns) and to a flush (36.5 to 18.9 ns): the cost of the lock remains."""
    found = outcome(slow=45e-9, remedied=26.5e-9, fast=36.5e-9, fast_remedied=18.9e-9)
    assert (found.verdict, found.leg.state) == ("both sides", "refuted")
    assert found.removed_ratio.value == pytest.approx(0.1, abs=0.05)
    assert re.search(
        r"speeds up both sides, the slow one by 1[78]\S* ns and the fast one by 1[678]\S* ns", found.reason
    )
    assert "worth having, but 1" in found.reason
    assert re.search(r"the fast side takes 1[78]\S* ns in place of 3[4-7]\S* ns", " ".join(found.leg.evidence))


def control(verdict: str | None, ratio: float | None, interval: tuple[float, float] | None) -> ContrastResult:
    return contrast("negative control", verdict=verdict, ratio=ratio, interval=interval)


EXPLAINED = Legs(observed=leg("shown"), explained=leg("shown"), proven=leg())


def after(found: TrialOutcome) -> StepConclusion:
    """The conclusion after a trial of a finding of 3x that was explained."""
    seen = finding("SP009", status="explained", cause="It is.", legs=EXPLAINED, excess_s=2e-3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slowpath.diagnose.steps.trial.judge_trial", lambda *_: found)
        history = StepHistory(step(2, TASK), [], ())
        return apply(StepConclusion([seen]), TASK, results(), history)


def test_what_the_trial_s_own_pairs_show_again_stays() -> None:
    found = outcome(remedied=2.9e-3)
    assert found.gap is not None
    assert found.gap.again == "shown"
    assert [one.status for one in after(found).findings] == ["explained"]


def test_what_noise_hides_from_them_is_not_explained_and_goes_last() -> None:
    """A finding of 2.71x stood first, explained, after ten pairs that took from 0.5x to 2x."""
    found = outcome()
    times = np.array([1.0, 2.0] * 5)
    hidden = Gap(times * 1e-3, times * 1e-3, times[::-1] * 1e-3, times[::-1] * 1e-3)
    assert hidden.again == "open"
    [one] = after(dataclasses.replace(found, verdict="partial", leg=leg("missing"), gap=hidden)).findings
    assert (one.status, one.cause) == ("observed", None)
    assert one.hypotheses == ["It is."]
    assert one.doubts == ["10 pairs of a trial did not show the gap again"]
    assert cost(one)[1] < cost(finding("SP009", excess_s=1e-6))[1]
    [proven] = after(dataclasses.replace(found, gap=hidden)).findings
    assert proven.status == "proven"
