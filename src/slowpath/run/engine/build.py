# SPDX-License-Identifier: Apache-2.0
"""Building an engine for one MPI: toolchain, BLAS, compiling, and pairing with an engine for another library."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import itertools
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from slowpath.core.errors import EnvironmentFailure, is_version
from slowpath.core.files import data_folder, make_place
from slowpath.mpi.libraries import ABI_OF_SONAME, STANDARD_SONAME, abi_of_soname
from slowpath.mpi.mpi import Mpi, library_file
from slowpath.mpi.probe import Child, ask, output_of
from slowpath.run.engine.cache import (
    CHOICE,
    PROGRAM,
    STANDARD_ABI,
    Dynamic,
    Engine,
    EngineNote,
    built_for,
    cached_engine,
    discard,
    dynamic,
    engine_at,
    engine_key,
    kept_now,
    no_choice,
    not_kept,
    seal,
    source_hash,
    standard_engines,
    trusted_folder,
    usable_engine,
    why_damaged,
    why_not_usable,
)
from slowpath.run.engine.cache import STANDARD_ABI as STANDARD

Tell = Callable[[str], None]
PLAIN_EVERY_S = 10.0
# What make and Ninja print before each command.
_SHARE = re.compile(r"^\[ *(?:(\d+)%|(\d+)/(\d+))\]", re.MULTILINE)
_TAIL_BYTES = 4096


@runtime_checkable
class PassingLines(Protocol):
    """What a terminal offers on top of lines that remain."""

    def passing(self, line: str) -> None:
        """Draw `line` over the one that this drew before; an empty one clears it."""


class BuildMeter:
    """Reports a build that writes `log`; `look` is called several times a second."""

    def __init__(self, log: Path, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._tell, self._clock = log, tell, clock
        self._terminal = tell if isinstance(tell, PassingLines) else None
        self._begun = self._last = clock()

    def look(self) -> None:
        """Show how far the log is."""
        now = self._clock()
        if self._terminal is not None:
            self._terminal.passing(self._line(now))
        elif now - self._last >= PLAIN_EVERY_S:
            self._last = now
            self._tell(self._line(now))

    def close(self) -> None:
        """Take the passing line away."""
        if self._terminal is not None:
            self._terminal.passing("")

    def _line(self, now: float) -> str:
        share = share_done(_tail(self._log))
        far = "configuring" if share is None else f"{share:.0%} compiled"
        return f"building the engine: {far}, {now - self._begun:.0f} s"


def share_done(log: str) -> float | None:
    """Share of the build's commands that have begun; None: it is not compiling yet."""
    every = list(_SHARE.finditer(log))
    if not every:
        return None
    last = every[-1]
    return int(last[1]) / 100 if last[1] else int(last[2]) / max(1, int(last[3]))


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


LOCK = ".lock"
_UNLOCKED_S = 60.0  # between making the folder and locking it

_LOOK_EVERY_S = 0.5


