# SPDX-License-Identifier: Apache-2.0
"""The wheel's engine is taken where it starts with the user's library, and the reason is said where it does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine import build
from slowpath.run.engine.build import engine_for, engine_of_wheel, kept_engine
from slowpath.run.engine.cache import NOTE, PROGRAM, Engine, EngineNote, dynamic

LIBRARY = "int MPI_Init(void) { return 0; }\n"
NEWER = "int MPI_Session_init(void) { return 0; }\n"
ENGINE = "int MPI_Init(void);\nint MPI_Session_init(void);\nint main(int n, char** v) { return n > 9 && "
ROOM = f"-Wl,--enable-new-dtags,-rpath,$ORIGIN:/slowpath-mpi-library/{'x' * 300}"


def compiled(source: str, target: Path, *words: str) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["cc", "-x", "c", "-", "-o", str(target), *words], input=source, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def mpi(tmp_path: Path) -> Mpi:
    """One without a compiler wrapper, whose library has what engines of MPI 3 need."""
    prefix = tmp_path / "mpi"
    compiled(LIBRARY, prefix / "lib" / "libmpi.so.12", "-shared", "-Wl,-soname,libmpi.so.12")
    return Mpi("mpich", "4", "option", prefix, prefix / "bin" / "mpiexec", None, "mpich", False, "hydra", "")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "SLOWPATH_CACHE_DIR": str(tmp_path / "cache")}


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with an engine that needs MPI 4, and one that needs no more than MPI 3."""
    data = tmp_path / "data"
    (data / "engine").mkdir(parents=True)
    (data / "engine" / "CMakeLists.txt").touch()
    full = compiled(LIBRARY + NEWER, tmp_path / "full" / "libmpi.so.12", "-shared", "-Wl,-soname,libmpi.so.12")
    for name, call in (("mpich-5", "MPI_Session_init()"), ("mpich-4", "MPI_Init()")):
        folder = data / "engines" / name
        compiled(f"{ENGINE}{call}; }}\n", folder / PROGRAM, "-xnone", str(full), ROOM)
        note = EngineNote(name, "compiled with mpich", "mpich", "mpicxx", "cc", "source", "2026")
        (folder / NOTE).write_bytes(msgspec.json.encode(note))
    monkeypatch.setattr(build, "data_folder", lambda name: data / name)
    return data / "engines"


def test_the_newest_engine_that_starts_is_kept_with_the_librarys_folder(
    wheel: Path, mpi: Mpi, environ: dict[str, str]
) -> None:
    lines: list[str] = []
    engine = engine_for(mpi, environ, lines.append)
    assert engine.program.parent.name.startswith("mpich-4-wheel-")
    read = dynamic(engine.program)
    assert read is not None
    assert read.runpath == (str(engine.program.parent), str(mpi.prefix / "lib"))
    assert subprocess.run([str(engine.program)], env=environ, check=False).returncode == 0
    assert kept_engine(mpi, environ) == engine
    assert lines == []


def test_a_library_that_lacks_a_function_gets_no_engine_and_the_functions_name(
    wheel: Path, mpi: Mpi, environ: dict[str, str]
) -> None:
    for path in (wheel / "mpich-4").iterdir():
        path.unlink()
    lines: list[str] = []
    assert engine_of_wheel(mpi, environ, lines.append) is None
    assert "MPI_Session_init" in lines[0]


def test_debians_mpich_has_the_library_by_another_name(wheel: Path, mpi: Mpi, environ: dict[str, str]) -> None:
    library = mpi.prefix / "lib" / "libmpi.so.12"
    library.rename(library.with_name("libmpich.so.12"))
    debian = Mpi("mpich", "4", "PATH", mpi.prefix, mpi.mpiexec, None, "mpich-debian", False, "hydra", "")
    engine = engine_of_wheel(debian, environ)
    assert isinstance(engine, Engine)
    assert subprocess.run([str(engine.program)], env=environ, check=False).returncode == 0
