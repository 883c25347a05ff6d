# SPDX-License-Identifier: Apache-2.0
"""What a trial proves and what it does not, on planted times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slowpath.diagnose.judge import judge_trial, removed_ratio, stayed

Json = dict[str, Any]
ABOUT = {"finding": "SP009:0", "remedy": "unset X", "constant_s": None, "control": "it is short"}


def outcome(
    contrast_of: Callable[..., Json],
    slow: float = 3e-3,
    remedied: float = 1e-3,
    fast: float = 1e-3,
    control: float | None = 1.0,
    pairs: int = 10,
    alike: float = 1.0,
) -> Json:
    contrasts = [
        contrast_of("remedy", remedied, slow, pairs),
        contrast_of("remedy again", remedied, slow, pairs, seed=2),
        contrast_of("a/a", slow, slow * alike, pairs, seed=3),
    ]
    if fast != remedied:
        contrasts.append(contrast_of("gap", fast, slow, pairs, seed=1))
    if control is not None:
        contrasts.append(contrast_of("negative control", 1e-6, control * 1e-6, pairs, seed=4))
    return judge_trial(ABOUT | {"fast": None if fast == remedied else "0"}, {"contrasts": contrasts, "run": {}})


def test_a_remedy_that_removes_the_gap_while_the_control_stays_is_proven(contrast_of: Callable[..., Json]) -> None:
    found = outcome(contrast_of)
    assert found["verdict"] == "proven"
    assert found["leg"]["state"] == "shown"
    assert found["removed_ratio"]["value"] == pytest.approx(1.0, abs=0.05)
    low, high = found["removed_ratio"]["interval"]
    assert low <= found["removed_ratio"]["value"] <= high


@pytest.mark.parametrize(
    ("planted", "verdict", "state", "word"),
    [
        ({"remedied": 2.4e-3}, "partial", "missing", "half is asked for"),
        ({"remedied": 3e-3, "fast": 3e-3}, "no effect", "refuted", "changes nothing"),
        ({"remedied": 6e-3}, "worse", "refuted", "slower"),
        ({"control": 1.5}, "partial", "missing", "control did not stay"),
        ({"control": None}, "partial", "missing", "nothing is known"),
        ({"pairs": 5}, "partial", "missing", "8 are the least"),
        ({"alike": 1.3}, "partial", "missing", "two measurements"),
        ({"fast": 3.2e-3, "remedied": 2.8e-3}, "partial", "missing", "gap"),
    ],
)
def test_anything_less_is_not_proven_and_says_why(
    contrast_of: Callable[..., Json], planted: Json, verdict: str, state: str, word: str
) -> None:
    found = outcome(contrast_of, **planted)
    assert (found["verdict"], found["leg"]["state"]) == (verdict, state)
    assert word in found["reason"]


def test_half_of_the_gap_is_half() -> None:
    found = removed_ratio([3.0] * 8, [2.0] * 8, [1.0] * 8)
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert removed_ratio([1.0, 1.1] * 4, [1.0] * 8, [1.1, 1.0] * 4) is None


def test_a_trial_without_pairs_is_not_tried(contrast_of: Callable[..., Json]) -> None:
    found = judge_trial(ABOUT, {"contrasts": [], "run": {}})
    assert found["verdict"] == "not tried"
    assert found["leg"]["state"] == "missing"


def test_a_control_stays_only_when_half_of_the_effect_is_outside_of_its_interval() -> None:
    near = {"verdict": "undecided", "ratio": 1.02, "interval": [0.96, 1.09]}
    assert stayed({"verdict": "same", "ratio": 1.01, "interval": [1.0, 1.02]}, 1.05)
    assert stayed(near, 1.3)
    assert not stayed(near, 1.1)
    assert not stayed(near | {"interval": [0.7, 1.5]}, 1.3)
    assert not stayed(near | {"interval": None}, 5.0)
    assert not stayed(near | {"ratio": 1.2}, 5.0)
    assert not stayed(near | {"verdict": "slower", "ratio": 1.08}, 5.0)
    assert not stayed({"verdict": None, "ratio": None, "interval": None}, 5.0)


def test_a_control_that_noise_hides_is_undecided_and_not_said_to_have_moved(contrast_of: Callable[..., Json]) -> None:
    contrasts = [
        contrast_of("remedy", 1e-3, 3e-3),
        contrast_of("remedy again", 1e-3, 3e-3, seed=2),
        contrast_of("negative control", 1e-6, 1e-6, seed=5),
    ]
    contrasts[2] |= {"verdict": "undecided", "ratio": 1.05, "interval": [0.4, 2.6]}
    found = judge_trial(ABOUT, {"contrasts": contrasts, "run": {}})
    assert found["verdict"] == "partial"
    assert found["reason"] == "the negative control is undecided; more rounds would tell"


def test_one_disturbed_copy_does_not_hide_the_effect(contrast_of: Callable[..., Json]) -> None:
    contrasts = [
        contrast_of("remedy", 1e-3, 3e-3),
        contrast_of("remedy again", 1e-3, 3e-3, seed=2),
        contrast_of("a/a", 3e-3, 3e-3, seed=3),
        contrast_of("negative control", 1e-6, 1e-6, seed=4),
    ]
    contrasts[0]["pairs"][0][0] *= 200
    contrasts[1]["pairs"][5][0] *= 200
    found = judge_trial(ABOUT, {"contrasts": contrasts, "run": {}})
    assert found["verdict"] == "proven"
    assert found["ratio"] == pytest.approx(3.0, rel=0.1)
