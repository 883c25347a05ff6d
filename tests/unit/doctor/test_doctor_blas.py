# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of the BLAS."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slowpath.doctor import registry
from slowpath.doctor.registry import blas_check, unbuilt
from slowpath.run.engine.build import BlasInSight

OPENBLAS = ("OpenBLAS 0.3.34", "SkylakeX", "/opt/lib/libopenblas.so")
FAULTY = Path(__file__).parents[3] / "engine" / "studies" / "cannon" / "tests" / "faulty_blas.c"


def test_a_variable_that_chooses_the_code_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    check = blas_check(OPENBLAS, {"OPENBLAS_CORETYPE": "Haswell"})
    assert check.status == "warn"
    assert "OPENBLAS_CORETYPE=Haswell" in check.means
    assert check.do == "unset OPENBLAS_CORETYPE"
    monkeypatch.setenv("BLIS_ARCH_TYPE", "0")
    monkeypatch.setattr(registry, "_plugin", lambda: None)
    monkeypatch.setattr(
        registry, "blas_in_sight", lambda environ: BlasInSight((Path("/usr/lib/libblis.so"),), None, "")
    )
    found = registry.blas()
    assert found.status == "warn"
    assert "BLIS_ARCH_TYPE=0" in found.means


def test_before_the_engine_is_built() -> None:
    assert unbuilt(BlasInSight((Path("/usr/lib/libopenblas.so"),), None, ""), {}).value == "/usr/lib/libopenblas.so"
    package = unbuilt(BlasInSight((), Path("/x/scipy_openblas32"), ""), {})
    assert package.status == "ok"
    assert "scipy-openblas32" in (package.value or "")
    nothing = unbuilt(BlasInSight((), None, ""), {})
    assert nothing.status == "missing"
    assert "pip install 'slowpath[blas]'" in (nothing.do or "")


def test_the_engines_own_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = tmp_path / "libslowpath-toolchain.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(plugin), str(FAULTY)], check=True)
    for name in registry.STEERING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(registry, "_plugin", lambda: plugin)
    assert registry.blas().value == "loops, faulty_blas.c"
    plugin.write_text("no library")
    assert registry.blas().status == "missing"
