# SPDX-License-Identifier: Apache-2.0
"""Which of a library's settings a limit could come from."""

from __future__ import annotations

from typing import Any

from slowpath.core.results import LibraryVariable, RunResult
from slowpath.findings.witness import control_variables, variables_near
from support.results import a_run, an_mpi


def row(name: str, value: Any, **more: Any) -> LibraryVariable:
    return LibraryVariable(name=name, value=value, type="int", description=f"{name}, in words", **more)


ONE = [
    row("eager", 4096, by_environment={"moved": 5000}),
    row("near", 4000),
    row("text", "64K"),
    row("word", "auto"),
    row("several", [4096, 1]),
    row("off", 0),
    row("flag", True),
    row("unread", None, reason="why"),
]
RUN: RunResult = a_run(
    mpis=[
        an_mpi("absent", unavailable="not here"),
        an_mpi("one", control_variables=ONE),
        an_mpi("two", control_variables=[row("eager", 8192)]),
    ]
)


def names(low: float, high: float, mpi: str | None = "one", environment: str | None = None) -> list[str] | None:
    found = variables_near(RUN, mpi, environment, low, high)
    return None if found is None else [one.name for one in found]


def test_both_ends_count() -> None:
    assert names(4000, 4200) == ["eager", "near"]
    assert names(4000, 4095) == ["near"]
    assert names(4097, 4200) == []
    assert names(8000, 9000, "two") == ["eager"]


def test_no_variables_is_not_the_same_as_none_that_fits() -> None:
    assert names(4000, 4200, "absent") is None
    assert names(4000, 4200, None) is None  # which of three libraries it was is not known


def test_an_environment_has_its_own_value_of_a_variable() -> None:
    assert names(5000, 5000) == []
    assert names(5000, 5000, environment="moved") == ["eager"]


def test_all_variables_of_the_first_library_that_has_any() -> None:
    found = {one.name: one.number for one in control_variables(RUN)}
    assert (found["eager"], found["unread"], found["text"]) == (4096, None, 65536)
    assert {one.name: one.number for one in control_variables(RUN, "two")} == {"eager": 8192}
    assert control_variables(RUN, "absent") == []
