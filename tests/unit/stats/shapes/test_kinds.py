# SPDX-License-Identifier: Apache-2.0
"""Two kinds of launches: a coin of each launch is found, one cell alone or a phase of the machine is not."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.stats.shapes import TOO_FEW_RUNS, kinds_of, suspected

BASES = np.array([8e-7, 7e-6, 8e-5])


def times(random: np.random.Generator, launches: int, slow: np.ndarray, more_s: float = 2e-5) -> np.ndarray:
    """5 % of noise that the cells of a launch share, 2 % of their own."""
    noise = random.normal(0, 0.05, launches) + random.normal(0, 0.02, (3, launches))
    return np.asarray(BASES[:, None] * np.exp(noise) + more_s * slow)


@pytest.mark.parametrize("seed", range(1, 11))
def test_a_coin_of_each_launch_is_found_in_each_of_its_launches(seed: int) -> None:
    random = np.random.default_rng(seed)
    slow = random.integers(0, 2, 24).astype(bool)
    found = kinds_of(times(random, 24, slow))
    assert found is not None
    assert found.slow.tolist() == slow.tolist()
    assert set(found.cells) >= {0, 1}  # 20 us are a quarter of the longest message, too near to the noise
    assert found.order_p > TOO_FEW_RUNS


def test_clean_launches_are_of_one_kind() -> None:
    random = np.random.default_rng(1)
    found = [kinds_of(times(random, 24, np.zeros(24))) for _ in range(500)]
    assert sum(one is not None and one.order_p > TOO_FEW_RUNS for one in found) <= 2


def test_a_slow_phase_of_the_machine_has_another_order() -> None:
    random = np.random.default_rng(1)
    found = kinds_of(times(random, 24, np.arange(24) >= 13))
    assert found is not None
    assert found.order_p < TOO_FEW_RUNS


def test_suspicion_needs_three_cells_that_agree() -> None:
    random = np.random.default_rng(1)
    base = times(random, 5, np.zeros(5))
    slow = np.array([0, 0, 1, 0, 1])
    assert suspected(times(random, 5, slow, 1e-3))
    assert suspected(times(random, 5, np.array([0, 1, 0, 0, 0]), 1e-3))
    assert not suspected(base)
    base[:2] += 1e-3 * slow
    assert not suspected(base)
