# SPDX-License-Identifier: Apache-2.0
"""What a witnessed launch is started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.run.prepare import LIBRARY, unavailable, witness_variables

ENGINE = Path("/cache/engine/slowpath-engine")
OURS = f"/cache/engine/{LIBRARY}"


def preloaded(variables: dict[str, str], environ: dict[str, str]) -> str:
    return witness_variables(ENGINE, Path("/run/launches/1"), variables, environ, "mpich")["LD_PRELOAD"]


def test_what_is_preloaded_already_stays_in_front() -> None:
    assert preloaded({}, {}) == OURS
    assert preloaded({}, {"LD_PRELOAD": "/user.so"}) == f"/user.so:{OURS}"
    assert preloaded({"LD_PRELOAD": "/campaign.so"}, {"LD_PRELOAD": "/user.so"}) == f"/campaign.so:{OURS}"


def test_variables_of_the_environment_win_over_tables() -> None:
    found = witness_variables(ENGINE, Path("/run"), {"UCX_PROTO_INFO": "n", "A": "b"}, {}, "mpich")
    assert (found["UCX_PROTO_INFO"], found["A"]) == ("n", "b")
    assert found["UCX_LOG_FILE"] == "/run/ucx-%h-%p.log"


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
