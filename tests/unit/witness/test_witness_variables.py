# SPDX-License-Identifier: Apache-2.0
"""Which of a library's settings a limit could come from."""

from __future__ import annotations

from typing import Any

import pytest

from slowpath.findings.gather.control_variables import control_variable, control_variables, variables_equal_to


def row(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "type": "int", "description": f"{name}, in words", **more}


RESULTS: dict[str, Any] = {
    "run": {
        "mpis": [
            {"mpi": "absent", "unavailable": "not here"},
            {
                "mpi": "one",
                "control_variables": [
                    row("eager", 4096, by_environment={"moved": 5000}),
                    row("near", 4000),
                    row("text", "64K"),
                    row("word", "auto"),
                    row("several", [4096, 1]),
                    row("off", 0),
                    row("flag", True),
                    row("unread", None, reason="why"),
                ],
            },
            {"mpi": "two", "control_variables": [row("eager", 8192)]},
        ]
    }
}


def names(value: float, low: float, high: float, mpi: str | None = None) -> list[str]:
    return [one.name for one in variables_equal_to(RESULTS, value, low, high, mpi)]


def test_nearest_first_and_both_ends_count() -> None:
    assert names(4096, 4000, 4200) == ["eager", "near"]
    assert names(4010, 4000, 4096) == ["near", "eager"]
    assert names(4097, 4097, 4200) == []
    assert names(8192, 8000, 9000, "two") == ["eager"]


def test_lengths_as_text_are_numbers_and_nothing_sets_no_length() -> None:
    assert names(65536, 65536, 65536) == ["text"]
    assert names(1, 0, 1) == []


@pytest.mark.parametrize(
    ("text", "number"), [("64K", 65536), ("64kb", 65536), ("1MiB", 2**20), ("12", 12), ("-1", None), ("K", None)]
)
def test_suffixes(text: str, number: float | None) -> None:
    results = {"run": {"mpis": [{"mpi": None, "control_variables": [row("x", text)]}]}}
    found = control_variable(results, "x")
    assert found is not None
    assert found.number == number


def test_one_variable_by_name_library_and_environment() -> None:
    found = control_variable(RESULTS, "unread")
    assert found is not None
    assert (found.value, found.reason, found.number) == (None, "why", None)
    assert control_variable(RESULTS, "none") is None
    assert control_variable(RESULTS, "eager", "two").number == 8192  # type: ignore[union-attr]
    assert control_variable(RESULTS, "eager", "one", "moved").number == 5000  # type: ignore[union-attr]
    assert control_variables({"run": {}}) == []
