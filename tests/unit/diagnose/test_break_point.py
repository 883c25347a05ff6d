# SPDX-License-Identifier: Apache-2.0
"""A limit found to the byte from planted times, and none invented where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.diagnose.limits import MOST_STEPS_TO_THE_BYTE, around, narrow, points
from slowpath.diagnose.steps.limits import has_anchors
from slowpath.stats.laws.choose import is_exact
from slowpath.stats.laws.law import Bracket


def times(values: tuple[int, ...], limit: float, jump: float, seed: int, noise: float = 0.02) -> np.ndarray:
    """6 launches of t = 1 us + n / 5 GB/s, `jump` times as long beyond the limit; a launch drifts as a whole."""
    generator = np.random.default_rng(seed)
    x = np.array(values, dtype=np.float64)
    plain = (1e-6 + x / 5e9) * np.where(x > limit, jump, 1.0)
    drift = 1 + 0.05 * generator.standard_normal((6, 1))
    return plain * drift * (1 + noise * generator.standard_normal((6, x.size)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("jump", [1.3, 0.7])
def test_a_random_limit_is_found_to_the_byte(seed: int, jump: float) -> None:
    limit = int(np.random.default_rng(seed).integers(5000, 900_000))
    low = 1 << (limit.bit_length() - 1)
    bracket = Bracket("message_bytes", float(low), float(2 * low))
    for step in range(MOST_STEPS_TO_THE_BYTE):
        values = points(bracket)
        found = narrow(bracket, values, times(values, limit, jump, 100 * seed + step))
        assert found.seen
        assert found.bracket.above <= limit < found.bracket.up_to
        bracket = found.bracket
        if is_exact(bracket):
            break
    assert (bracket.above, bracket.up_to) == (limit, limit + 1)
    assert found.jump_ratio == pytest.approx(jump, rel=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_no_limit_is_invented_on_a_smooth_curve(seed: int) -> None:
    bracket = Bracket("message_bytes", 65536.0, 131072.0)
    values = points(bracket)
    found = narrow(bracket, values, times(values, 1e12, 1.0, seed))
    assert not found.seen
    assert found.bracket == bracket


@pytest.mark.parametrize("limit", [2, 3, 7, 40])
def test_a_limit_of_few_buffers_is_confirmed_with_anchors_or_left_unclear(limit: int) -> None:
    """There are no numbers of buffers below 1: limits of 4 and more have enough below them."""
    wider = around(Bracket("live_buffers", limit, limit + 1))
    values = points(wider, exact=limit)
    assert has_anchors(wider, values) == (limit >= 3), "else it stays unclear, and the diagnosis goes on"
    assert wider.above <= limit < wider.up_to