@contextlib.contextmanager
def one_builder(folder: Path, wait: Callable[[], None], limit_s: float) -> Iterator[None]:
    """Hold the right to build `folder`, which one process has at a time.

    Args: wait: called once, before this process waits for another.  limit_s: how long it waits at most; a build that
          takes longer is not waited for.
    Raises: OSError: the file that is locked can't be made. A file system without locks lets everybody build.
    """
    lock = os.open(folder.parent / f"{folder.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        end, said = time.monotonic() + limit_s, False
        while time.monotonic() < end:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not said:
                    wait()
                said = True
                time.sleep(_LOOK_EVERY_S)
            except OSError:
                break
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """An empty folder of ours next to `folder`; it is gone afterwards.  Raises: OSError: it can't be made."""
    parent = folder.parent
    remove_abandoned(parent)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
    try:
        lock = os.open(work / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: nobody removes it then
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield work
        finally:
            os.close(lock)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove workplaces in `parent` that nobody works in any more. Raises nothing."""
    with contextlib.suppress(OSError):
        for path in parent.iterdir():
            if path.name.startswith(".") and path.is_dir() and not path.is_symlink() and _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(work: Path) -> bool:
    try:
        status = work.stat()
        if status.st_uid != os.geteuid() or time.time() - status.st_mtime < _UNLOCKED_S:
            return False
        lock = os.open(work / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


COMPILERS = ("c++", "g++", "clang++")
CMAKE_AT_LEAST = (3, 20)
COMPILER_LIMIT_S = 120.0
# One header each of what the engine leans on; GCC 10 and Clang 13 have them all.
CXX20_SAMPLE = """#include <bit>
#include <concepts>
#include <source_location>
#include <span>
template <std::integral T> constexpr T twice(T x) { return x + x; }
static_assert(std::bit_width(static_cast<unsigned>(twice(4))) == 4);
int main() { return std::source_location::current().line() == 0 ? 1 : 0; }
"""


@dataclass(frozen=True)
class Compiler:
    """A C++20 compiler. command: words, since CXX may be "ccache g++".  line: first line of its --version."""

    command: tuple[str, ...]
    line: str


def find_compiler(environ: Mapping[str, str], of_mpi: Path | None = None) -> Compiler:
    """The C++20 compiler to use: the MPI's own, CXX, else the first of COMPILERS.

    of_mpi: a compiler that links the MPI by itself, as CC of the Cray programming environment does.
    Raises: EnvironmentFailure: there is none, or it is too old.
    """
    wanted = [str(of_mpi)] if of_mpi else shlex.split(environ.get("CXX", ""))
    names = [wanted] if wanted else [[name] for name in COMPILERS]
    for command in names:
        if shutil.which(command[0], path=environ.get("PATH")) is None:
            continue
        version = output_of([*command, "--version"], environ)
        compiler = Compiler(tuple(command), (version or "unknown").splitlines()[0] if version else "unknown")
        _require_cxx20(compiler, environ)
        return compiler
    raise _no_compiler(shlex.join(wanted) or ", ".join(COMPILERS), "no such program")


def _no_compiler(command: str, reason: object) -> EnvironmentFailure:
    return EnvironmentFailure(f"{command}: can't compile C++20 ({reason}); set CXX to GCC 10, Clang 13 or later")


def _require_cxx20(compiler: Compiler, environ: Mapping[str, str]) -> None:
    argv = [*compiler.command, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    try:
        done = ask(argv, environ, COMPILER_LIMIT_S, CXX20_SAMPLE.encode(), together=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_compiler(shlex.join(compiler.command), error) from error
    if done.return_code != 0:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        why = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
        raise _no_compiler(f"{shlex.join(compiler.command)} ({compiler.line})", why.strip())


def cmake_candidates(environ: Mapping[str, str]) -> list[Path]:
    """The CMakes in sight: on the PATH, then the one that came with this Python."""
    on_path = shutil.which("cmake", path=environ.get("PATH"))
    packaged = [Path(sys.prefix) / "bin" / "cmake", Path(sys.executable).parent / "cmake"]
    paths = ([Path(on_path)] if on_path else []) + packaged
    return [path for path in dict.fromkeys(paths) if os.access(path, os.X_OK)]


def find_cmake(environ: Mapping[str, str]) -> Path:
    """The first CMake that is new enough. Raises EnvironmentFailure if none is."""
    seen = []
    for path in cmake_candidates(environ):
        text = output_of([str(path), "--version"], environ) or ""
        match = re.search(r"cmake version (\d+)\.(\d+)", text)
        if match and (int(match[1]), int(match[2])) >= CMAKE_AT_LEAST:
            return path
        seen.append(f"{path} is {match[0] if match else 'not usable'}")
    least = ".".join(map(str, CMAKE_AT_LEAST))
    raise EnvironmentFailure(f"no CMake {least} ({'; '.join(seen) or 'none at all'}); pip install 'slowpath[compile]'")


PLUGIN = "libslowpath-blas.so"
PACKAGED = "libscipy_openblas.so"
PACKAGE = "scipy-openblas32"
# Libraries that CMake's FindBLAS knows, by a part of the name; more than it takes does no harm.
_NAME = re.compile(r"lib\w*(blas|blis|flame|mkl_rt|mkl_core|armpl|nvpl|atlas|essl|goto|acml)[\w-]*\.(so|a)")
# What the choice follows besides the libraries themselves.
_CHOOSING = ("BLA_VENDOR", "BLA_STATIC", "BLAS_ROOT", "CMAKE_PREFIX_PATH", "CMAKE_LIBRARY_PATH", "MKLROOT")
_FOLDER_LISTS = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "LIB", "CMAKE_LIBRARY_PATH")
_MULTIARCH = f"{platform.machine()}-linux-gnu"


@dataclass(frozen=True)
class BlasInSight:
    """What a build may choose from.

    libraries: files of the system, each once.  package: folder of scipy_openblas32, None if this Python has none.
    identity: the same text as long as the same BLAS is chosen.
    """

    libraries: tuple[Path, ...]
    package: Path | None
    identity: str

    @property
    def cmake_arguments(self) -> list[str]:
        """Arguments of CMake's configuration."""
        return [f"-DSLOWPATH_SCIPY_OPENBLAS={self.package or ''}"]


def blas_in_sight(environ: Mapping[str, str]) -> BlasInSight:
    """Return all that CMake could find with this environment."""
    libraries = tuple(sorted({file.resolve() for folder in _folders(environ) for file in _libraries(folder)}))
    package = packaged_openblas()
    facts = [f"{name}={environ.get(name, '')}" for name in _CHOOSING]
    facts += [_file_facts(path) for path in libraries]
    facts += [_file_facts(package / "lib" / PACKAGED, named=False)] if package else []
    return BlasInSight(libraries, package, hashlib.sha256("\n".join(facts).encode()).hexdigest())


def packaged_openblas() -> Path | None:
    """Folder of the running Python's scipy_openblas32, None if it is not installed whole."""
    spec = importlib.util.find_spec("scipy_openblas32")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "lib" / PACKAGED).is_file():
            return Path(place)
    return None


def package_version() -> str | None:
    """Version of the installed scipy-openblas32, None if there is none."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor_features() -> str:
    """Return what -march=native stands for here: an engine kept in a shared home folder must not meet another
    processor.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.partition(":")[0].strip() in ("flags", "Features")), "")
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:16]}"


