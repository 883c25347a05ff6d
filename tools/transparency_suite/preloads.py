# SPDX-License-Identifier: Apache-2.0
"""The preloads built by themselves: with AddressSanitizer and UBSan, or for an MPI without an engine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import kept_engine

ENGINE: Final = Path(__file__).resolve().parents[2] / "engine"
_FLAGS: Final = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
_TARGETS: Final = ("slowpath-coll", "slowpath-coll-parts", "slowpath-watch")


def sanitized(mpi: Mpi, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """A folder with both preloads, and the libraries that must come before them."""
    options = [f"-DCMAKE_CXX_FLAGS={_FLAGS}", f"-DMPI_CXX_COMPILER={mpi.mpicxx}"]
    # Symbols of the sanitizer are in the library that comes first.
    options += ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,undefs"]
    environ = {**mpi.environ(os.environ), "CXX": "g++", "CC": "gcc"}
    libraries = _built(folder / f"sanitized-{mpi.name}-{mpi.version}", options, environ)
    first = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0:abort_on_error=1:handle_segv=0:verify_asan_link_order=0"
    return libraries, tuple(str(Path(name).resolve()) for name in first)


def preloads(compiler: Path, build: Path) -> Path:
    """A folder with both preloads, by a compiler that links MPI unasked."""
    options = ["-DSLOWPATH_MPI_IN_COMPILER=ON", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release"]
    return _built(build, options, dict(os.environ))


def preloads_of(mpi: Mpi, build: Path) -> Path:
    """A folder with both preloads for an MPI with a wrapper compiler: those of its engine if there is one.

    Else they are built by themselves, which takes minutes less.
    """
    if engine := kept_engine(mpi):
        return engine.program.parent
    options = [f"-DMPI_CXX_COMPILER={mpi.mpicxx}", "-DCMAKE_BUILD_TYPE=Release"]
    environ = {**mpi.environ(os.environ), "CXX": "g++", "CC": "gcc"}
    return _built(build / f"preloads-{mpi.name}-{mpi.version}", options, environ)


def without_yield(folder: Path) -> Path:
    """A library whose sched_yield(2) comes back at once.

    Each MPI calls it in every turn of waiting. On a crowded machine each call gives all others a turn: the 70 tests of
    `test_cco_nb_buf`, one rank, took 61 s with it and 2 s without at a load of 15.
    """
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libwithoutyield.so"
    source = "int sched_yield(void) { return 0; }\n"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=source.encode(), check=True)
    return library


def _built(build: Path, options: Sequence[str], environ: Mapping[str, str]) -> Path:
    subprocess.run(["cmake", "-S", ENGINE, "-B", build, *options], env=environ, check=True, capture_output=True)
    subprocess.run(
        ["cmake", "--build", build, "-j", "2", "--target", *_TARGETS], env=environ, check=True, capture_output=True
    )
    libraries = build / "preloads"
    libraries.mkdir(exist_ok=True)
    for target in _TARGETS:
        (made,) = (path for path in build.rglob(f"lib{target}.so") if path.parent != libraries)
        (libraries / made.name).unlink(missing_ok=True)
        (libraries / made.name).symlink_to(made)
    return libraries
