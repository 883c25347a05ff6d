# SPDX-License-Identifier: Apache-2.0
"""Building and caching the engine, with a CMake that only pretends."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine import build as toolchain
from slowpath.run.engine.build import engine_for
from slowpath.run.engine.cache import engine_key, list_engines, source_hash, usable_engine

CMAKE = """#!/bin/sh
# Counts its builds in $COUNT; --build makes an engine unless $BROKEN is set.
case "$1" in
--version) echo "cmake version ${CMAKE_IS:-3.25.1}";;
--build)
    echo build >> "$COUNT"
    sleep "${SLOW_S:-0}"
    [ -z "$BLAS" ] || : > "$2/libslowpath-blas.so"
    if [ -n "$BROKEN" ]; then echo "[ 10%] error.cpp.o"; echo "x.cpp:3:1: error: no such thing"; exit 1; fi
    printf '#!/bin/sh\\necho "{\\\\"engine\\\\": \\\\"1\\\\", \\\\"experiments\\\\": []}"\\n' > "$2/slowpath-engine"
    chmod +x "$2/slowpath-engine";;
*) mkdir -p "$4"; echo "-- BLAS: ${BLAS:-none, so that the experiment cannon can't run}"; echo "$*" > "$COUNT.asked";;
esac
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An engine's source."""
    folder = tmp_path / "source"
    (folder / "tests").mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text("project(x)\n")
    return folder


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A PATH with the pretended CMake first, and a cache of its own."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "cmake").write_text(CMAKE)
    (bin_folder / "cmake").chmod(0o755)
    monkeypatch.setattr(toolchain.sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setattr(toolchain.sys, "executable", str(tmp_path / "nowhere/bin/python"))
    kept = {name: value for name, value in os.environ.items() if name not in ("CXX", "SLOWPATH_MPI")}
    return {
        **kept,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "SLOWPATH_CACHE_DIR": str(tmp_path / "cache"),
        "COUNT": str(tmp_path / "count"),
    }


@pytest.fixture
def mpi(tmp_path: Path) -> Mpi:
    """An MPI that is never started."""
    return Mpi(
        "mpich", "5.0", "option", tmp_path, tmp_path / "mpiexec", tmp_path / "mpicxx", "mpich", True, "hydra", ""
    )


def builds(environ: dict[str, str]) -> int:
    count = Path(environ["COUNT"])
    return len(count.read_text().splitlines()) if count.exists() else 0


def test_built_once_and_kept(mpi: Mpi, environ: dict[str, str], source: Path) -> None:
    told: list[str] = []
    first = engine_for(mpi, environ, told.append, source)
    again = engine_for(mpi, environ, told.append, source)
    assert first == again
    assert os.access(first.program, os.X_OK)
    assert builds(environ) == 1
    assert len(told) == 1
    assert [engine.program for engine in list_engines(environ)] == [first.program]
    assert not list(first.program.parents[1].glob(".*")), "the work folder stays behind"
    assert engine_for(mpi, environ, told.append, source, rebuild=True) is not None
    assert builds(environ) == 2


def test_key_follows_what_the_engine_is_made_of(mpi: Mpi, source: Path) -> None:
    import dataclasses

    hashed = source_hash(source)
    (source / "tests" / "t.cpp").write_text("// tests are no part of the engine")
    assert source_hash(source) == hashed
    (source / "main.cpp").write_text("int main() {}")
    assert source_hash(source) != hashed
    keys = {
        engine_key(mpi, "a", "g++ 12", "openblas", "zen5"),
        engine_key(mpi, "b", "g++ 12", "openblas", "zen5"),
        engine_key(mpi, "a", "g++ 13", "openblas", "zen5"),
        engine_key(mpi, "a", "g++ 12", "blis", "zen5"),
        engine_key(mpi, "a", "g++ 12", "openblas", "zen6"),
        engine_key(dataclasses.replace(mpi, version="5.1"), "a", "g++ 12", "openblas", "zen5"),
        engine_key(dataclasses.replace(mpi, prefix=Path("/other")), "a", "g++ 12", "openblas", "zen5"),
        engine_key(dataclasses.replace(mpi, abi="openmpi"), "a", "g++ 12", "openblas", "zen5"),
    }
    assert len(keys) == 8


def test_failed_build_shows_the_error_and_the_log(mpi: Mpi, environ: dict[str, str], source: Path) -> None:
    with pytest.raises(EnvironmentFailure) as caught:
        engine_for(mpi, {**environ, "BROKEN": "1"}, source=source)
    said = str(caught.value)
    assert said.startswith(f"the engine did not compile with {mpi.mpicxx}: x.cpp:3:1: error: no such thing; see ")
    assert "\n" not in said
    log = Path(said.partition("; see ")[2].partition(", or ")[0])
    assert "no such thing" in log.read_text()
    assert list_engines(environ) == []


def test_a_damaged_engine_is_built_anew_and_said(mpi: Mpi, environ: dict[str, str], source: Path) -> None:
    engine = engine_for(mpi, environ, source=source)
    engine.program.write_bytes(engine.program.read_bytes()[:10])
    told: list[str] = []
    assert engine_for(mpi, environ, told.append, source).program == engine.program
    assert builds(environ) == 2
    said = f"the engine in {engine.program.parent} is not used, but made anew: it was damaged: slowpath-engine is not"
    assert told[0].startswith(said)
    assert engine_for(mpi, environ, told.append, source).program == engine.program
    assert len(told) == 2
    assert [path.name for path in engine.program.parents[1].iterdir() if path.is_dir()] == [engine.note.key]
    named = {**environ, "SLOWPATH_ENGINE": str(engine.program)}
    engine.program.write_bytes(b"#!/bin/sh")
    with pytest.raises(EnvironmentFailure, match=r"SLOWPATH_ENGINE=\S.*: it was damaged: slowpath-engine is not"):
        engine_for(mpi, named)


def test_several_build_at_once(mpi: Mpi, environ: dict[str, str], source: Path) -> None:
    first = engine_for(mpi, environ, source=source)
    first.program.write_bytes(b"")  # all of them find it damaged
    said: list[str] = []
    slow = {**environ, "SLOW_S": "0.5"}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: engine_for(mpi, slow, said.append, source=source), range(8)))
    assert {engine.program for engine in found} == {first.program}
    assert builds(environ) == 2  # one of them, while the others wait and take it
    assert [line for line in said if line.startswith("waiting for another process, which builds the engine for mpich")]
    assert usable_engine(first.program.parent, environ) is not None
    assert not list(first.program.parents[1].glob(".*"))


@pytest.mark.parametrize(
    ("compiler", "said"),
    [("no-such-compiler", "CXX=no-such-compiler: no such compiler"), ("false", "can't compile C\\+\\+20")],
)
def test_compiler(mpi: Mpi, environ: dict[str, str], source: Path, compiler: str, said: str) -> None:
    with pytest.raises(EnvironmentFailure, match=said):
        engine_for(mpi, {**environ, "CXX": compiler}, source=source)


def test_compiler_older_than_cxx20(environ: dict[str, str], tmp_path: Path) -> None:
    old = tmp_path / "bin" / "old-c++"
    old.write_text('#!/bin/sh\nexec c++ -std=c++17 "$@" -std=c++17\n')
    old.chmod(0o755)
    with pytest.raises(EnvironmentFailure, match=r"set CXX to GCC 10"):
        toolchain.find_compiler({**environ, "CXX": "old-c++"})


def test_cache_that_cannot_be_written(mpi: Mpi, environ: dict[str, str], source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFailure, match="set SLOWPATH_CACHE_DIR"):
        engine_for(mpi, {**environ, "SLOWPATH_CACHE_DIR": str(tmp_path / "file")}, source=source)
