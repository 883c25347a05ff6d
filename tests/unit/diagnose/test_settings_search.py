# SPDX-License-Identifier: Apache-2.0
"""The search for the responsible settings, against oracles that know the answer: alone, together, with noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
import pytest

from slowpath.diagnose.own_settings import Outcome, Responsible, Set, ToTry, rounds_for, search, share

Oracle = Callable[[Set], Outcome]


def searched(count: int, oracle: Oracle, most: int = 12) -> tuple[Responsible | ToTry, list[int]]:
    """The answer, and how many sets each campaign took away."""
    seen: dict[Set, Outcome] = {}
    campaigns: list[int] = []
    for _ in range(most):
        found = search(count, seen)
        if isinstance(found, Responsible) or found.again:
            return found, campaigns
        assert not set(found.sets) & set(seen)
        campaigns.append(len(found.sets))
        seen |= {one: oracle(one) for one in found.sets}
    raise AssertionError(f"no answer after {campaigns}")


def all_of(*responsible: int) -> Oracle:
    """Slow as long as any of them is there."""
    return lambda gone: "gone" if set(responsible) <= gone else "stays"


def any_of(*responsible: int) -> Oracle:
    """Slow only while all of them are there."""
    return lambda gone: "gone" if set(responsible) & gone else "stays"


@pytest.mark.parametrize(("count", "sets"), [(2, 2), (4, 4), (6, 6), (7, 6), (13, 8), (32, 10), (64, 12)])
def test_one_responsible_setting_is_found_in_one_campaign(count: int, sets: int) -> None:
    for number in range(count):
        assert searched(count, all_of(number)) == (Responsible(((number,),)), [sets])


@pytest.mark.parametrize("count", [2, 5, 7, 13, 20])
def test_two_that_are_slow_together_are_both_named(count: int) -> None:
    """Either may go; where there are few, one campaign says so."""
    for one, other in combinations(range(count), 2):
        found, campaigns = searched(count, any_of(one, other))
        assert isinstance(found, Responsible)
        assert sorted(found.sets) == [(one,), (other,)]
        assert len(campaigns) <= 3
        assert sum(campaigns) <= 16


def test_what_fails_without_is_never_named() -> None:
    """Setting 5 is needed to start, as long as 6 is there."""

    def oracle(gone: Set) -> Outcome:
        return "failed" if 5 in gone and 6 not in gone else all_of(2)(gone)

    for count in (7, 13):
        assert searched(count, oracle)[0] == Responsible(((2,),))


def test_an_outcome_that_noise_hides_is_asked_for_again() -> None:
    found, _ = searched(4, lambda gone: "unclear" if 2 in gone else "stays")
    assert found == ToTry((frozenset({2}),), again=True)


def pairs(generator: np.random.Generator, ratio: float, rounds: int, noise: float) -> np.ndarray:
    """Without a set and as it is: the slowdown that the set makes, seconds."""
    spread = 1 + noise * np.abs(generator.standard_normal((rounds, 2)))
    return np.array([1e-5, 1e-5 * ratio]) * spread


@pytest.mark.parametrize("ratio", [1.15, 1.5, 3.0])
def test_with_noise_a_named_setting_is_the_right_one(ratio: float) -> None:
    """Never another one; at most one run in ten stays open."""
    generator = np.random.default_rng(7)
    rounds, still_open = rounds_for(ratio), 0

    def oracle(gone: Set) -> Outcome:
        seen = share(
            pairs(generator, ratio if 11 in gone else 1.0, rounds, 0.04), pairs(generator, ratio, rounds, 0.04)
        )
        return seen.outcome if seen else "unclear"

    for _ in range(100):
        found, _ = searched(13, oracle)
        if isinstance(found, ToTry):
            still_open += 1
        else:
            assert found == Responsible(((11,),))
    assert still_open <= 10 if ratio > 1.2 else 100


def test_a_share_needs_a_slowdown() -> None:
    flat = np.full((5, 2), 1e-5)
    assert share(flat, flat) is None
    slow = np.tile([1e-5, 2e-5], (5, 1))
    assert share(slow[:1], slow) is None
    seen: Iterable[Outcome] = [one.outcome for made in (slow, flat) if (one := share(made, slow))]
    assert list(seen) == ["gone", "stays"]
    half = np.tile([1e-5, 2**0.5 * 1e-5], (5, 1))
    some = share(half, slow)
    assert some is not None
    assert (some.outcome, round(some.value, 2)) == ("partly", 0.5)
