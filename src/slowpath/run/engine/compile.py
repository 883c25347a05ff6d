# SPDX-License-Identifier: Apache-2.0
"""CMake and the compiler at work: from the engine's source to the programs that are kept."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.probe import Child
from slowpath.run.engine.blas import PACKAGED, PLUGIN, BlasInSight
from slowpath.run.engine.cache import PROGRAM
from slowpath.run.engine.meter import BuildMeter, Tell
from slowpath.run.engine.toolchain import Compiler, find_cmake

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
_LOOK_EVERY_S = 0.2
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
        for what, argv in steps:
            code = _logged(argv, environ, log, meter)
            if code is None:
                raise EnvironmentFailure(f"the engine did not {what} within {BUILD_LIMIT_S:g} s; see {log}")
            if code != 0:
                raise EnvironmentFailure(
                    f"the engine did not {what} with {mpicxx}: {_why(log)}; see {log}, or choose another MPI with --mpi"
                )
    finally:
        meter.close()


def collect(build: Path, folder: Path, log: Path) -> str | None:
    """Copy what is kept from `build` into the new `folder`; the BLAS that CMake chose, None if it found none.

    Raises: EnvironmentFailure: the build made no engine.
    """
    folder.mkdir(parents=True)
    for name in (PROGRAM, *OTHER_PROGRAMS):
        for built in (path for path in build.rglob(name) if path.is_file()):
            shutil.copy2(built, folder / name)
    if not (folder / PROGRAM).exists():
        raise EnvironmentFailure(f"the build made no {PROGRAM}; see {log}")
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
                    return process.wait(_LOOK_EVERY_S)
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
