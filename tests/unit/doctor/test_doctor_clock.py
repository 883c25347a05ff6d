# SPDX-License-Identifier: Apache-2.0
"""The doctor's estimate of the clock's quantum, with clocks whose quantum is known."""

from __future__ import annotations

import random

import pytest

from slowpath.doctor.registry import quantum_ns


def readings(quantum: float, seed: int = 1) -> list[int]:
    """A clock that advances in ticks, rounded to ns, read every 60 to 90 ns with a rare long pause."""
    rng = random.Random(seed)
    now, reads = 0.0, []
    for _ in range(20000):
        now += rng.uniform(60, 90) + (5000 if rng.random() < 1e-3 else 0)
        reads.append(round(now // quantum * quantum))
    return reads


@pytest.mark.parametrize("quantum", [10, 25, 41.67, 100])
def test_the_quantum_of_a_ticking_clock_is_found(quantum: float) -> None:
    assert quantum_ns(readings(quantum)) == pytest.approx(quantum, abs=1)


def test_a_fine_clock_has_no_steps_to_be_seen() -> None:
    assert quantum_ns(readings(1)) == 1
