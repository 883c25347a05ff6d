# SPDX-License-Identifier: Apache-2.0
"""Periods in messages: found where they were planted, and not in noise that has another order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from slowpath.stats.shapes import Period, period_of
from support.series import Extra, every, launch_of, nothing

NUMBERS = np.arange(1, 600)


def of(
    extra: Extra, *, seed: int = 1, messages: int = 599, base_s: float = 7e-6, burst_s: float = 1e-3
) -> Period | None:
    random = np.random.default_rng(seed)
    numbers = NUMBERS[:messages]
    launches = [launch_of(random, messages, base_s, extra(numbers, launch), burst_s) for launch in range(5)]
    return period_of([(numbers, times) for times in launches])


@pytest.mark.parametrize(
    ("period", "slow"),
    [(2, 1), (3, 1), (4, 2), (5, 4), (7, 1), (8, 1), (9, 1), (17, 1), (64, 1), (100, 1), (128, 1), (64, 2)],
)
def test_a_period_is_found_with_its_slow_places(period: int, slow: int) -> None:
    found = of(every(period, 2e-4, slow))
    assert found is not None
    assert (found.every, found.slow) == (period, slow)
    assert found.p < 1e-9
    assert [one.slow for one in found.launches] != [found.launches[0].slow] * 5  # the phase is each launch's own
    for one in found.launches:
        assert one.slow_s - one.fast_s == pytest.approx(2e-4, rel=0.1)


def test_an_alternation_by_a_third_is_found_in_twenty_messages() -> None:
    found = of(every(2, 0.33 * 7e-6), messages=20, burst_s=0.0)
    assert found is not None
    assert (found.every, found.slow) == (2, 1)
    assert found.p < 1e-6


def test_a_stall_of_half_a_message_in_64_is_found() -> None:
    found = of(every(64, 3.5e-6))
    assert found is not None
    assert found.every == 64


@pytest.mark.parametrize("seed", range(40))
def test_noise_with_bursts_has_none(seed: int) -> None:
    found = of(nothing, seed=seed)
    assert found is None or found.p > 1e-3


def test_a_drift_and_a_step_have_none() -> None:
    assert of(lambda number, _: 1e-8 * number) is None
    assert of(lambda number, _: 1e-5 * (number > 300)) is None


# Series in which nothing alternates: times of messages, over their base.
Series = Callable[[np.random.Generator, int], np.ndarray]
