# SPDX-License-Identifier: Apache-2.0
"""Dry runs: planned with what is there already, without a compiler, and with what that leaves unchecked."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import data_folder, make_place
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import processor_features
from slowpath.run.engine.cache import PROGRAM, Engine, EngineNote, engines_folder, seal, source_hash
from slowpath.run.engine.describe import PLACE, planned_engine
from slowpath.run.prepare import command_lines, prepare

# Each call but a question is a line in $STARTED.
LAUNCHER = """#!/bin/sh
[ "$1" = --version ] || { echo "mpiexec $*" >> "$STARTED"; exit 1; }
echo "HYDRA build details:"; echo "    Version:                                 5.0.2"
"""
WRAPPER = """#!/bin/sh
[ "$1" = -show ] || { echo "wrapper $*" >> "$STARTED"; exit 1; }
echo "c++ -L/nowhere/lib -lmpi"
"""
COMPILER = """#!/bin/sh
echo "$0 $*" >> "$STARTED"; exit 1
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An MPI whose programs only answer questions, compilers that write down their calls, an empty cache."""
    programs = {"mpiexec": LAUNCHER, "mpicxx": WRAPPER, "c++": COMPILER, "g++": COMPILER, "clang++": COMPILER}
    folder = tmp_path / "mpi" / "bin"
    folder.mkdir(parents=True)
    for name, text in {**programs, "cmake": COMPILER}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {
        "PATH": f"{folder}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "SLOWPATH_CACHE_DIR": str(tmp_path / "cache"),
        "STARTED": str(tmp_path / "started"),
    }


@pytest.fixture
def mpi(environ: dict[str, str]) -> Mpi:
    """The MPI of `environ`."""
    return find_mpi(None, environ)


def keep_engine(mpi: Mpi, environ: dict[str, str], built: str = "2026", /, **more: str) -> Path:
    """An engine in the cache, as if it had been compiled for `mpi`."""
    source = source_hash(data_folder("engine"))
    made = EngineNote("key", mpi.identity, mpi.abi, str(mpi.mpicxx), "g++ 12", source, built)
    note = msgspec.structs.replace(made, **{"processor": processor_features(), **more})
    folder = engines_folder(environ) / f"{mpi.name}-{built}"
    make_place(folder.parent)
    folder.mkdir()
    (folder / PROGRAM).write_text("#!/bin/sh\n")
    (folder / PROGRAM).chmod(0o755)
    seal(folder, note)
    return folder / PROGRAM


def test_a_dry_run_compiles_nothing_and_reports_what_was_not_checked(environ: dict[str, str], tmp_path: Path) -> None:
    told: list[str] = []
    prepared = prepare("checkup", environ, told.append, dry=True)
    assert not (tmp_path / "started").exists(), (tmp_path / "started").read_text()
    assert not (tmp_path / "cache").exists()
    assert [line.partition(":")[0] for line in told] == ["not checked"]
    assert "mpich 5.0.2 is not built yet" in told[0]
    lines = command_lines(prepared.commands, prepared.plan, Path("RUN"))
    assert len(lines) == prepared.cost.launches > 1
    assert all(f" {PLACE} --plan RUN/launches/" in line for line in lines)
    assert not any("rebuild the engine" in (cell.skip or "") for cell in prepared.plan.cells)


def test_an_engine_that_is_there_is_planned_with(mpi: Mpi, environ: dict[str, str], tmp_path: Path) -> None:
    keep_engine(mpi, environ, "2025")
    newest = keep_engine(mpi, environ, "2026")
    keep_engine(mpi, environ, "2027", source="another")
    keep_engine(mpi, environ, "2028", processor="another")
    keep_engine(mpi, environ, "2029", mpi="mpich 4.0")
    told: list[str] = []
    found = planned_engine(mpi, environ, told.append)
    assert isinstance(found, Engine)
    assert found.program == newest
    assert told == []
    assert not (tmp_path / "started").exists()


def test_without_a_wrapper_the_dry_run_says_that_the_run_would_fail(mpi: Mpi, environ: dict[str, str]) -> None:
    without = dataclasses.replace(mpi, mpicxx=None)
    with pytest.raises(EnvironmentFailure, match="has no mpicxx"):
        planned_engine(without, environ)
