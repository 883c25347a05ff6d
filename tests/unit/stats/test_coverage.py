# SPDX-License-Identifier: Apache-2.0
"""What the intervals and verdicts promise, counted over simulated launches with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.stats.contrast import benjamini_hochberg, judge, paired, within_launch
from slowpath.stats.estimate import Floats, estimate_over_launches, quantile_interval

TRIALS = 2000


@pytest.mark.parametrize("launches", [3, 5, 6, 10])
def test_interval_over_launches_holds_the_truth(launches: int) -> None:
    rng = np.random.default_rng(launches)
    medians = np.exp(rng.normal(0, 0.02, (TRIALS, launches)))
    estimates = [estimate_over_launches(row) for row in medians]
    hits = np.mean([f.low is not None and f.high is not None and f.low <= 1 <= f.high for f in estimates])
    assert 0.93 <= hits <= 0.98


def test_interval_over_samples_of_one_launch_does_not() -> None:
    """Why the launch is the unit: 1000 samples of one launch, whose own level is off by 2 %."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        samples = np.exp(rng.normal(0, 0.02) + rng.normal(0, 0.03, 1000))
        interval = quantile_interval(samples)
        assert interval is not None
        hits += interval.contains(1.0)
    assert hits / 300 < 0.2


@pytest.mark.parametrize("pairs", [3, 5, 8])
def test_same_against_same_is_rarely_a_difference(pairs: int) -> None:
    rng = np.random.default_rng(100 + pairs)
    decided = 0
    for _ in range(TRIALS):
        a, b = np.exp(rng.normal(0, 0.02, (2, pairs)))
        estimate = paired(a, b, 0.0)
        decided += judge(estimate, estimate.p).word in ("faster", "slower")
    assert 0.015 <= decided / TRIALS <= 0.065


def test_equivalence_is_claimed_wrongly_at_most_one_time_in_twenty() -> None:
    """The true ratio stands exactly on the limit: "same" is wrong."""
    rng = np.random.default_rng(7)
    same = 0
    for _ in range(TRIALS):
        a, b = np.exp(rng.normal(0, 0.005, (2, 8)))
        estimate = paired(a, b * 1.03, 0.03)
        same += judge(estimate, estimate.p).word == "same"
    assert same / TRIALS <= 0.06


def campaign(rng: np.random.Generator, cells: int, effects: Floats) -> list[str]:
    estimates = [paired(*(np.exp(rng.normal(0, 0.02, (2, 8))) * [[1.0], [1.0 + e]]), 0.03) for e in effects[:cells]]
    adjusted = benjamini_hochberg([1.0 if f.p is None else f.p for f in estimates])
    return [judge(f, float(p)).word for f, p in zip(estimates, adjusted, strict=True)]


def test_a_campaign_of_fifty_contrasts_finds_what_is_there_and_little_else() -> None:
    rng = np.random.default_rng(50)
    effects = np.zeros(50)
    effects[:3] = 0.08
    campaigns = [campaign(rng, 50, effects) for _ in range(60)]
    detected = np.mean([word == "slower" for words in campaigns for word in words[:3]])
    any_false = np.mean([any(w in ("slower", "faster") for w in words[3:]) for words in campaigns])
    assert detected >= 0.9
    assert any_false <= 0.12


def test_exact_rank_sum_within_a_launch_keeps_its_level() -> None:
    rng = np.random.default_rng(11)
    rejected = sum((within_launch(*np.exp(rng.normal(0, 0.3, (2, 5))), 0.0).p or 1.0) <= 0.05 for _ in range(TRIALS))
    assert 0.015 <= rejected / TRIALS <= 0.05
