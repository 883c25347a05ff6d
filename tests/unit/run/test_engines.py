# SPDX-License-Identifier: Apache-2.0
"""Engines: builds, pairs with MPIs, questions, checks."""

from __future__ import annotations

import dataclasses
import io
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from slowpath.cli.options import TerminalLines
from slowpath.core import files as trust
from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import data_folder, make_place, why_not_trusted
from slowpath.core.plan import Cell
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.probe import ask
from slowpath.run.engine import build as toolchain
from slowpath.run.engine import cache as usable
from slowpath.run.engine.build import (
    LOCK,
    PLAIN_EVERY_S,
    BuildMeter,
    engine_for,
    processor_features,
    remove_abandoned,
    require_pair,
    share_done,
    why_not,
    workplace,
)
from slowpath.run.engine.cache import (
    NOTE,
    PROGRAM,
    Engine,
    EngineNote,
    discard,
    dynamic,
    engine_key,
    engines_folder,
    kept_now,
    list_engines,
    seal,
    source_hash,
    trusted_folder,
    usable_engine,
    why_not_usable,
)
from slowpath.run.engine.describe import PLACE, checker, planned_engine
from slowpath.run.prepare import command_lines, prepare
from watchdog import WATCHDOG_S

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
    lines: list[str] = []
    first = engine_for(mpi, environ, lines.append, source)
    again = engine_for(mpi, environ, lines.append, source)
    assert first == again
    assert os.access(first.program, os.X_OK)
    assert builds(environ) == 1
    assert len(lines) == 1
    assert [engine.program for engine in list_engines(environ)] == [first.program]
    assert not list(first.program.parents[1].glob(".*")), "the work folder stays behind"
    assert engine_for(mpi, environ, lines.append, source, rebuild=True) is not None
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
    lines: list[str] = []
    assert engine_for(mpi, environ, lines.append, source).program == engine.program
    assert builds(environ) == 2
    said = f"rebuilding the engine in {engine.program.parent}: damaged: slowpath-engine"
    assert lines[0].startswith(said)
    assert engine_for(mpi, environ, lines.append, source).program == engine.program
    assert len(lines) == 2
    assert [path.name for path in engine.program.parents[1].iterdir() if path.is_dir()] == [engine.note.key]
    named = {**environ, "SLOWPATH_ENGINE": str(engine.program)}
    engine.program.write_bytes(b"#!/bin/sh")
    with pytest.raises(EnvironmentFailure, match=r"SLOWPATH_ENGINE=\S.*: damaged: slowpath-engine"):
        engine_for(mpi, named)


def test_several_build_at_once(mpi: Mpi, environ: dict[str, str], source: Path) -> None:
    first = engine_for(mpi, environ, source=source)
    first.program.write_bytes(b"")  # all of them find it damaged
    said: list[str] = []
    slow = {**environ, "SLOW_S": "0.5"}
    with ThreadPoolExecutor(4) as pool:
        engines = list(pool.map(lambda _: engine_for(mpi, slow, said.append, source=source), range(8)))
    assert {engine.program for engine in engines} == {first.program}
    assert builds(environ) == 2  # one of them, while the others wait and take it
    assert [line for line in said if line.startswith("waiting for another process, which builds the engine for mpich")]
    assert usable_engine(first.program.parent, environ) is not None
    assert not list(first.program.parents[1].glob(".*"))


