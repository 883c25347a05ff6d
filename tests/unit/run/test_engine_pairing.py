# SPDX-License-Identifier: Apache-2.0
"""Which engine runs under which library: read from the program, refused with the reason."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import engine_for, require_pair, why_not
from slowpath.run.engine.cache import dynamic

SONAMES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40", "mpi-5": "libmpi_abi.so.1"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A program for each interface, linked with an empty library of its name, with a runpath to it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make programs with")
    folder, made = tmp_path_factory.mktemp("pairs"), {}
    (folder / "empty.c").write_text("int mpi_of_this(void) { return 0; }\n")
    (folder / "main.c").write_text("int mpi_of_this(void);\nint main(void) { return mpi_of_this(); }\n")
    for interface, soname in SONAMES.items():
        library = folder / interface / soname
        library.parent.mkdir()
        call = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", str(library), str(folder / "empty.c")]
        subprocess.run(call, check=True)
        program = folder / interface / "slowpath-engine"
        flags = ["-Wl,--enable-new-dtags", f"-Wl,-rpath,$ORIGIN:{library.parent}"]
        subprocess.run([compiler, "-o", str(program), str(folder / "main.c"), str(library), *flags], check=True)
        made[interface] = program
    return made


def an_mpi(name: str, abi: str, standard: bool, prefix: Path) -> Mpi:
    return Mpi(name, "5.0", "option", prefix, prefix / "bin/mpiexec", prefix / "bin/mpicxx", abi, standard, "hydra", "")


def with_standard(prefix: Path) -> Path:
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib" / "libmpi_abi.so.1").touch()
    return prefix


def test_the_interface_is_read_from_the_program(programs: dict[str, Path]) -> None:
    read = dynamic(programs["mpich"])
    assert read is not None
    assert read.needed[0] == "libmpi.so.12"
    assert read.runpath == (str(programs["mpich"].parent), str(programs["mpich"].parent))


def test_pairs_of_a_librarys_own_interface(programs: dict[str, Path], tmp_path: Path) -> None:
    mpich, openmpi = an_mpi("mpich", "mpich", True, tmp_path), an_mpi("openmpi", "openmpi", False, tmp_path)
    assert why_not(programs["mpich"], mpich, {}) is None
    assert why_not(programs["openmpi"], openmpi, {}) is None
    said = str(why_not(programs["mpich"], openmpi, {}))
    assert "built for the mpich interface (libmpi.so.12) and openmpi 5.0 has that of openmpi" in said
    assert "slowpath mpi build" in said


def test_the_standards_interface_needs_its_library(programs: dict[str, Path], tmp_path: Path) -> None:
    said = str(why_not(programs["mpi-5"], an_mpi("openmpi", "openmpi", False, tmp_path), {}))
    assert "built for the ABI of MPI-5 and openmpi 5.0 has no libmpi_abi.so.1" in said


def test_the_library_that_would_be_loaded_must_be_that_of_the_mpi(programs: dict[str, Path], tmp_path: Path) -> None:
    """The program's own runpath leads to another one unless LD_LIBRARY_PATH comes first."""
    program, prefix = programs["mpi-5"], with_standard(tmp_path / "impi")
    mpi = an_mpi("intelmpi", "mpich", True, prefix)
    said = str(why_not(program, mpi, {}))
    assert f"it would load {program.parent / 'libmpi_abi.so.1'}; put {prefix / 'lib'} first" in said
    assert why_not(program, mpi, {"LD_LIBRARY_PATH": f"/nowhere:{prefix / 'lib'}"}) is None
    with pytest.raises(EnvironmentFailure, match="can't run under intelmpi"):
        require_pair(program, mpi, {})


def test_an_engine_of_ones_own_choice(programs: dict[str, Path], tmp_path: Path) -> None:
    mpich, openmpi = an_mpi("mpich", "mpich", True, tmp_path), an_mpi("openmpi", "openmpi", False, tmp_path)
    environ = {"SLOWPATH_ENGINE": str(programs["mpich"]), "SLOWPATH_CACHE_DIR": str(tmp_path)}
    assert engine_for(mpich, environ).program == programs["mpich"]
    with pytest.raises(EnvironmentFailure, match="can't run under openmpi"):
        engine_for(openmpi, environ)
    with pytest.raises(EnvironmentFailure, match="there is no engine"):
        engine_for(mpich, environ | {"SLOWPATH_ENGINE": str(tmp_path / "none")})