def _folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield where CMake's find_library looks: next to every bin on the PATH, in the listed folders, in the system's."""
    prefixes = [Path(place) for place in _places(environ, "CMAKE_PREFIX_PATH")]
    prefixes += [Path(environ[name]) for name in ("BLAS_ROOT", "MKLROOT") if environ.get(name)]
    for place in _places(environ, "PATH"):
        prefixes.append(Path(place).parent if Path(place).name in ("bin", "sbin") else Path(place))
    for prefix in [*prefixes, Path("/usr/local"), Path("/usr"), Path("/")]:
        yield from (prefix / inner for inner in ("lib", "lib64", f"lib/{_MULTIARCH}", "lib/intel64"))
    for name in _FOLDER_LISTS:
        yield from map(Path, _places(environ, name))


def _places(environ: Mapping[str, str], name: str) -> list[str]:
    return [place for place in environ.get(name, "").replace(";", ":").split(":") if place]


def _libraries(folder: Path) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in names if _NAME.fullmatch(name)]


def _file_facts(path: Path, named: bool = True) -> str:
    """Another file of the same name is another BLAS."""
    try:
        status = path.stat()
    except OSError:
        return f"{path} is gone"
    return f"{path if named else path.name} {status.st_size} {status.st_mtime_ns if named else package_version()}"


# Nothing of a build outlives us, not even when we are killed by SIGKILL, which no handler sees.

# It waits until the pipe on its stdin closes, as that does when whoever holds the other end is gone.
_WATCH = "read never_written || kill -s KILL 0"


@contextlib.contextmanager
def group_that_ends_with_us() -> Iterator[int]:
    """A process group to start programs in; all that is in it afterwards is ended, and so it is if this process dies.

    A shell leads it. PR_SET_PDEATHSIG would reach CMake alone, and not the compilers that make started below it.
    """
    theirs, ours = os.pipe()  # neither is inherited by what is started meanwhile
    try:
        watcher = Child(
            ["/bin/sh", "-c", _WATCH],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        yield watcher.pid
    finally:
        os.killpg(watcher.pid, signal.SIGKILL)  # not waited for yet, so that the number is still its own
        watcher.wait()
        os.close(ours)


BUILD_LIMIT_S = 900.0
_COMPILE_LOOK_EVERY_S = 0.2
BLAS_LINE = re.compile(r"^-- BLAS: (?!none)(.+)$", re.MULTILINE)  # engine/studies/blas/CMakeLists.txt
ERROR_LINE = re.compile(r"\berror: |^CMake Error|undefined reference|No space left")
# Kept next to the engine when the source builds them: the driver-level experiment, the library that pads allocations of
# programs that can't be changed, what `slowpath watch` preloads, what replaces collectives and the mock-ups that it
# opens, and the BLAS.
OTHER_PROGRAMS = (
    "libslowpath-pad.so",
    "libslowpath-layers.so",
    "libslowpath-witness.so",
    "libslowpath-watch.so",
    "libslowpath-coll.so",
    "libslowpath-coll-parts.so",
    PLUGIN,
    PACKAGED,
)


@dataclass(frozen=True)
class BuildTools:
    """What a build works with.

    arguments: more of CMake's configuration.  tell: takes lines of the build's progress.
    """

    compiler: Compiler
    blas: BlasInSight
    environ: Mapping[str, str]
    tell: Tell = lambda _: None
    arguments: tuple[str, ...] = ()


def compile_engine(source: Path, build: Path, mpicxx: Path, tools: BuildTools, log: Path) -> None:
    """Configure and compile in `build`; `log` takes all that is printed.  Raises: EnvironmentFailure."""
    cmake = find_cmake(tools.environ)
    jobs = max(1, min(8, len(os.sched_getaffinity(0))))
    configure = [
        str(cmake),
        *("-S", str(source), "-B", str(build)),
        "-DCMAKE_BUILD_TYPE=Release",
        "-DSLOWPATH_TESTS=OFF",
        f"-DMPI_CXX_COMPILER={mpicxx}",
        *tools.blas.cmake_arguments,
        *tools.arguments,
    ]
    # The first word only: CMake takes a launcher such as ccache by a variable of its own.
    if len(tools.compiler.command) == 1:
        configure.append(f"-DCMAKE_CXX_COMPILER={tools.compiler.command[0]}")
    steps = (("configure", configure), ("compile", [str(cmake), "--build", str(build), "-j", str(jobs)]))
    # For ccache, where it is used: without it the folder's own path is part of what it looks up.
    environ = {"CCACHE_BASEDIR": str(build), **tools.environ}
    log.write_bytes(b"")
    meter = BuildMeter(log, tools.tell)
    try:
        for step, argv in steps:
            code = _logged(argv, environ, log, meter)
            if code is None:
                raise _not_built(step, f"not done after {BUILD_LIMIT_S:g} s", log)
            if code != 0:
                raise _not_built(f"{step} with {mpicxx}", _why(log), log)
    finally:
        meter.close()


def _not_built(step: str, why: str, log: Path) -> EnvironmentFailure:
    return EnvironmentFailure(f"the engine did not {step}: {why}; see {log}, or choose another MPI with --mpi")


def collect(build: Path, folder: Path, log: Path) -> str | None:
    """Copy what is kept from `build` into the new `folder`; the BLAS that CMake chose, None if it found none.

    Raises: EnvironmentFailure: the build made no engine.
    """
    folder.mkdir(parents=True)
    for name in (PROGRAM, *OTHER_PROGRAMS):
        for built in (path for path in build.rglob(name) if path.is_file()):
            shutil.copy2(built, folder / name)
    if not (folder / PROGRAM).exists():
        raise _not_built("compile", f"no {PROGRAM}", log)
    blas = BLAS_LINE.search(log.read_text(errors="replace"))
    return blas[1] if blas else None


def _logged(argv: Sequence[str], environ: Mapping[str, str], log: Path, meter: BuildMeter) -> int | None:
    """The exit code; None: the limit came first. Whatever ends the wait ends the command and all that it started."""
    with log.open("ab") as out:
        out.write(f"$ {' '.join(argv)}\n".encode())
        out.flush()
        end = time.monotonic() + BUILD_LIMIT_S
        with group_that_ends_with_us() as group:
            process = Child(
                argv,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                process_group=group,
            )
            while time.monotonic() < end:
                meter.look()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(_COMPILE_LOOK_EVERY_S)
        process.wait()
        return None


def _why(log: Path) -> str:
    """The log's most telling line: what CMake could not find, else its first error."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    telling = [line for line in lines if line.startswith("Could NOT find")]
    # A message of our own CMake files: the paragraph below the line that says where it comes from.
    heads = [i for i, line in enumerate(lines) if line.startswith("CMake Error") and line.endswith("(message):")]
    telling += [" ".join(itertools.takewhile(bool, lines[i + 1 :])) for i in heads]
    telling += [line for line in lines if ERROR_LINE.search(line)]
    return telling[0] if telling else "no error message"