@pytest.mark.parametrize(
    ("compiler", "said"),
    [("no-such-compiler", "no-such-compiler: can't compile"), ("false", "can't compile C\\+\\+20")],
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
    assert "its interface is mpich (libmpi.so.12), not openmpi" in said


def test_the_standards_interface_needs_its_library(programs: dict[str, Path], tmp_path: Path) -> None:
    said = str(why_not(programs["mpi-5"], an_mpi("openmpi", "openmpi", False, tmp_path), {}))
    assert "its interface is mpi-5 (libmpi_abi.so.1), not openmpi" in said


def test_the_library_that_would_be_loaded_must_be_that_of_the_mpi(programs: dict[str, Path], tmp_path: Path) -> None:
    """The program's own runpath leads to another one unless LD_LIBRARY_PATH comes first."""
    program, prefix = programs["mpi-5"], with_standard(tmp_path / "impi")
    mpi = an_mpi("intelmpi", "mpich", True, prefix)
    said = str(why_not(program, mpi, {}))
    assert f"it loads {program.parent / 'libmpi_abi.so.1'} and not that in {prefix / 'lib'}" in said
    assert why_not(program, mpi, {"LD_LIBRARY_PATH": f"/nowhere:{prefix / 'lib'}"}) is None
    with pytest.raises(EnvironmentFailure, match="can't run under intelmpi"):
        require_pair(program, mpi, {})


def test_an_engine_of_ones_own_choice(programs: dict[str, Path], tmp_path: Path) -> None:
    mpich, openmpi = an_mpi("mpich", "mpich", True, tmp_path), an_mpi("openmpi", "openmpi", False, tmp_path)
    environ = {"SLOWPATH_ENGINE": str(programs["mpich"]), "SLOWPATH_CACHE_DIR": str(tmp_path)}
    assert engine_for(mpich, environ).program == programs["mpich"]
    with pytest.raises(EnvironmentFailure, match="can't run under openmpi"):
        engine_for(openmpi, environ)
    with pytest.raises(EnvironmentFailure, match="no engine; name another"):
        engine_for(mpich, environ | {"SLOWPATH_ENGINE": str(tmp_path / "none")})


# Each call but a question is a line in $STARTED.
LAUNCHER = """#!/bin/sh
[ "$1" = --version ] || { echo "mpiexec $*" >> "$STARTED"; exit 1; }
echo "HYDRA build details:"; echo "    Version:                                 5.0.2"
"""
WRAPPER = """#!/bin/sh
[ "$1" = -show ] || { echo "wrapper $*" >> "$STARTED"; exit 1; }
echo "c++ -L/nowhere/lib -lmpi"
"""
COMPILER = """#!/bin/sh
echo "$0 $*" >> "$STARTED"; exit 1
"""


@pytest.fixture
def environ_of_engine_planned(tmp_path: Path) -> dict[str, str]:
    """An MPI whose programs only answer questions, compilers that write down their calls, an empty cache."""
    programs = {"mpiexec": LAUNCHER, "mpicxx": WRAPPER, "c++": COMPILER, "g++": COMPILER, "clang++": COMPILER}
    folder = tmp_path / "mpi" / "bin"
    folder.mkdir(parents=True)
    for name, text in {**programs, "cmake": COMPILER}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {
        "PATH": f"{folder}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "SLOWPATH_CACHE_DIR": str(tmp_path / "cache"),
        "STARTED": str(tmp_path / "started"),
    }


@pytest.fixture
def mpi_of_engine_planned(environ_of_engine_planned: dict[str, str]) -> Mpi:
    """The MPI of `environ`."""
    return find_mpi(None, environ_of_engine_planned)


def keep_engine(
    mpi_of_engine_planned: Mpi, environ_of_engine_planned: dict[str, str], built: str = "2026", /, **more: str
) -> Path:
    """An engine in the cache, as if it had been compiled for `mpi`."""
    source = source_hash(data_folder("engine"))
    made = EngineNote(
        "key",
        mpi_of_engine_planned.identity,
        mpi_of_engine_planned.abi,
        str(mpi_of_engine_planned.mpicxx),
        "g++ 12",
        source,
        built,
    )
    note = msgspec.structs.replace(made, **{"processor": processor_features(), **more})
    folder = engines_folder(environ_of_engine_planned) / f"{mpi_of_engine_planned.name}-{built}"
    make_place(folder.parent)
    folder.mkdir()
    (folder / PROGRAM).write_text("#!/bin/sh\n")
    (folder / PROGRAM).chmod(0o755)
    seal(folder, note)
    return folder / PROGRAM


def test_a_dry_run_compiles_nothing_and_reports_what_was_not_checked(
    environ_of_engine_planned: dict[str, str], tmp_path: Path
) -> None:
    notices: list[str] = []
    prepared = prepare("checkup", environ_of_engine_planned, notices.append, dry=True)
    assert not (tmp_path / "started").exists(), (tmp_path / "started").read_text()
    assert not (tmp_path / "cache").exists()
    assert [line.partition(" (")[0] for line in notices] == ["the engine for mpich 5.0.2"]
    assert "slowpath mpi build --mpi" in notices[0]
    lines = command_lines(prepared.commands, prepared.plan, Path("RUN"))
    assert len(lines) == prepared.cost.launches > 1
    assert all(f" {PLACE} --plan RUN/launches/" in line for line in lines)
    assert not any("mpi build --force" in (cell.skip or "") for cell in prepared.plan.cells)


def test_an_engine_that_is_there_is_planned_with(
    mpi_of_engine_planned: Mpi, environ_of_engine_planned: dict[str, str], tmp_path: Path
) -> None:
    keep_engine(mpi_of_engine_planned, environ_of_engine_planned, "2025")
    newest = keep_engine(mpi_of_engine_planned, environ_of_engine_planned, "2026")
    keep_engine(mpi_of_engine_planned, environ_of_engine_planned, "2027", source="another")
    keep_engine(mpi_of_engine_planned, environ_of_engine_planned, "2028", processor="another")
    keep_engine(mpi_of_engine_planned, environ_of_engine_planned, "2029", mpi="mpich 4.0")
    lines: list[str] = []
    planned = planned_engine(mpi_of_engine_planned, environ_of_engine_planned, lines.append)
    assert isinstance(planned, Engine)
    assert planned.program == newest
    assert lines == []
    assert not (tmp_path / "started").exists()


def test_without_a_wrapper_the_dry_run_says_that_the_run_would_fail(
    mpi_of_engine_planned: Mpi, environ_of_engine_planned: dict[str, str]
) -> None:
    without = dataclasses.replace(mpi_of_engine_planned, mpicxx=None)
    with pytest.raises(EnvironmentFailure, match="has no mpicxx"):
        planned_engine(without, environ_of_engine_planned)


SCRIPT = """#!/bin/sh
echo "$*" >> "{asked}"
while read -r word number experiment length; do
    [ "$word" = cell ] || continue
    if [ "$length" = message_bytes=0 ]; then reason='"too short"'; else reason=null; fi
    echo "{{\\"cell\\": $number, \\"reason\\": $reason}}"
done
"""


def cell(number: int, length: int) -> Cell:
    return Cell(
        cell=number,
        key="",
        group="g",
        label="",
        experiment="p2p",
        parameters={"message_bytes": str(length)},
        environment="",
        placement="",
    )


@dataclass(frozen=True)
class Scripted:
    program: Path

    @property
    def facts(self) -> Mapping[str, str]:
        return {}


@pytest.fixture
def engine(tmp_path: Path) -> Scripted:
    program = tmp_path / "slowpath-engine"
    program.write_text(SCRIPT.format(asked=tmp_path / "asked"))
    program.chmod(0o755)
    return Scripted(program)


def starts(engine: Scripted) -> int:
    asked = engine.program.parent / "asked"
    return len(asked.read_text().splitlines()) if asked.exists() else 0


def refused(engine: Scripted, cells: list[Cell], ranks: int = 2, environ: Mapping[str, str] | None = None) -> list[int]:
    refusals = checker(engine, {"PATH": "/usr/bin:/bin", **(environ or {})})(cells, ranks)
    assert sorted(refusals) == [cell.cell for cell in cells]
    assert all(verdict.cell == number for number, verdict in refusals.items())
    return [number for number, verdict in refusals.items() if verdict.reason is not None]


def test_an_engine_is_asked_about_a_cell_once_whatever_its_number(engine: Scripted) -> None:
    assert refused(engine, [cell(0, 8), cell(1, 0)]) == [1]
    assert starts(engine) == 1
    assert refused(engine, [cell(4, 0), cell(7, 8), cell(9, 0)]) == [4, 9]
    assert starts(engine) == 1
    assert refused(engine, [cell(0, 16), cell(1, 0)]) == [1]
    assert starts(engine) == 2
    assert "ranks 2" in (engine.program.parent / "asked").read_text()


# Like make: it starts a compiler, which neither ends with it nor closes the pipe that it inherited.
SCRIPT_OF_ENGINE_LEFTOVERS = """#!/bin/sh
case "$1" in
--version) echo "cmake version 3.25.1"; exit;;
esac
sleep 300 &
echo $! > "$COMPILER"
mv "$COMPILER" "$COMPILER.pid"
wait
"""
BUILD = """
import os, sys
from pathlib import Path
from slowpath.core.signals import stop_signals
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import engine_for

def build():
    here = Path(sys.argv[1])
    mpi = Mpi("mpich", "5.0", "option", here, here / "mpiexec", here / "mpicxx", "mpich", True, "hydra", "")
    engine_for(mpi, os.environ, source=here / "source")
    return 0

try:
    with stop_signals():
        build()
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_without_cmake_the_extra_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "cmake_candidates", lambda environ: [])
    with pytest.raises(EnvironmentFailure, match=r"slowpath\[compile\]"):
        toolchain.find_cmake({})


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A CMake that hangs, the first on the PATH of `environ`."""
    path = tmp_path / "bin" / "cmake"
    path.parent.mkdir()
    path.write_text(SCRIPT_OF_ENGINE_LEFTOVERS)
    path.chmod(0o755)
    return path


@pytest.fixture
def environ_of_engine_leftovers(tmp_path: Path, script: Path) -> dict[str, str]:
    """Of a build with it."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CXX", "SLOWPATH_MPI", "SLOWPATH_ENGINE")}
    return {
        **kept,
        "PATH": f"{script.parent}:{os.environ['PATH']}",
        "SLOWPATH_CACHE_DIR": str(tmp_path / "cache"),
        "COMPILER": str(tmp_path / "compiler"),
    }


def compiler(tmp_path: Path) -> int:
    """Process number of the compiler, once it runs."""
    path = tmp_path / "compiler.pid"
    _until(path.exists)
    return int(path.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_build_that_is_ended_leaves_no_compiler(
    environ_of_engine_leftovers: dict[str, str], tmp_path: Path, number: int
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "CMakeLists.txt").write_text("project(x)\n")
    process = subprocess.Popen([sys.executable, "-c", BUILD, str(tmp_path)], env=environ_of_engine_leftovers)
    pid = compiler(tmp_path)
    process.send_signal(number)
    assert process.wait(WATCHDOG_S) == (-number if number == signal.SIGKILL else 130)
    _until(lambda: _is_gone(pid))
    engines = tmp_path / "cache" / "engines"
    kept = [path for path in engines.iterdir() if path.is_dir()]
    if number != signal.SIGKILL:
        assert kept == []
        return
    assert [path.name[0] for path in kept] == ["."], "half an engine is in sight"
    remove_abandoned(engines)
    assert kept[0].exists(), "it may belong to a build that has just begun"
    os.utime(kept[0], (0, 0))
    remove_abandoned(engines)
    assert not kept[0].exists()


def test_a_workplace_that_is_worked_in_is_left_alone(tmp_path: Path) -> None:
    with workplace(tmp_path / "key") as work:
        os.utime(work, (0, 0))
        remove_abandoned(tmp_path)
        assert work.exists()
        other = tmp_path / ".other-1"
        other.mkdir()
        (other / LOCK).touch()
        os.utime(other, (0, 0))
        (tmp_path / ".elsewhere").symlink_to(tmp_path.parent)
        remove_abandoned(tmp_path)
        assert not other.exists()
        assert (tmp_path / ".elsewhere").is_symlink()
    assert not work.exists()


def test_answers() -> None:
    done = ask(["sh", "-c", "cat; echo err >&2; exit 3"], os.environ, given=b"in")
    assert (done.return_code, done.stdout, done.stderr) == (3, b"in", b"err\n")
    done = ask(["sh", "-c", "echo out; echo err >&2"], os.environ, together=True)
    assert (done.return_code, done.stdout, done.stderr) == (0, b"out\nerr\n", b"")
    with pytest.raises(FileNotFoundError):
        ask(["/nowhere/at-all"], os.environ)


def _until(reached: object) -> None:
    end = time.monotonic() + WATCHDOG_S
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


def _is_gone(pid: int) -> bool:
    """Ended; where nobody waits for orphans (a container's first process may not), a zombie is."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Clock:
    """Seconds that a test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("log", "share"),
    [
        ("", None),
        ("-- Configuring done\nwarning: 100%] of nothing\n", None),
        ("[  7%] Building CXX object a.o\n[ 45%] Building CXX object b.o\n", 0.45),
        ("[100%] Built target slowpath-engine\n", 1.0),
        ("[3/120] Building a.o\n", 0.025),
    ],
)
def test_share_done(log: str, share: float | None) -> None:
    assert share_done(log) == share


def test_a_line_now_and_then_off_a_terminal(tmp_path: Path) -> None:
    log, clock, lines = tmp_path / "log", Clock(), list[str]()
    meter = BuildMeter(log, lines.append, clock)
    meter.look()
    assert lines == []
    clock.now_s += PLAIN_EVERY_S
    meter.look()
    meter.look()
    log.write_text("[ 45%] Building\n")
    clock.now_s += PLAIN_EVERY_S
    meter.look()
    meter.close()
    assert lines == ["building the engine: configuring, 10 s", "building the engine: 45% compiled, 20 s"]


def test_one_line_drawn_anew_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    log, clock, stream = tmp_path / "log", Clock(), io.StringIO()
    lines = TerminalLines(stream)
    lines("building the engine for mpich")
    meter = BuildMeter(log, lines, clock)
    log.write_text("[ 45%] Building\n")
    meter.look()
    clock.now_s += 1
    meter.look()
    meter.close()
    lines("done")
    drawn = stream.getvalue()
    assert drawn.startswith("building the engine for mpich\n\rbuilding the engine: 45% compiled, 0 s\rbuilding")
    assert drawn.endswith("compiled, 1 s\r" + " " * len("building the engine: 45% compiled, 1 s") + "\rdone\n")


NOBODY = 65534
NOTED = EngineNote("key", "mpich 5.0", "mpich", "mpicxx", "g++ 12", "source", "2026")


def status(mode: int, user: int | None = None, group: int | None = None) -> os.stat_result:
    """Of a file or folder of this user."""
    user, group = (os.geteuid() if user is None else user), (NOBODY if group is None else group)
    return os.stat_result((mode, 1, 1, 1, user, group, 0, 0, 0, 0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of an engine in a cache."""
    folder = tmp_path / "cache" / "engines" / "key"
    make_place(folder.parent)
    folder.mkdir()
    (folder / PROGRAM).write_bytes(b"#!/bin/sh\n" + b"x" * 5000)
    (folder / PROGRAM).chmod(0o775)
    (folder / "libslowpath-blas.so").write_bytes(b"library")
    seal(folder, NOTED)
    return folder


@pytest.fixture
def environ_of_usable_engines(tmp_path: Path) -> dict[str, str]:
    """Of that cache."""
    return {"SLOWPATH_CACHE_DIR": str(tmp_path / "cache")}


FOLDER, FILE = stat.S_IFDIR, stat.S_IFREG


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (status(FILE | 0o755), None),
        (status(FILE | 0o755, user=0), None),
        (status(FILE | 0o755, user=NOBODY), "it belongs to user"),
        (status(FILE | 0o757), "everybody can write there"),
        (status(FILE | 0o1777), "everybody can write there"),
        (status(FOLDER | 0o777), "everybody can write there"),
        (status(FOLDER | 0o1777), None),
        (status(FOLDER | 0o1777, user=NOBODY), "it belongs to user"),
    ],
)
def test_who_could_have_changed_it(status: os.stat_result, reason: str | None) -> None:
    why = why_not_trusted(status, {})
    assert why == reason if reason is None else reason in str(why)


