# SPDX-License-Identifier: Apache-2.0
"""Each law, planted with noise, is named, and its coefficients lie where they were planted."""

from __future__ import annotations

import pytest
from planting import GIB, KIB, MIB, plant

from slowpath.stats.laws.choose import Choice, choose
from slowpath.stats.laws.known import LAWS
from slowpath.stats.laws.law import Sweep

pytestmark = pytest.mark.needs("minutes")

SEEDS = range(10)
POWERS = [float(2**k) for k in range(3, 23)]


def constant(seed: int) -> Sweep:
    return plant(seed, {"message_bytes": POWERS}, [3e-6] * 20)


def by_bytes(seed: int) -> Sweep:
    return plant(seed, {"message_bytes": POWERS}, [1.2e-6 + n / 10e9 for n in POWERS])


LENGTHS = [16.0 * MIB, 48.0 * MIB, 128.0 * MIB, 256.0 * MIB, 512.0 * MIB, 1024.0 * MIB]


def by_allocation(seed: int) -> Sweep:
    lengths, messages = [*LENGTHS, *(n + 4096 for n in LENGTHS)], [4096.0, MIB] * 6
    return plant(seed, {"allocation_bytes": lengths, "message_bytes": messages}, [2e-5 + 3e-13 * n for n in lengths])


REMAINDERS = (0, 1, 8 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB, 2 * MIB)


def granule_time(length: float) -> float:
    whole = -(-int(length) // 4096) * 4096
    page, cost = next((p, c) for p, c in ((2 * MIB, 0.0), (64 * KIB, 220e-9), (4 * KIB, 19e-9)) if whole % p == 0)
    return 1e-3 + cost * -(-whole // page)


def by_granules(seed: int) -> Sweep:
    lengths = [float(base + r) for base in (256 * MIB, GIB) for r in REMAINDERS]
    return plant(seed, {"allocation_bytes": lengths}, [granule_time(n) for n in lengths])


def by_segments(seed: int) -> Sweep:
    return plant(
        seed,
        {"message_bytes": POWERS},
        [1.2e-6 + n / 6e9 if n <= 8192 else 5e-6 + n / 12e9 for n in POWERS],
        noise=0.01,
    )


# Law -> how it is planted, and its coefficients by name.
PLANTS = {
    "constant": (constant, {"constant": 3e-6}),
    "bytes": (by_bytes, {"constant": 1.2e-6, "transfer": 1e-10}),
    "allocation": (by_allocation, {"by length": 3e-13}),
    "granules": (by_granules, {"4 KiB granules": 19e-9, "64 KiB granules": 220e-9}),
    "segments": (by_segments, {"constant 1": 1.2e-6, "transfer 1": 1 / 6e9, "transfer 2": 1 / 12e9}),
}


@pytest.fixture(scope="module")
def chosen() -> dict[str, list[Choice]]:
    return {name: [choose(plant_it(seed)) for seed in SEEDS] for name, (plant_it, _) in PLANTS.items()}


def test_each_law_of_the_registry_is_planted() -> None:
    assert set(PLANTS) == {law.name for law in LAWS}
    assert {law.name for law in LAWS} >= set(PLANTS)


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_law_is_named_and_no_other(chosen: dict[str, list[Choice]], name: str) -> None:
    named = [c.winner.name if c.winner else None for c in chosen[name]]
    assert set(named) <= {name, None}, [(n, c.refused) for n, c in zip(named, chosen[name], strict=True)]
    assert named.count(name) >= 9, [(c.refused, [f.name for f in c.fits]) for c in chosen[name]]


@pytest.mark.parametrize("name", PLANTS)
def test_its_coefficients_lie_in_their_intervals_and_near(chosen: dict[str, list[Choice]], name: str) -> None:
    inside, all_of_them = 0, 0
    for choice in chosen[name]:
        if choice.winner is None:
            continue
        by_name = {term.name: term for term in choice.winner.coefficients}
        for term, planted in PLANTS[name][1].items():
            assert by_name[term].value == pytest.approx(planted, rel=0.1)
            interval = by_name[term].interval
            assert interval is not None
            inside += interval[0] <= planted <= interval[1]
            all_of_them += 1
    # 95 % nominal; the launches drift by 5 % in one direction, which an interval over launches covers.
    assert inside >= 0.85 * all_of_them


def test_limits_are_bracketed(chosen: dict[str, list[Choice]]) -> None:
    expected = {"segments": (8192, 16384)}
    for name, ends in expected.items():
        for choice in chosen[name]:
            if choice.winner is not None:
                (bracket,) = choice.winner.brackets
                assert bracket.above <= ends[0]
                assert bracket.up_to >= ends[1]
    for choice in chosen["granules"]:
        assert choice.winner is not None
        ends = [(b.above, b.up_to) for b in choice.winner.brackets]
        assert [low < page <= high for (low, high), page in zip(ends, (64 * KIB, 2 * MIB), strict=True)] == [True, True]