def why_not(program: Path, mpi: Mpi, environ: Mapping[str, str]) -> str | None:
    """Why the engine can't run under `mpi`; None: it can.

    Args: environ: what the engine will be started with, what `mpi` needs included.
    """
    read = dynamic(program)
    if read is None:
        return "not a program of this machine"
    soname = next((name for name in read.needed if _interface(name)), None)
    if soname is None:
        return f"its libraries are {', '.join(read.needed)}"
    interface = _interface(soname)
    if interface != STANDARD:
        if interface == mpi.abi:
            return None
        return is_version("interface", f"{interface} ({soname})", mpi.abi)
    if not mpi.standard_abi:
        return is_version("interface", f"{interface} ({soname})", mpi.abi)
    return _found_elsewhere(read, mpi, environ)


def require_pair(program: Path, mpi: Mpi, environ: Mapping[str, str]) -> None:
    """Check that the engine can run under this MPI.  Raises: EnvironmentFailure: it can't, and why."""
    if reason := why_not(program, mpi, environ):
        raise EnvironmentFailure(
            f"{program}: can't run under {mpi.identity}: {reason}; run: slowpath mpi build --mpi {mpi.mpiexec}"
        )


def _interface(soname: str) -> str | None:
    return STANDARD if soname == STANDARD_SONAME else abi_of_soname(soname)