def truncate(folder: Path) -> None:
    os.truncate(folder / PROGRAM, 100)


def change_a_byte(folder: Path) -> None:
    with (folder / PROGRAM).open("r+b") as file:
        file.seek(3000)
        file.write(b"y")


def lose_a_library(folder: Path) -> None:
    (folder / "libslowpath-blas.so").unlink()


def cut_the_note(folder: Path) -> None:
    os.truncate(folder / NOTE, 20)


def forget_checksums(folder: Path) -> None:
    note = (folder / NOTE).read_bytes()
    (folder / NOTE).write_bytes(note[: note.index(b',"files"')] + b"}")


def let_everybody_write(folder: Path) -> None:
    (folder / PROGRAM).chmod(0o777)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (truncate, "damaged: slowpath-engine"),
        (change_a_byte, "damaged: slowpath-engine"),
        (lose_a_library, "damaged: libslowpath-blas.so: No such file or directory"),
        (cut_the_note, "damaged: engine.json or the program"),
        (forget_checksums, "no checksums"),
        (let_everybody_write, "slowpath-engine: everybody can write there"),
    ],
)
def test_what_is_not_whole_is_not_run(
    folder: Path,
    environ_of_usable_engines: dict[str, str],
    harm: Callable[[Path], None],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(usable, "BETWEEN_LOOKS_S", 0.0)  # nobody exchanges it
    lines: list[str] = []
    assert usable_engine(folder, environ_of_usable_engines, lines.append) is not None
    assert lines == []
    harm(folder)
    assert usable_engine(folder, environ_of_usable_engines, lines.append) is None
    assert len(lines) == 1
    assert lines[0].startswith(f"rebuilding the engine in {folder}: {said}")
    with pytest.raises(EnvironmentFailure, match="set SLOWPATH_CACHE_DIR to another folder"):
        kept_now(folder, environ_of_usable_engines)
    discard(folder, environ_of_usable_engines)
    assert not folder.exists()
    assert list(folder.parent.iterdir()) == []


def test_an_engine_of_another_user_is_not_run(
    folder: Path, environ_of_usable_engines: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "trusted_owners", lambda _: frozenset({folder.stat().st_uid + 1}))
    assert str(why_not_usable(folder, environ_of_usable_engines)).startswith("it belongs to user ")
    with pytest.raises(EnvironmentFailure) as caught:
        usable_engine(folder, environ_of_usable_engines)
    said = str(caught.value)
    assert f"engines in {folder.parents[1]} are not run, because it belongs to user" in said
    assert "trust that user with SLOWPATH_TRUST_OWNERS, or set" in said


@pytest.mark.parametrize("mode", [0o777])
def test_a_cache_that_others_can_write(folder: Path, environ_of_usable_engines: dict[str, str], mode: int) -> None:
    folder.parent.chmod(mode)
    with pytest.raises(
        EnvironmentFailure,
        match=r"can write there: chmod go-w \S.*engines, or set",
    ):
        trusted_folder(environ_of_usable_engines)
    folder.parent.chmod(mode | 0o1000)
    assert trusted_folder(environ_of_usable_engines) == folder.parent
