# SPDX-License-Identifier: Apache-2.0
"""No law from noise."""

from __future__ import annotations

import numpy as np
import pytest
from planting import GIB, KIB, MIB, plant

from slowpath.stats.laws.choose import choose
from slowpath.stats.laws.known import BY_BYTE, CONSTANT

TRIALS = 60
DESIGNS = {
    "lengths of messages": {"message_bytes": [float(2**k) for k in range(3, 23)]},
    "lengths of allocations": {
        "allocation_bytes": [float(b + r) for b in (64 * MIB, 256 * MIB, GIB) for r in (0, 1, 64 * KIB, 2 * MIB)]
    },
    "live buffers": {"live_buffers": [1.0, 2, 4, 8, 16, 32, 64, 128]},
    "repetitions": {"repetition": [float(n) for n in range(1, 17)]},
    "in flight": {"in_flight": [float(2**k) for k in range(8)]},
    "blocks": {"blocks": [1.0, 4, 16, 64, 256, 1024]},
}


@pytest.mark.needs("minutes")
@pytest.mark.parametrize("launches", [3, 8])
@pytest.mark.parametrize("design", DESIGNS)
def test_noise_alone_gives_a_law_in_a_few_per_cent_of_sweeps(design: str, launches: int) -> None:
    covariates = DESIGNS[design]
    points = len(next(iter(covariates.values())))
    named = []
    for seed in range(TRIALS):
        sweep = plant(seed, covariates, [2e-5] * points, launches=launches, noise=0.05)
        winner = choose(sweep).winner
        if winner is not None and winner.name != "constant":
            named.append((seed, winner.name, winner.shape))
    # At a true rate of 3 % more than 5 of 60 come about once in a hundred times; measured: 1 in 1440.
    assert len(named) <= 5, named


def test_an_effect_below_the_smallest_that_counts_is_no_law() -> None:
    sizes = [float(2**k) for k in range(3, 23)]
    sweep = plant(1, {"message_bytes": sizes}, [1e-5 * (1 + 0.02 * n / sizes[-1]) for n in sizes], noise=0.001, wild=0)
    choice = choose(sweep, [CONSTANT, BY_BYTE])
    assert choice.winner is not None
    assert choice.winner.name == "constant"


def test_points_that_follow_no_law_are_refused_and_the_worst_is_named() -> None:
    random = np.random.default_rng(2)
    sizes = [float(2**k) for k in range(3, 19)]
    choice = choose(plant(2, {"message_bytes": sizes}, (1e-5 * np.exp(random.normal(0, 1, 16))).tolist(), noise=0.01))
    assert choice.winner is None
    assert choice.refused is not None
    assert "the best law, leaves" in choice.refused
    assert "message_bytes=" in choice.refused