def _found_elsewhere(read: Dynamic, mpi: Mpi, environ: Mapping[str, str]) -> str | None:
    """The dynamic linker's search: rpath where there is no runpath, LD_LIBRARY_PATH, runpath; ld.so(8)."""
    path = [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    folders = [*(() if read.runpath else read.rpath), *path, *read.runpath]
    elsewhere = next((Path(folder) for folder in folders if os.path.exists(Path(folder) / STANDARD_SONAME)), None)
    own = [mpi.prefix / name for name in ("lib", "lib64") if os.path.exists(mpi.prefix / name / STANDARD_SONAME)]
    if elsewhere is None or not own or elsewhere.resolve() in [folder.resolve() for folder in own]:
        return None
    return f"it loads {elsewhere / STANDARD_SONAME} and not that in {own[0]} (see LD_LIBRARY_PATH)"


def engine_for(
    mpi: Mpi,
    environ: Mapping[str, str] | None = None,
    tell: Tell = lambda _: None,
    source: Path | None = None,
    rebuild: bool = False,
) -> Engine:
    """The engine for `mpi`: from the cache, or built now.

    Args: tell: takes one line before a build, which lasts up to a minute, and lines of its progress.
    Raises: EnvironmentFailure: no compiler wrapper, compiler or CMake, a failed build, a cache that can't be written.
    """
    environ = mpi.environ(os.environ if environ is None else environ)
    if environ.get(CHOICE) and source is None:
        return chosen_engine(mpi, environ)
    ready = kept_engine(mpi, environ, tell) if source is None and not rebuild and data_folder(WHEEL).is_dir() else None
    return ready or _kept_or_built(mpi, environ, tell, source or data_folder("engine"), rebuild)


@contextlib.contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise not_kept(folder, error.strerror or error) from error


def engine_of_standard(mpi: Mpi, tell: Tell, rebuild: bool) -> Engine:
    """The engine for every library with the ABI of MPI-5, built with the wrapper of `mpi`; from the cache or built now.

    Raises: EnvironmentFailure: this MPI has no such library or no wrapper for it; else as `engine_for`.
    """
    environ = mpi.environ(os.environ)
    return _kept_or_built(standard(mpi), environ, tell, data_folder("engine"), rebuild)


def standard(mpi: Mpi) -> Mpi:
    """`mpi` as programs see it that are compiled for the ABI of MPI-5.  Raises: EnvironmentFailure: it offers none."""
    wrapper = mpi.mpicxx.with_name("mpicxx_abi") if mpi.mpicxx else None
    if not mpi.standard_abi or wrapper is None or not os.access(wrapper, os.X_OK):
        raise _lacks(mpi, str(wrapper) if mpi.standard_abi else STANDARD_SONAME, "pip install mpich")
    return replace(mpi, mpicxx=wrapper, abi=STANDARD_ABI)


def chosen_engine(mpi: Mpi, environ: Mapping[str, str]) -> Engine:
    """The engine that SLOWPATH_ENGINE names.  Raises: EnvironmentFailure: none there, or it can't run under `mpi`."""
    words = environ[CHOICE]
    if words != "abi":
        engine = engine_at(Path(words).expanduser().absolute())
        if reason := why_damaged(engine.program.parent, engine.note.files):
            raise no_choice(words, reason)
    else:
        usable = next(standard_engines(source_hash(data_folder("engine")), environ), None)
        if usable is None:
            raise no_choice(words, "none in the cache")
        engine = usable
    require_pair(engine.program, mpi, environ)
    return engine


def _kept_or_built(mpi: Mpi, environ: Mapping[str, str], tell: Tell, source: Path, rebuild: bool) -> Engine:
    hash_of_source = source_hash(source)
    compiler, blas = find_compiler(environ, mpi.mpicxx if mpi.is_compiler else None), blas_in_sight(environ)
    key = engine_key(mpi, hash_of_source, compiler.line, blas.identity, processor_features())
    folder = trusted_folder(environ) / key
    ready = None if rebuild else usable_engine(folder, environ, tell)
    if ready is not None:
        return ready
    mpicxx = require_headers(mpi)
    note = EngineNote(
        key=key,
        mpi=mpi.identity,
        abi=mpi.abi,
        mpicxx=str(mpi.mpicxx),
        compiler=compiler.line,
        source=hash_of_source,
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        processor=processor_features(),
    )
    more = ("-DSLOWPATH_MPI_IN_COMPILER=ON",) if mpi.is_compiler else ()
    with _kept_in(folder.parent):
        make_place(folder.parent)
        waits = f"waiting for another process, which builds the engine for {mpi.identity} (in {folder})"
        with one_builder(folder, lambda: tell(waits), BUILD_LIMIT_S):
            ready = None if rebuild else usable_engine(folder, environ)
            if ready is not None:
                return ready
            tell(f"building the engine for {mpi.identity} (once; kept in {folder})")
            if not rebuild:
                discard(folder, environ)
            tools = BuildTools(compiler, blas, environ, tell, more)
            return _build_into(folder, source, mpicxx, tools, note, rebuild)


def require_headers(mpi: Mpi) -> Path:
    """The compiler wrapper.  Raises: EnvironmentFailure: nothing can be compiled for this MPI, and what to install."""
    if mpi.mpicxx is None or mpi.no_header:
        raise _lacks(mpi, mpi.lacks or "", mpi.install_what_it_lacks)
    return mpi.mpicxx


def _lacks(mpi: Mpi, lacking: str, install: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"{mpi.identity} at {mpi.prefix} has no {lacking}; install it: {install}; or choose another MPI with --mpi"
    )


def kept_engine(mpi: Mpi, environ: Mapping[str, str] | None = None, tell: Tell = lambda _: None) -> Engine | None:
    """The engine that is there without a build: SLOWPATH_ENGINE's, the newest of the cache, the wheel's; else None."""
    environ = mpi.environ(os.environ if environ is None else environ)
    if environ.get(CHOICE):
        return chosen_engine(mpi, environ)
    built = built_for(mpi, source_hash(data_folder("engine")), processor_features(), environ)
    return built or engine_of_wheel(mpi, environ, tell)


# Engines that came with the wheel (tools/build-wheel): folders like those of the cache, for any processor.
WHEEL = "engines"
# The second folder in which a program of the wheel looks for libraries; x fill it up to the longest path that fits.
ROOM = re.compile(rb"/slowpath-mpi-library/x+")


def engine_of_wheel(mpi: Mpi, environ: Mapping[str, str], tell: Tell = lambda _: None) -> Engine | None:
    """The wheel's engine for `mpi`, kept in the cache; None: there is none, or none starts, and `tell` gets why.

    Raises: EnvironmentFailure: the cache can't be written.
    """
    shipped = [cached_engine(folder) for folder in sorted(data_folder(WHEEL).glob("*"), reverse=True)]
    own = [engine for engine in shipped if engine and engine.note.abi == mpi.abi.removesuffix("-debian")]
    of_standard = [engine for engine in shipped if engine and engine.note.abi == STANDARD and mpi.standard_abi]
    reasons = [f"none for {mpi.abi}"] if shipped else []
    for engine in (*own, *of_standard):
        fitted = _fitted(engine, mpi, environ)
        if isinstance(fitted, Engine):
            return fitted
        reasons.append(fitted)
    if reasons:
        tell(f"the wheel brought no engine for {mpi.identity}: {reasons[-1]}")
    return None


def _fitted(shipped: Engine, mpi: Mpi, environ: Mapping[str, str]) -> Engine | str:
    """The engine in the cache, put there now if need be; or why it does not start with this library."""
    read = dynamic(shipped.program)
    soname = next((name for name in read.needed if _interface(name)), "") if read else ""
    names = [soname, *(name for name, abi in ABI_OF_SONAME.items() if abi == mpi.abi)]
    library = next((file for name in names if name and (file := library_file(mpi, name, environ))), None)
    if library is None:
        return f"{mpi.prefix} has no {soname}"
    package = packaged_openblas()
    facts = "\n".join([shipped.note.key, mpi.build_identity, str(library), str(package)])
    key = f"{mpi.name}-{mpi.version or 'unknown'}-wheel-{hashlib.sha256(facts.encode()).hexdigest()[:12]}"
    folder = trusted_folder(environ) / key
    if (ready := usable_engine(folder, environ)) is not None:
        return ready
    with _kept_in(folder.parent):
        make_place(folder.parent)
        discard(folder, environ)
        with workplace(folder) as work:
            staged = work / "staged"
            shutil.copytree(shipped.program.parent, staged)
            for path in staged.iterdir():
                _set_library_folder(path, library.parent.absolute())
            if library.name != soname:  # Debian's MPICH: the same interface by another name
                (staged / soname).symlink_to(library)
            # All functions are looked up at once, so that one that this library lacks is seen here.
            started = ask([str(staged / PROGRAM), "describe"], {**environ, "LD_BIND_NOW": "1"}, COMPILER_LIMIT_S)
            if started.return_code != 0 or b"different size" in started.stderr:
                lines = started.stderr.decode("utf-8", "replace").strip().splitlines()
                return f"{library}: {lines[0] if lines else f'exit code {started.return_code}'}"
            if package and shipped.note.blas:
                shutil.copy2(package / "lib" / PACKAGED, staged)
            else:
                (staged / PLUGIN).unlink(missing_ok=True)
            note = msgspec.structs.replace(
                shipped.note,
                key=key,
                mpi=mpi.identity,
                mpicxx=str(mpi.mpicxx),
                blas=f"{PACKAGE} {package_version()}" if package and shipped.note.blas else None,
            )
            seal(staged, note)
            _put_into_place(staged, folder, environ, False)
    return kept_now(folder, environ)


def _set_library_folder(program: Path, folder: Path) -> None:
    """Write `folder` where the program has room for it; a path that is too long leaves it to LD_LIBRARY_PATH."""
    content, name = program.read_bytes(), os.fsencode(folder)
    room = ROOM.search(content)
    if room is not None and len(name) <= len(room[0]):
        program.write_bytes(content[: room.start()] + name.ljust(len(room[0]), b"\0") + content[room.end() :])


def _build_into(folder: Path, source: Path, mpicxx: Path, tools: BuildTools, note: EngineNote, rebuild: bool) -> Engine:
    """Build next to `folder` and rename into place, so that a half-built engine is never seen."""
    log = folder.parent / f"{folder.name}.log"
    with workplace(folder) as work:
        compile_engine(source, work / "build", mpicxx, tools, log)
        staged = work / "staged"
        seal(staged, msgspec.structs.replace(note, blas=collect(work / "build", staged, log)))
        _put_into_place(staged, folder, tools.environ, rebuild)
    return kept_now(folder, tools.environ)


def _put_into_place(staged: Path, folder: Path, environ: Mapping[str, str], rebuild: bool) -> None:
    """Rename.  Another process may have been faster: its engine is as good, unless a new one was asked for."""
    if not rebuild and why_not_usable(folder, environ) is None:
        return
    old = staged.parent / "old"
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        if cached_engine(folder) is None:
            raise
