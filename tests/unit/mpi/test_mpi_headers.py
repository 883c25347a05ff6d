# SPDX-License-Identifier: Apache-2.0
"""An MPI that can run programs and compile none is passed over for one that works, and says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.doctor import registry
from slowpath.mpi import find
from slowpath.mpi.find import find_mpi

OPEN_MPI, MPICH = "mpiexec (OpenRTE) 4.1.4", "HYDRA build details:\n    Version: 5.0.2"


def install(prefix: Path, version: str, has_header: bool) -> Path:
    """As a package leaves it: launcher, wrapper, and headers if the development package is there."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "include").mkdir()
    for name, text in (("mpiexec", f"cat <<'END'\n{version}\nEND"), ("mpicxx", f"echo c++ -I{prefix}/include -lmpi")):
        (prefix / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (prefix / "bin" / name).chmod(0o755)
    if has_header:
        (prefix / "include" / "mpi.h").touch()
    return prefix


@pytest.fixture(autouse=True)
def nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "embedded_folders", lambda: [tmp_path / "python" / "bin"])
    monkeypatch.setattr(find, "WELL_KNOWN", ())
    monkeypatch.setattr("slowpath.mpi.mpi._HEADERS", ())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SLOWPATH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SLOWPATH_MPI", raising=False)


def on_path(monkeypatch: pytest.MonkeyPatch, *prefixes: Path) -> None:
    monkeypatch.setenv("PATH", ":".join([*(str(prefix / "bin") for prefix in prefixes), "/usr/bin", "/bin"]))


def test_the_one_that_works_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare, whole = install(tmp_path / "ompi", OPEN_MPI, False), install(tmp_path / "mpich", MPICH, True)
    on_path(monkeypatch, bare, whole)
    taken = find_mpi(None)
    assert taken.prefix == whole
    assert str(bare / "bin" / "mpiexec") in taken.doubt
    assert "install libopenmpi-dev" in taken.doubt
    assert registry.mpi_in_use().status == "warn"
    first = registry.first_on_path()
    assert (first.value, first.status) == (str(bare / "bin" / "mpiexec"), "warn")
    assert str(whole / "bin" / "mpiexec") in first.means


def test_one_with_headers_is_the_first_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = install(tmp_path / "ompi", OPEN_MPI, True), install(tmp_path / "mpich", MPICH, True)
    on_path(monkeypatch, first, second)
    assert (find_mpi(None).prefix, find_mpi(None).doubt) == (first, "")
    assert registry.first_on_path().status == "ok"
