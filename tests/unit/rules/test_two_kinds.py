# SPDX-License-Identifier: Apache-2.0
"""Launches of one environment that are of two kinds speak against the environment as the cause."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.findings.facts import are_of_two_kinds

# Intel MPI 2021.18, 10 launches: one-way messages of 1 MiB, by the library's own path and by the network's, us.
OWN = (786, 678, 652, 624, 610, 827, 720, 93.7, 727, 652)
NETWORK = (119, 114, 129, 95.4, 99.3, 98.6, 96.1, 137, 113, 96.8)


def test_one_launch_that_reaches_the_other_side_is_enough() -> None:
    assert are_of_two_kinds(OWN, NETWORK)
    assert not are_of_two_kinds([one for one in OWN if one > 200], NETWORK), "all of them are slow"
    assert not are_of_two_kinds(NETWORK, OWN), "the fast side is no excess"


@pytest.mark.parametrize("ratio", [1.1, 1.5, 3.0, 10.0])
@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
def test_noise_is_not_taken_for_two_kinds(ratio: float, spread: float) -> None:
    source = np.random.default_rng(7)
    seen = [
        are_of_two_kinds(ratio * np.exp(source.normal(0, spread, 10)), np.exp(source.normal(0, spread, 10)))
        for _ in range(400)
    ]
    assert sum(seen) <= 8, "one in fifty at most"
