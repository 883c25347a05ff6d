# SPDX-License-Identifier: Apache-2.0
"""The C++ compiler and the CMake that build the engine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.probe import ask, output_of

COMPILERS = ("c++", "g++", "clang++")
CMAKE_AT_LEAST = (3, 20)
COMPILER_LIMIT_S = 120.0
_NEWER = "set CXX to GCC 10, Clang 13 or later"
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
        advice = "load PrgEnv-gnu with GCC 10 or later, or PrgEnv-cray" if of_mpi else _NEWER
        _require_cxx20(compiler, environ, advice)
        return compiler
    if wanted:
        raise EnvironmentFailure(f"CXX={shlex.join(wanted)}: no such compiler; unset CXX or name a C++20 compiler")
    raise EnvironmentFailure(
        f"no C++ compiler found ({', '.join(COMPILERS)}) to compile the engine; install GCC 10 or later (or load "
        "its module) or set CXX"
    )


def _require_cxx20(compiler: Compiler, environ: Mapping[str, str], advice: str) -> None:
    argv = [*compiler.command, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    try:
        done = ask(argv, environ, COMPILER_LIMIT_S, CXX20_SAMPLE.encode(), together=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailure(f"{shlex.join(compiler.command)} does not answer ({error}); {advice}") from error
    if done.return_code != 0:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        why = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
        raise EnvironmentFailure(
            f"{shlex.join(compiler.command)} ({compiler.line}) can't compile C++20 ({why.strip()}); {advice}"
        )


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
        found = re.search(r"cmake version (\d+)\.(\d+)", text)
        if found and (int(found[1]), int(found[2])) >= CMAKE_AT_LEAST:
            return path
        seen.append(f"{path} is {found[0] if found else 'not usable'}")
    least = ".".join(map(str, CMAKE_AT_LEAST))
    raise EnvironmentFailure(
        f"no CMake {least} or later found ({'; '.join(seen) or 'none at all'}); install it: pip install cmake"
    )
