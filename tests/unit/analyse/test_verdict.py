# SPDX-License-Identifier: Apache-2.0
"""The sentences on top of a report."""

from __future__ import annotations

from typing import Any

from slowpath.analyse.verdict import judge


def contrast(name: str, ratio: float | None, verdict: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "group": "path",
        "axis": "environment",
        "a": {"value": "default", "phase": "steady"},
        "b": {"value": "other", "phase": "steady"},
        "a_value_s": 1e-6,
        "b_value_s": ratio and ratio * 1e-6,
        "ratio": ratio,
        "interval": ratio and [0.9 * ratio, 1.1 * ratio],
        "verdict": verdict,
        "control": False,
        "explains": False,
        "minimum_effect": 0.03,
        "usual": "a",
        "where": "1 MiB",
        **changes,
    }


def line(*contrasts: dict[str, Any]) -> dict[str, Any]:
    return judge(contrasts, 0)["lines"][0]


def test_a_default_that_loses_is_a_slow_path_and_the_slower_side_is_named_first() -> None:
    found = line(contrast("x", 0.5, "faster"))
    assert found["level"] == "slow"
    assert found["contrast"] == "x"
    assert found["text"].startswith('path: "default" takes 2.00 times as long as "other" [1.82, 2.22]')


def test_a_default_that_wins_is_a_note() -> None:
    found = line(contrast("x", 4.0, "slower"))
    assert found["level"] == "info"
    assert "the usual way is the faster one" in found["text"]


def test_the_users_own_loss_speaks_before_a_larger_one_that_nobody_chose() -> None:
    assert line(contrast("large", 4.0, "slower"), contrast("mine", 0.7, "faster"))["contrast"] == "mine"


def test_the_usual_side_speaks_before_a_side_that_nobody_is_on() -> None:
    rare = contrast("rare", 4.0, "slower", usual=None)
    assert line(rare, contrast("mine", 0.7, "faster"))["contrast"] == "mine"
    assert line(rare, contrast("won", 2.0, "slower"))["contrast"] == "rare"


def test_a_small_difference_is_not_a_slow_path() -> None:
    assert line(contrast("x", 0.9, "faster"))["level"] == "info"


def test_undecided_is_never_called_no_difference() -> None:
    found = line(contrast("x", 1.1, "undecided"), contrast("y", 1.0, "same"))
    assert found["level"] == "info"
    assert "undecided; 1 same, 1 undecided of 2" in found["text"]


def test_only_all_same_is_ok() -> None:
    assert line(contrast("x", 1.0, "same"), contrast("y", 1.01, "same"))["level"] == "ok"


def test_a_control_that_differs_is_a_warning_about_the_machine() -> None:
    verdict = judge([contrast("x", 1.2, "slower", control=True), contrast("y", 3.0, "slower", group="other")], 0)
    assert verdict["lines"][0]["level"] == "warning"
    assert "unsteady" in verdict["lines"][0]["text"]


def test_what_was_not_measured_is_counted_in_the_headline() -> None:
    verdict = judge([contrast("x", None, None)], 2)
    assert verdict["headline"].endswith("2 cells could not be measured")
    assert "not measured" in verdict["lines"][0]["text"]


def test_same_where_measured_is_ok_and_the_rest_is_counted() -> None:
    found = line(contrast("x", 1.0, "same"), contrast("y", None, None))
    assert found["level"] == "ok"
    assert "in 1 of 1 contrasts; 1 more could not be measured" in found["text"]


def test_what_a_contrast_explains_is_no_slow_path() -> None:
    slow = contrast("x", 12.0, "slower", usual=None)
    assert judge([slow], 0)["lines"][0]["level"] == "slow"
    verdict = judge([{**slow, "explains": True}], 0)
    assert verdict["lines"][0]["level"] == "info"
    assert verdict["headline"].startswith("No slow path")
