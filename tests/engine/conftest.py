# SPDX-License-Identifier: Apache-2.0
"""Ranks of the MPI under test, and GPU drivers without a GPU, built once a session."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ranks import Ranks

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import find_cmake
from slowpath.run.engine.cache import Engine
from slowpath.watch.start.library import find_library

SOURCES = Path(__file__).resolve().parents[2] / "engine" / "memory" / "tests"


@pytest.fixture(scope="session")
def ranks(mpi: Mpi, engine: Engine) -> Ranks:
    """Starts programs on ranks of the MPI under test."""
    return Ranks(mpi, engine)


@pytest.fixture(scope="session")
def watch_library(engine_cache: Path) -> Path:
    """libslowpath-watch.so: an engine's, or compiled now."""
    return find_library({**os.environ, "SLOWPATH_CACHE_DIR": str(engine_cache)}, lambda _: None)


@pytest.fixture(scope="session")
def wrapped_calls(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiler's option for the table of wrapped calls, which a build makes."""
    folder = tmp_path_factory.mktemp("wrapped")
    script = SOURCES.parents[1] / "watch" / "calls.cmake"
    subprocess.run([find_cmake(os.environ), "-P", script], cwd=folder, check=True, capture_output=True)
    return f"-I{folder / 'generated'}"


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The stub of each driver, by the variable that makes the engine load it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the stubs of the GPU drivers")
    folder, made = tmp_path_factory.mktemp("stubs"), {}
    for driver in ("cuda", "hip"):
        library = folder / f"libstub_{driver}.so"
        source = str(SOURCES / f"stub_{driver}.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-pthread", "-o", str(library), source], check=True)
        made[f"SLOWPATH_{driver.upper()}_DRIVER"] = library
    return made


@pytest.fixture(scope="session")
def stub(stubs: dict[str, Path]) -> Path:
    """The CUDA driver among them."""
    return stubs["SLOWPATH_CUDA_DRIVER"]
