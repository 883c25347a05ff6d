# SPDX-License-Identifier: Apache-2.0
"""ScaLAPACK's pdgemm in cannon: which library is taken, and why none is. test_cannon.py checks its product."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from ranks import Ranks, ends_of_cells, events_in

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.blas import PLUGIN
from slowpath.run.engine.cache import Engine

NAME = "libscalapack.so"
OTHER_MPI = "int MPI_Comm_dup(void) { return 0; }"
NEEDS_IT = "int MPI_Comm_dup(void); int use(void) { return MPI_Comm_dup(); }"
EMPTY = "int MPI_Comm_dup(void*, void*); int use(void) { return MPI_Comm_dup(0, 0); }"
OTHER_BLAS = "void dgemm_(void) {}"
Reason = Callable[..., str]


@pytest.fixture(autouse=True)
def _blas(engine: Engine) -> None:
    if not (engine.program.parent / PLUGIN).exists():
        pytest.skip("the engine was built without a BLAS")


@pytest.fixture
def library(mpi: Mpi, blankless: Path) -> Callable[..., Path]:
    """Compiles a library, with the MPI in use or without, in the folder that LD_LIBRARY_PATH names."""

    def made(name: str, text: str, *words: str, with_mpi: bool = False) -> Path:
        if mpi.mpicxx is None:
            pytest.skip("no compiler wrapper")
        source, compiler = blankless / f"{name}.c", "cc"
        source.write_text(text + "\n")
        if with_mpi:
            compiler, words = str(mpi.mpicxx.with_name("mpicc")), ("-Wl,--no-as-needed", *words)
        argv = [compiler, "-shared", "-fPIC", "-o", str(blankless / name), str(source), f"-L{blankless}", *words]
        subprocess.run(argv, check=True, env=mpi.environ(os.environ))
        return blankless / name

    return made


@pytest.fixture
def reason(ranks: Ranks, blankless: Path) -> Reason:
    """Why the cell was skipped, with the libraries of blankless found first."""

    def run(variables: Mapping[str, str] | None = None) -> str:
        words = ["--variant", "pdgemm", "--n", "48", "--repetitions", "1", "--quiet-wait-s", "0"]
        found_first = f"{blankless}:{ranks.environ().get('LD_LIBRARY_PATH', '')}"
        given = {**(variables or {}), "LD_LIBRARY_PATH": found_first}
        done = ranks.run_engine("cannon", *words, "--out", str(blankless / "out"), ranks=1, of_all=given)
        assert done.returncode == 0, done.stderr
        [end] = ends_of_cells(events_in(blankless / "out"))
        return str(end["reason"]) if end["status"] == "skipped" else str(end["status"])

    return run


def test_one_that_belongs_to_another_mpi_is_not_taken(library: Callable[..., Path], reason: Reason) -> None:
    library("libothermpi.so", OTHER_MPI)
    library(NAME, NEEDS_IT, "-Wl,--no-as-needed", "-lothermpi")
    if (said := reason()) == "ok":
        pytest.skip("a ScaLAPACK of this MPI is installed, and is taken before the stub")
    assert "variant=pdgemm: no ScaLAPACK for this MPI: " in said
    assert "it belongs to another MPI: it needs " in said
    assert "libothermpi.so" in said


def test_one_that_would_multiply_with_another_blas_is_not_taken(library: Callable[..., Path], reason: Reason) -> None:
    other = library("libotherblas.so", OTHER_BLAS)
    library(NAME, EMPTY, with_mpi=True)
    assert f"it would multiply with {other} and not with the engine's" in reason({"LD_PRELOAD": str(other)})


def test_one_that_lacks_functions_is_not_taken(library: Callable[..., Path], reason: Reason) -> None:
    library(NAME, EMPTY, with_mpi=True)
    if (said := reason()) == "ok":
        pytest.skip("a ScaLAPACK of this MPI is installed, and is taken before the stub")
    assert "this ScaLAPACK has no numroc_" in said
