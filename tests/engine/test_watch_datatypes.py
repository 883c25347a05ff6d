# SPDX-License-Identifier: Apache-2.0
"""Layouts of datatypes as libslowpath-watch.so reads them: random nested ones against lists of bytes, by each MPI."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from slowpath.mpi.mpi import Mpi

ENGINE = Path(__file__).resolve().parents[2] / "engine"
TESTS = ENGINE / "watch" / "tests"
PARTS = ("call", "datatypes", "library", "loader", "originals")
RANDOM_TYPES = 2000


@pytest.fixture(scope="session")
def layout_parts(tmp_path_factory: pytest.TempPathFactory, wrapped_calls: str) -> list[str]:
    """What knows no mpi.h, compiled once."""
    folder = tmp_path_factory.mktemp("parts")
    sources = [str(ENGINE / "watch" / f"{name}.cpp") for name in PARTS] + [str(TESTS / "kept_rows.cpp")]
    subprocess.run(["c++", "-std=c++20", "-O0", f"-I{ENGINE}", wrapped_calls, "-c", *sources], cwd=folder, check=True)
    return sorted(map(str, folder.glob("*.o")))


def test_layouts_are_those_of_the_bytes_that_mpi_packs(
    mpi: Mpi, layout_parts: Sequence[str], wrapped_calls: str, tmp_path: Path
) -> None:
    """Under the MPI's own interface and, where it comes with one, the ABI; one rank without a launcher."""
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    environ = mpi.environ(os.environ)
    abi = mpi.mpicxx.with_name("mpicxx_abi")
    for wrapper in (mpi.mpicxx, *([abi] if abi.exists() else [])):
        program = tmp_path / wrapper.name
        words = ["-std=c++20", "-O0", "-Wl,--no-as-needed", f"-I{ENGINE}", wrapped_calls, "-o", str(program)]
        words = [str(wrapper), *words, str(TESTS / "test_datatypes.cpp"), *layout_parts, "-ldl"]
        subprocess.run(words, env=environ, check=True, capture_output=True)
        folder = {"LD_LIBRARY_PATH": str(mpi.mpicxx.parent.parent / "lib")}
        done = subprocess.run([program, str(RANDOM_TYPES)], env={**environ, **folder}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
