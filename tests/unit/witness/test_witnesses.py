# SPDX-License-Identifier: Apache-2.0
"""Witnesses: what is preloaded, and variables of libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slowpath.core.results import LibraryVariable, RunResult
from slowpath.findings.witness import control_variables
from slowpath.run.prepare import LIBRARY, unavailable, witness_variables
from support.results import a_run, an_mpi

ENGINE = Path("/cache/engine/slowpath-engine")
OURS = f"/cache/engine/{LIBRARY}"


def preloaded(variables: dict[str, str], environ: dict[str, str]) -> str:
    return witness_variables(ENGINE, Path("/run/launches/1"), variables, environ, "mpich")["LD_PRELOAD"]


def test_what_is_preloaded_already_stays_in_front() -> None:
    assert preloaded({}, {}) == OURS
    assert preloaded({}, {"LD_PRELOAD": "/user.so"}) == f"/user.so:{OURS}"
    assert preloaded({"LD_PRELOAD": "/campaign.so"}, {"LD_PRELOAD": "/user.so"}) == f"/campaign.so:{OURS}"


def test_variables_of_the_environment_win_over_tables() -> None:
    variables = witness_variables(ENGINE, Path("/run"), {"UCX_PROTO_INFO": "n", "A": "b"}, {}, "mpich")
    assert (variables["UCX_PROTO_INFO"], variables["A"]) == ("n", "b")
    assert variables["UCX_LOG_FILE"] == "/run/ucx-%h-%p.log"


def test_the_library_is_asked_what_carries_messages_in_its_own_words() -> None:
    asked = {name: set(witness_variables(ENGINE, Path("/run"), {}, {}, name)) for name in ("mpich", "openmpi", "else")}
    assert "MPIR_CVAR_DEBUG_SUMMARY" in asked["mpich"] - asked["openmpi"]
    assert "OMPI_MCA_pml_base_verbose" in asked["openmpi"] - asked["mpich"]
    assert asked["else"] == asked["mpich"] & asked["openmpi"]
    own = witness_variables(ENGINE, Path("/run"), {"OMPI_MCA_btl_base_verbose": "0"}, {}, "openmpi")
    assert own["OMPI_MCA_btl_base_verbose"] == "0", "what an environment sets itself stays"


def test_a_library_that_cannot_be_preloaded_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # whose own path may have a blank
    engine = Path("here") / "slowpath-engine"
    engine.parent.mkdir()
    assert "is missing" in str(unavailable(engine))
    engine.with_name(LIBRARY).touch()
    assert unavailable(engine) is None
    blank = Path("a b")
    blank.mkdir()
    (blank / LIBRARY).touch()
    assert "SLOWPATH_CACHE_DIR" in str(unavailable(blank / "slowpath-engine"))


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


def test_an_environment_has_its_own_value_of_a_variable() -> None:
    assert control_variables(RUN, "one")[0].number == 4096
    assert control_variables(RUN, "one", "moved")[0].number == 5000


def test_all_variables_of_the_first_library_that_has_any() -> None:
    by_name = {control_variable.name: control_variable.number for control_variable in control_variables(RUN)}
    assert (by_name["eager"], by_name["unread"], by_name["text"]) == (4096, None, 65536)
    assert {control_variable.name: control_variable.number for control_variable in control_variables(RUN, "two")} == {
        "eager": 8192
    }
    assert control_variables(RUN, "absent") == []
