# SPDX-License-Identifier: Apache-2.0
"""Engines of the wheel: which MPI they fit, and how they find its library. Small programs in C stand for both."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.resources import data_folder
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine import build, prebuilt
from slowpath.run.engine.build import engine_for, kept_engine
from slowpath.run.engine.cache import NOTE, PROGRAM, Engine, EngineNote, source_hash
from slowpath.run.engine.describe import planned_engine
from slowpath.run.engine.prebuilt import ROOM_BEGINS

LIBRARY = "int MPI_Init(void) { return 0; }  char ompi_mpi_comm_world[SIZE] = {1};\n"
NEWER = "int MPI_Send_c(void) { return 0; }\n"
ENGINE = """
#include <stdio.h>
int MPI_Init(void); int MPI_Send_c(void);
#pragma weak MPI_Send_c
extern char ompi_mpi_comm_world[64];
int main(void) {
    MPI_Init();
    int (*volatile newer)(void) = MPI_Send_c;
    printf("{\\"engine\\": \\"%s\\", \\"experiments\\": [], \\"handle\\": %d}\\n", newer ? "new" : "old",
           ompi_mpi_comm_world[0]);
}
"""
Wheel = Callable[[], Path]


def compiled(source: Path, text: str, *arguments: str) -> None:
    source.write_text(text)
    subprocess.run([shutil.which("cc") or "gcc", str(source), *arguments], check=True, capture_output=True)


def library_in(folder: Path, text: str = LIBRARY, size: int = 64) -> Path:
    """A libmpi.so.12 in a new folder."""
    folder.mkdir(parents=True)
    library = folder / "libmpi.so.12"
    arguments = (f"-DSIZE={size}", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", str(library))
    compiled(folder / "lib.c", text, *arguments)
    return library


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the wheel's engines, with one for the MPICH ABI that was linked with a library of its own."""
    folder = tmp_path / "wheel"
    (folder / "mpich").mkdir(parents=True)
    linked = library_in(tmp_path / "where-it-was-built")
    room = f"-Wl,--enable-new-dtags,-rpath,$ORIGIN:{ROOM_BEGINS}{'x' * 300}"
    compiled(tmp_path / "engine.c", ENGINE, str(linked), room, "-o", str(folder / "mpich" / PROGRAM))
    note = EngineNote(
        "wheel", "compiled with mpich 5", "mpich", "mpicxx", "g++", source_hash(data_folder("engine")), "now"
    )
    (folder / "mpich" / NOTE).write_bytes(msgspec.json.encode(msgspec.structs.replace(note, origin="wheel")))
    monkeypatch.setattr(prebuilt, "wheel_folder", lambda: folder)
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """No compiler anywhere."""
    return {"PATH": "/nowhere", "SLOWPATH_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}


@pytest.fixture
def mpi(tmp_path: Path) -> Mpi:
    """An MPICH without a compiler wrapper; its library is made by each test."""
    prefix = tmp_path / "prefix"
    return Mpi("mpich", "5.0", "PATH", prefix, prefix / "bin/mpiexec", None, "mpich", False, "hydra", "")


def printed(engine: Engine) -> str:
    return subprocess.run([engine.program], env={}, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("more", "says"), [("", "old"), (NEWER, "new")])
def test_taken_from_the_wheel_it_loads_the_users_library(
    mpi: Mpi, environ: dict[str, str], wheel: Path, more: str, says: str
) -> None:
    library_in(mpi.prefix / "lib", LIBRARY + more)
    engine = engine_for(mpi, environ)
    assert f'"engine": "{says}"' in printed(engine)
    assert '"handle": 1' in printed(engine)
    assert engine.facts["origin"] == "wheel"
    assert engine.program.is_relative_to(environ["SLOWPATH_CACHE_DIR"])
    assert engine_for(mpi, environ) == engine == kept_engine(mpi, environ) == planned_engine(mpi, environ)
    assert not list(engine.program.parents[1].glob(".*")), "the work folder stays behind"


def test_each_place_of_a_library_has_its_own_copy(
    mpi: Mpi, environ: dict[str, str], wheel: Path, tmp_path: Path
) -> None:
    library_in(mpi.prefix / "lib")
    other = dataclasses.replace(mpi, prefix=tmp_path / "other")
    library_in(other.prefix / "lib64")
    assert engine_for(mpi, environ).program != engine_for(other, environ).program


def refusal(mpi: Mpi, environ: dict[str, str]) -> str:
    """Why no engine of the wheel fits, as the user reads it where there is no compiler."""
    with pytest.raises(EnvironmentFailure, match="no C\\+\\+ compiler found") as raised:
        engine_for(mpi, environ)
    with pytest.raises(EnvironmentFailure, match="SLOWPATH_ENGINE=prebuilt: no prebuilt engine fits"):
        engine_for(mpi, {**environ, "SLOWPATH_ENGINE": "prebuilt"})
    assert not list(Path(environ["SLOWPATH_CACHE_DIR"]).glob("engines/*"))
    return str(raised.value).partition("the engine of the wheel does not fit: ")[2]


def test_a_library_without_a_function_is_refused(mpi: Mpi, environ: dict[str, str], wheel: Path) -> None:
    library_in(mpi.prefix / "lib", LIBRARY.replace("MPI_Init", "MPI_Other"))
    assert refusal(mpi, environ).endswith("libmpi.so.12 has no MPI_Init)")


def test_a_library_with_larger_handles_is_refused(mpi: Mpi, environ: dict[str, str], wheel: Path) -> None:
    library_in(mpi.prefix / "lib", size=128)
    assert "ompi_mpi_comm_world has another size" in refusal(mpi, environ)


def test_another_library_in_front_is_refused(mpi: Mpi, environ: dict[str, str], wheel: Path, tmp_path: Path) -> None:
    own, other = library_in(mpi.prefix / "lib"), library_in(tmp_path / "front")
    first = {**environ, "LD_LIBRARY_PATH": str(other.parent)}
    assert f"leads to {other} first; put {own.parent} first" in refusal(mpi, first)
    assert engine_for(mpi, {**environ, "LD_LIBRARY_PATH": f"{own.parent}:{other.parent}"}).note.origin == "wheel"


def test_no_room_for_a_long_path(mpi: Mpi, environ: dict[str, str], wheel: Path, tmp_path: Path) -> None:
    far = dataclasses.replace(mpi, prefix=tmp_path / ("y" * 200) / ("z" * 120))
    library_in(far.prefix / "lib")
    assert "too long" in refusal(far, environ)


def test_an_interface_that_the_wheel_lacks(mpi: Mpi, environ: dict[str, str], wheel: Path) -> None:
    assert "there is none for the openmpi interface" in refusal(dataclasses.replace(mpi, abi="openmpi"), environ)
    assert "has no libmpi.so.12 in sight" in refusal(mpi, environ)


def test_another_source_is_compiled(mpi: Mpi, environ: dict[str, str], wheel: Path) -> None:
    library_in(mpi.prefix / "lib")
    note = wheel / "mpich" / NOTE
    note.write_bytes(note.read_bytes().replace(source_hash(data_folder("engine")).encode(), b"another"))
    assert "not made of the source that is installed" in refusal(mpi, environ)


def test_what_was_compiled_here_goes_first(
    mpi: Mpi, environ: dict[str, str], wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library_in(mpi.prefix / "lib")
    made = Engine(Path(os.devnull), EngineNote("key", "mpich", "mpich", "mpicxx", "g++", "source", "now"))
    monkeypatch.setattr(build, "built_for", lambda *_: made)
    monkeypatch.setattr(build, "compiled_engine", lambda *_: made)
    assert engine_for(mpi, environ) == made
    assert engine_for(mpi, {**environ, "SLOWPATH_ENGINE": "prebuilt"}).note.origin == "wheel"


def test_a_checkout_has_none(mpi: Mpi, environ: dict[str, str]) -> None:
    with pytest.raises(EnvironmentFailure, match=r"no prebuilt engine fits .* holds no prebuilt engines"):
        engine_for(mpi, {**environ, "SLOWPATH_ENGINE": "prebuilt"})
