# SPDX-License-Identifier: Apache-2.0
"""Where laws are put to the test, and what is seen there in another run, on a machine in another phase."""

from __future__ import annotations

import numpy as np
import pytest
from planting import GIB, KIB, MIB, plant

from slowpath.stats.laws.curve import curve
from slowpath.stats.laws.fit import fit
from slowpath.stats.laws.forecasts import Anchor, anchors, new_places, seen, to_measure
from slowpath.stats.laws.granules import alignment
from slowpath.stats.laws.predict import verdict
from slowpath.stats.laws.registry import find
from slowpath.stats.laws.sweep import Sweep

LIVE = [1.0, 2, 4, 8, 12, 16, 24, 32, 48, 64]
LENGTHS = [float(n * MIB) for n in (2, 4, 8, 16, 24, 32, 48, 64)]


def cache(seed: int = 1) -> Sweep:
    return plant(seed, {"live_buffers": LIVE}, [2e-5 if n <= 16 else 8e-5 for n in LIVE], launches=5)


def by_length(seed: int) -> Sweep:
    return plant(seed, {"allocation_bytes": LENGTHS, "buffer_bytes": LENGTHS}, [2e-5 + 1e-12 * n for n in LENGTHS])


def test_one_beyond_one_between_and_one_on_either_side_of_the_limit() -> None:
    sweep = cache()
    places = [place["live_buffers"] for place in new_places(fit(find("live buffers"), sweep), sweep)]
    assert places[0] == 128  # beyond
    assert any(12 < one < 16 for one in places)
    assert any(24 < one < 32 for one in places)
    assert not set(places) & set(LIVE)
    assert not any(16 < one < 24 for one in places)  # inside the bracket nothing is predicted


def test_between_a_few_bytes_and_many_lies_a_length_above_none() -> None:
    lengths = [8.0, 17000.0, 64.0 * KIB, 256.0 * KIB, MIB]
    sweep = plant(1, {"message_bytes": lengths}, [1e-6 + n / 10e9 for n in lengths])
    places = [place["message_bytes"] for place in new_places(fit(find("bytes"), sweep), sweep)]
    assert min(places) == 369


def test_a_buffer_that_is_as_long_as_its_message_follows_it() -> None:
    covariates = {"allocation_bytes": LENGTHS, "message_bytes": LENGTHS}
    sweep = plant(1, covariates, [1e-6 + n / 10e9 for n in LENGTHS])
    places = new_places(fit(find("bytes"), sweep), sweep)
    assert places
    assert all(place["allocation_bytes"] == place["message_bytes"] for place in places)


def test_a_buffer_is_asked_for_as_long_as_its_allocation_is_to_be() -> None:
    sweep = by_length(1)
    places = new_places(fit(find("allocation"), sweep), sweep)
    assert places[0]["allocation_bytes"] == 128 * MIB
    assert all(place["buffer_bytes"] == place["allocation_bytes"] for place in places)


def test_granules_are_asked_for_remainders_that_were_not_seen_of_an_alignment_that_was() -> None:
    bases, rests = (256 * MIB, GIB), (0, 1, 8 * KIB, 64 * KIB, 256 * KIB, MIB, 2 * MIB)
    lengths = [float(base + rest) for base in bases for rest in rests]
    asked = [float(base) for base in bases for _ in rests]
    page = {4 * KIB: 19e-9, 8 * KIB: 19e-9, 64 * KIB: 220e-9, 256 * KIB: 220e-9, MIB: 220e-9}
    size = {4 * KIB: 4 * KIB, 8 * KIB: 4 * KIB}
    times = []
    for length in lengths:
        least = int(alignment(np.array([length]))[0])
        granule = size.get(least, 64 * KIB)
        times.append(1e-3 + page.get(least, 0.0) * -(-length // granule))
    sweep = plant(3, {"allocation_bytes": lengths, "buffer_bytes": asked}, times)
    places = new_places(fit(find("granules"), sweep), sweep)
    assert places
    assert {place["buffer_bytes"] for place in places} <= set(asked)
    found = [place["allocation_bytes"] for place in places]
    assert not set(found) & set(lengths)
    assert set(alignment(np.array(found))) <= set(alignment(np.array(lengths)))


def test_longer_messages_than_a_switch_was_seen_at_are_another_thing() -> None:
    lengths = [float(2**k) for k in range(3, 23)]
    times = [1.2e-6 + n / 6e9 if n <= 8192 else 5e-6 + n / 12e9 for n in lengths]
    sweep = plant(1, {"message_bytes": lengths}, times, noise=0.01)
    places = [place["message_bytes"] for place in new_places(fit(find("segments"), sweep), sweep)]
    assert max(places) < lengths[-1]
    assert any(4096 < one < 8192 for one in places)
    assert any(16384 < one < 32768 for one in places)


@pytest.mark.parametrize("phase", [0.7, 1.0, 1.6])
def test_what_a_slow_phase_adds_is_taken_off_by_the_anchors(phase: float) -> None:
    outcomes = []
    for seed in range(20):
        sweep = by_length(seed)
        centre = curve(sweep)
        made = to_measure(fit(find("allocation"), sweep), sweep, centre)
        chosen = anchors(sweep, 4)
        places = [LENGTHS[n] for n in chosen] + [one.place["allocation_bytes"] for one in made]
        times = [phase * (2e-5 + 1e-12 * n) for n in places]
        again = plant(seed + 500, {"allocation_bytes": places}, times, launches=6)
        points = [Anchor(float(centre.centre_s[n]), float(np.exp(1.96 * centre.sigma_ratio[n]))) for n in chosen]
        outcomes.append(verdict(seen(made, points, again.launch_s)))
    assert outcomes.count("held") >= 19, outcomes
    assert "failed" not in outcomes


def test_a_cost_that_levels_off_beyond_the_sweep_fails_there() -> None:
    sweep = by_length(2)
    centre = curve(sweep)
    made = to_measure(fit(find("allocation"), sweep), sweep, centre)
    chosen = anchors(sweep, 4)
    places = [LENGTHS[n] for n in chosen] + [one.place["allocation_bytes"] for one in made]
    again = plant(7, {"allocation_bytes": places}, [2e-5 + 1e-12 * min(n, 64 * MIB) for n in places], launches=6)
    points = [Anchor(float(centre.centre_s[n]), float(np.exp(1.96 * centre.sigma_ratio[n]))) for n in chosen]
    judged = seen(made, points, again.launch_s)
    assert verdict(judged) == "failed"
    assert [one.held for one in judged].count(False) == 1


def test_without_anchors_nothing_is_judged_and_a_place_that_was_not_measured_is_left_out() -> None:
    sweep = cache()
    centre = curve(sweep)
    made = to_measure(fit(find("live buffers"), sweep), sweep, centre)
    times = np.full((6, 1 + len(made)), 2e-5)
    times[:, 0] = np.nan
    assert seen(made, [Anchor(2e-5, 1.02)], times) == made
    times[:, 0], times[:, 1] = 2e-5, np.nan
    judged = seen(made, [Anchor(2e-5, 1.02)], times)
    assert judged[0].seen_s is None
    assert all(one.seen_s is not None for one in judged[1:])
