# SPDX-License-Identifier: Apache-2.0
"""What each message adds: its slope and interval, and no growth in noise, in a warm-up or in a slower launch."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.stats.shapes import LaunchGrowth, growth_of
from support.series import Extra, growing, launch_of, nothing

NUMBERS = np.arange(1, 600)


def of(extra: Extra, *, seed: int = 1, launches: int = 5, base_s: float = 8e-7) -> LaunchGrowth | None:
    random = np.random.default_rng(seed)
    made = [launch_of(random, 599, base_s, extra(NUMBERS, launch), 1e-3) for launch in range(launches)]
    return growth_of([(NUMBERS, times) for times in made])


def test_what_each_message_adds_lies_in_the_interval() -> None:
    found = of(growing(5e-9))
    assert found is not None
    assert found.low < 5e-9 < found.high
    assert found.per_message_s == pytest.approx(5e-9, rel=0.05)
    assert found.p < 1e-4
    assert found.least_s == pytest.approx(8e-7 + 5e-9 * 150, rel=0.1)
    assert found.most_s > 10 * found.least_s  # cells that begin late


@pytest.mark.parametrize(
    "extra",
    [nothing, lambda number, _: 5e-6 * (number < 40), lambda number, launch: np.full(number.size, 1e-6 * launch)],
    ids=["noise", "warm-up", "slower launches"],
)
def test_what_does_not_grow(extra: Extra) -> None:
    for seed in range(20):
        found = of(extra, seed=seed)
        assert found is not None
        assert found.low <= 0 or found.p > 1e-3
