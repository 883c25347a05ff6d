# SPDX-License-Identifier: Apache-2.0
"""Debian packages unpacked into a folder, nothing installed; a Python environment for each MPI from a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from slowpath.mpi.find import find_mpi

from .cases import INTEL, MPICH_4, MPICH_5, OPENMPI_4, OPENMPI_5, Case
from .checkouts import get_checkouts

LAUNCHERS: Final = {OPENMPI_4: ("openmpi-bin",), MPICH_4: ("mpich",)}
MPI_WHEELS: Final = {MPICH_5: "mpich", INTEL: "impi-rt", OPENMPI_5: "openmpi"}
_LIBRARIES: Final = {OPENMPI_4: "libopenmpi3", MPICH_4: "libmpich12"}
_HEADERS: Final = {OPENMPI_4: "libopenmpi-dev", MPICH_4: "libmpich-dev"}
NEVER: Final = ("libopenblas0-pthread-",)  # apt's way of saying: not this one


def root_of(folder: Path) -> Path:
    """Where Debian packages are unpacked."""
    return folder / "root"


def libraries_of(folder: Path) -> Path:
    """Debian's libraries there."""
    return root_of(folder) / "usr/lib/x86_64-linux-gnu"


def environment_of(folder: Path, mpi: str) -> Path:
    """The Python environment of an MPI."""
    return folder / f"venv-{mpi if mpi in MPI_WHEELS else MPICH_5}"


def get(folder: Path, cases: Iterable[Case]) -> None:
    """All that these need; what is there already is not fetched again."""
    cases = tuple(cases)
    debian = {name for case in cases for name in (*case.packages, *LAUNCHERS.get(case.mpi, ()))}
    if debian:
        _unpack(folder, debian)
    get_checkouts(folder, cases, root_of(folder), libraries_of(folder))
    for mpi in sorted({case.mpi for case in cases if case.mpi in MPI_WHEELS}):
        wheels = {wheel for case in cases if case.mpi == mpi for wheel in case.wheels}
        sources = {source for case in cases if case.mpi == mpi for source in case.sources}
        _environment(environment_of(folder, mpi), {MPI_WHEELS[mpi], *wheels}, sources)


def _unpack(folder: Path, names: set[str]) -> None:
    done = folder / "unpacked"
    there = set(done.read_text().split()) if done.is_file() else set()
    if names <= there and root_of(folder).is_dir():
        return
    archives = folder / "archives"
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    options = ["-qqy", "--no-install-recommends", "-o", f"Dir::Cache::archives={archives}"]
    subprocess.run(
        ["apt-get", "install", "--download-only", *options, *sorted(names), *NEVER], check=True, stdout=sys.stderr
    )
    for archive in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg", "-x", archive, root_of(folder)], check=True)
    done.write_text("\n".join(sorted(names | there)))


def _environment(venv: Path, wheels: set[str], sources: set[str]) -> None:
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *sorted(wheels)], check=True)
    for source in sorted(sources):
        if (venv / source).is_dir():
            continue
        subprocess.run([*pip, "download", "--no-deps", "--no-binary", source, "--dest", venv, source], check=True)
        (archive,) = venv.glob(f"{source}-*.tar.gz")
        with tarfile.open(archive) as unpacked:
            unpacked.extractall(venv, filter="data")
        (venv / archive.name.removesuffix(".tar.gz")).rename(venv / source)


def launch(folder: Path, mpi: str, ranks: int) -> tuple[list[str], dict[str, str]]:
    """Words that start so many ranks, and the environment of the launcher."""
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if mpi in MPI_WHEELS:
        found = find_mpi(str(environment_of(folder, mpi)))
        return [str(found.mpiexec), "-n", str(ranks)], found.environ(environ)
    root, libraries = root_of(folder), libraries_of(folder)
    paths = [libraries, root / "usr/lib", root / "lib/x86_64-linux-gnu"]
    paths += [libraries / name for name in ("blas", "lapack", "openmpi/lib")]
    environ["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, paths))
    environ |= {"OPAL_PREFIX": str(root / "usr"), "OMPI_MCA_mca_base_component_show_load_errors": "0"}
    environ |= {f"OMPI_ALLOW_RUN_AS_ROOT{suffix}": "1" for suffix in ("", "_CONFIRM")}
    environ["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    launcher = "mpiexec.openmpi" if mpi == OPENMPI_4 else "mpiexec.mpich"
    return [str(root / "usr/bin" / launcher), "-n", str(ranks)], environ


def library_of(folder: Path, mpi: str) -> str:
    """Debian's MPI as tables of replaced collectives name it: "openmpi-4.1.4"."""
    (archive,) = (folder / "archives").glob(f"{_LIBRARIES[mpi]}_*.deb")
    return f"{mpi.rstrip('4')}-{archive.name.split('_')[1].split('-')[0]}"


def compiler_for(folder: Path, mpi: str) -> Path:
    """A C++ compiler that links Debian's MPI unasked; the wrappers of the packages name the folders of /usr."""
    _unpack(folder, {_HEADERS[mpi]})
    root, lib = root_of(folder), libraries_of(folder)
    if mpi == OPENMPI_4:
        words, link = f"-I{lib}/openmpi/include -DOMPI_SKIP_MPICXX", f"-L{lib} -L{lib}/openmpi/lib -lmpi"
    else:
        words, link = f"-I{root}/usr/include/x86_64-linux-gnu/mpich -DMPICH_SKIP_MPICXX", f"-L{lib} -lmpich"
    link += f" -Wl,-rpath-link,{lib}:{lib}/openmpi/lib:{root}/lib/x86_64-linux-gnu"
    made = folder / f"c++-{mpi}"
    made.write_text(
        '#!/bin/sh\nfor word; do case "$word" in -c | -E) '
        f'exec g++ {words} "$@" ;; esac; done\nexec g++ {words} "$@" {link}\n'
    )
    made.chmod(0o755)
    return made


def compile_with_openmpi(folder: Path, source: Path, *libraries: str) -> None:
    """A program in C, against Debian's Open MPI, next to its source."""
    root, lib = root_of(folder), libraries_of(folder)
    argv = [
        "gcc",
        "-O2",
        "-g",
        f"-I{root}/usr/include",
        f"-I{lib}/openmpi/include",
        str(source),
        "-o",
        str(source.with_suffix("")),
    ]
    argv += [f"-L{lib}", f"-L{lib}/openmpi/lib", *(f"-l{name}" for name in libraries), "-lmpi", "-lm"]
    argv += [f"-Wl,-rpath-link,{lib}:{root}/lib/x86_64-linux-gnu"]
    subprocess.run(argv, check=True)
