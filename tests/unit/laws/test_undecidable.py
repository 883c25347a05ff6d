# SPDX-License-Identifier: Apache-2.0
"""Where the points can't tell two laws apart, none is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from planting import MIB, make_sweep, plant

from slowpath.stats.laws.choose import choose
from slowpath.stats.laws.fit import curve, fit_on
from slowpath.stats.laws.known import ALLOCATION, BY_BYTE, CONSTANT, GRANULES

Time = Callable[[dict[str, float]], float]


def measured(times: Time, places: list[dict[str, float]], seed: int = 1) -> object:
    covariates = {name: [place[name] for place in places] for name in places[0]}
    return plant(seed, covariates, [times(place) for place in places])


MESSAGES = [float(2**k) for k in range(12, 25)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("truth", ["bytes", "allocation"])
def test_message_and_allocation_of_one_length(truth: str, seed: int) -> None:
    key = {"bytes": "message_bytes", "allocation": "allocation_bytes"}[truth]
    places = [{"message_bytes": n, "allocation_bytes": n} for n in MESSAGES]
    sweep = measured(lambda place: 2e-6 + place[key] / 10e9, places, seed)
    choice = choose(sweep, [CONSTANT, BY_BYTE, ALLOCATION])
    assert choice.winner is None
    assert choice.refused is not None


@pytest.mark.parametrize("seed", range(5))
def test_granules_where_all_lengths_have_the_same_remainder(seed: int) -> None:
    lengths = [float(k * 64 * MIB + 1) for k in (1, 2, 4, 8, 16)]
    sweep = plant(seed, {"allocation_bytes": lengths}, [1e-3 + 19e-9 * np.ceil(n / 4096) for n in lengths])
    choice = choose(sweep)
    # The one alignment leaves no classes: only the length can be named, and the reason is given for the others.
    assert choice.winner is None or choice.winner.name == "allocation"
    assert fit_on(GRANULES, sweep, curve(sweep)) is None


def test_without_noise_identical_curves_are_refused_in_these_words() -> None:
    times = [[1e-6 + n / 1e10 for n in MESSAGES]] * 3
    sweep = make_sweep({"message_bytes": MESSAGES, "allocation_bytes": MESSAGES}, times)
    choice = choose(sweep, [BY_BYTE, ALLOCATION])
    assert choice.winner is None
    assert choice.refused is not None
    assert "fit about equally well" in choice.refused


@pytest.mark.needs("minutes")
def test_wrong_laws_are_not_named_over_many_draws() -> None:
    """Message and allocation nearly tied (a remainder of a page): whichever is true, the other is not claimed."""
    wrong = 0
    for seed in range(60):
        lengths = [n + 4096.0 * (k % 2) for k, n in enumerate(float(2**p) for p in range(18, 28))]
        messages = [float(2**p) for p in range(18, 28)]
        sweep = plant(seed, {"message_bytes": messages, "allocation_bytes": lengths}, [5e-6 + n / 8e9 for n in lengths])
        winner = choose(sweep, [CONSTANT, BY_BYTE, ALLOCATION]).winner
        wrong += winner is not None and winner.name == "bytes"
    assert wrong == 0
