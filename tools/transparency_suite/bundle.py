# SPDX-License-Identifier: Apache-2.0
"""A folder that runs the random programs on a machine without a network and without Slowpath."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from slowpath.mpi.mpi import Mpi

from .preloads import preloads_of
from .programs import COLLECTIVES, FAMILIES, program_for
from .tables import tables

_LIBRARIES: Final = ("libslowpath-coll.so", "libslowpath-coll-parts.so", "libslowpath-watch.so")
SCRIPT: Final = Path(__file__).with_name("run.sh")


def make_bundle(folder: Path, mpis: Sequence[Mpi], build: Path) -> None:
    """Each MPI's libraries and launcher, the program, the preloads and the tables; run.sh."""
    for mpi in mpis:
        preloads = preloads_of(mpi, build / "transparency")
        into = folder / "mpi" / mpi.name
        shutil.rmtree(into, ignore_errors=True)
        for name in ("preloads", "tables"):
            (into / name).mkdir(parents=True)
        for name in _LIBRARIES:
            _copy(preloads / name, into / "preloads" / name)
        for number, text in enumerate(tables(mpi)):
            (into / "tables" / f"{number}.json").write_text(text)
        shutil.copy2(program_for(mpi, build / "transparency"), into / "random")
        _copy_mpi(mpi, into)
    families = [f"{name} tables" if name in COLLECTIVES else name for name in FAMILIES]
    (folder / "families").write_text("\n".join(families) + "\n")
    shutil.copy2(SCRIPT, folder / "run.sh")


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, to)
    subprocess.run(["strip", "--strip-debug", to], check=False, capture_output=True)


def _copy_mpi(mpi: Mpi, into: Path) -> None:
    (into / "bin").mkdir()
    (into / "lib").mkdir()
    for pattern in ("mpiexec*", "hydra*", "prte*", "prun*", "ompi*", "orte*"):
        for path in (mpi.prefix / "bin").glob(pattern):
            shutil.copy2(path, into / "bin" / path.name, follow_symlinks=True)
    for path in (mpi.prefix / "lib").iterdir():
        if path.is_dir() and path.name in ("openmpi", "mpi", "mpich", "pmix", "prte", "libfabric"):
            shutil.copytree(path, into / "lib" / path.name, symlinks=True)
        elif ".so" in path.name and not any(word in path.name for word in ("java", "ilp64", "mpi_abi")):
            shutil.copy2(path, into / "lib" / path.name, follow_symlinks=False)
    for name in ("etc", "share/openmpi", "share/pmix", "share/prte"):
        if (mpi.prefix / name).is_dir():
            shutil.copytree(mpi.prefix / name, into / name)
