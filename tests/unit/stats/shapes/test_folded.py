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


def test_a_period_of_two_launches_of_five_hides_none_that_all_have() -> None:
    """Intel MPI's messages of 8 B have every fourth one slow in some launches: more of them than of a stall in 32."""

    def both(numbers: np.ndarray, launch: int) -> np.ndarray:
        fourth = every(4, 3e-6)(numbers, launch) if launch in (0, 2) else 0.0
        stall: np.ndarray = every(32, 2e-2)(numbers, launch) + fourth
        return stall

    found = of(both, messages=319, base_s=2e-7, burst_s=0.0)
    assert found is not None
    assert (found.every, found.slow) == (32, 1)


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


@pytest.mark.parametrize("messages", [10.6, 21.3, 31.4, 40.5, 64.3, 110.7])
@pytest.mark.parametrize("seed", range(5))
def test_a_timer_that_is_no_whole_number_of_messages_has_none(seed: int, messages: float) -> None:
    """One stall each 31.4 messages: after three of them the count is off by one."""

    def timer(number: np.ndarray, launch: int) -> np.ndarray:
        ticks = np.floor((number + 5 * seed + launch) / messages)
        return np.asarray(1e-4 * np.diff(np.concatenate([[ticks[0]], ticks])))

    found = of(timer, seed=seed)
    assert found is None or found.p > 1e-3


def test_a_drift_and_a_step_have_none() -> None:
    assert of(lambda number, _: 1e-8 * number) is None
    assert of(lambda number, _: 1e-5 * (number > 300)) is None


def test_equal_times_have_none() -> None:
    assert period_of([(NUMBERS, np.full(599, 1e-6))] * 3) is None


def test_too_few_messages_have_none() -> None:
    assert of(every(2, 1e-3), messages=15) is None
    assert period_of([]) is None


def test_a_random_half_that_is_slow_has_none() -> None:
    coin = np.random.default_rng(5)
    found = of(lambda number, _: 1e-5 * coin.integers(0, 2, number.size))
    assert found is None or found.p > 1e-3


# Series in which nothing alternates: times of messages, over their base.
Series = Callable[[np.random.Generator, int], np.ndarray]


def _reverting(share: float) -> Series:
    """Each message makes up for a share of what the one before took too long."""

    def series(random: np.random.Generator, messages: int) -> np.ndarray:
        noise, found = 0.05 * random.standard_normal(messages), np.zeros(messages)
        for number in range(messages):
            found[number] = noise[number] - share * (found[number - 1] if number else 0.0)
        return np.exp(found)

    return series


def _two_states(leaves: float) -> Series:
    """1.1x and 1x; the chance that the next message is in the other state."""

    def series(random: np.random.Generator, messages: int) -> np.ndarray:
        state = np.cumsum(random.random(messages) < leaves) % 2
        return np.where(state == 1, 1.1, 1.0) * np.exp(0.01 * random.standard_normal(messages))

    return series


def _of_a_timer(messages_between: float) -> Series:
    """1.1x where it strikes."""

    def series(random: np.random.Generator, messages: int) -> np.ndarray:
        place = (np.arange(messages) + messages_between * random.random()) % messages_between
        return np.where(place < 1.0, 1.1, 1.0) * np.exp(0.01 * random.standard_normal(messages))

    return series


def _drifting(random: np.random.Generator, messages: int) -> np.ndarray:
    return np.linspace(1.0, 1.3, messages) * np.exp(0.02 * random.standard_normal(messages))


def _of_two_launches(random: np.random.Generator, messages: int) -> np.ndarray:
    return random.choice([1.0, 1.3]) * np.exp(0.02 * random.standard_normal(messages))


def _read_in_steps(random: np.random.Generator, messages: int) -> np.ndarray:
    """A clock with steps of a tenth of a message."""
    length = 11.5 + 0.2 * random.standard_normal()
    reads = random.random() + np.cumsum(length + 0.02 * random.standard_normal(messages + 1))
    return np.diff(np.floor(reads))


NOT_ALTERNATING: dict[str, Series] = {
    **{f"reverting {share}": _reverting(share) for share in (0.3, 0.5, 0.8)},
    **{f"two states {leaves}": _two_states(leaves) for leaves in (0.02, 0.5, 0.7, 0.9, 0.95)},
    **{f"timer of {between}": _of_a_timer(between) for between in (2.02, 2.1, 2.37, 3.05)},
    "drifting": _drifting,
    "two launches": _of_two_launches,
    "read in steps": _read_in_steps,
}


def _alternates(series: Series, seed: int, messages: int = 200) -> bool:
    random = np.random.default_rng([seed, 27])
    found = period_of([(np.arange(messages), series(random, messages)) for _ in range(5)])
    return found is not None and found.every <= 8 and found.p <= 1e-3


@pytest.mark.parametrize("messages", [40, 200])
@pytest.mark.parametrize("kind", NOT_ALTERNATING)
def test_what_does_not_alternate_is_not_said_to(kind: str, messages: int) -> None:
    """Two runs in which nothing alternated had `every second message`, by 1.09x. A timer of nearly a whole number
    of messages is told from a count in 200 of them, and not in 40: the rule asks for more than that.
    """
    found = sum(_alternates(NOT_ALTERNATING[kind], seed, messages) for seed in range(20))
    assert found == 0 or (messages == 40 and kind in ("timer of 2.02", "timer of 3.05"))


def test_what_alternates_by_a_tenth_is() -> None:
    def series(random: np.random.Generator, messages: int) -> np.ndarray:
        place = (np.arange(messages) + random.integers(2)) % 2
        return np.where(place == 1, 1.09, 1.0) * np.exp(0.02 * random.standard_normal(messages))

    assert sum(_alternates(series, seed) for seed in range(20)) == 20


def test_places_that_change_within_a_launch_are_no_period() -> None:
    """A timer of 2.01 messages keeps step with every second one for a hundred of them."""
    number = np.arange(200)
    moved = np.where((number + number // 100) % 2 == 0, 1.1, 1.0) + 1e-3 * np.sin(number)
    assert period_of([(number, moved)] * 5) is None
