# SPDX-License-Identifier: Apache-2.0
"""Switches lie where times jump, and not where neighbouring points could be joined by a line that no protocol has."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from slowpath.stats.laws.choose import choose
from slowpath.stats.laws.known import BY_BYTE, CONSTANT, FEWEST_SIZES, SEGMENTS
from slowpath.stats.laws.law import Sweep, make_sweep

LAWS = (CONSTANT, BY_BYTE, SEGMENTS)
OCTAVES = [float(first * 2**power) for power in range(3, 17) for first in (2, 3)]
NEAR = [8000.0, 8112.0, 8128.0, 8256.0, 8448.0, 9216.0]


def jumps(lengths: list[float], seed: int, noise_ratio: float = 0.02) -> Sweep:
    """MPICH 5.0.2 in shared memory: 1.90 us for 8112 bytes, 3.25 us for 8128."""
    x = np.array(sorted(lengths))
    times_s = np.where(x <= 8112, 4e-7 + x * 1.85e-10, 2.7e-6 + x * 6.8e-11)
    random = np.random.default_rng(seed)
    return make_sweep({"message_bytes": x}, times_s * random.lognormal(0, noise_ratio, (6, x.size)))


@pytest.mark.parametrize("seed", range(6))
def test_a_jump_between_near_neighbours_is_the_switch(seed: int) -> None:
    winner = choose(jumps([*OCTAVES, *NEAR], seed), LAWS).winner
    assert winner is not None
    assert winner.name == "segments"
    assert (8112, 8128) in [(one.above, one.up_to) for one in winner.brackets]


@pytest.mark.parametrize("seed", range(4))
def test_no_stretch_costs_less_than_nothing_and_none_is_shorter_than_four_lengths(seed: int) -> None:
    """A cost that grows faster and faster, as where caches end: lines through its end would meet 0 bytes below 0 s."""
    x = np.array(OCTAVES)
    random = np.random.default_rng(seed)
    sweep = make_sweep({"message_bytes": x}, (1e-6 + (x / 3e4) ** 2 * 1e-5) * random.lognormal(0, 0.02, (6, x.size)))
    fits = [one for one in choose(sweep, LAWS).fits if one.name == "segments"]
    assert fits
    for fit in fits:
        assert all(term.value >= 0 for term in fit.coefficients)
        ends = [0.0, *(one.up_to for one in fit.brackets), np.inf]
        assert all(((a <= x) & (x < b)).sum() >= FEWEST_SIZES for a, b in pairwise(ends))
