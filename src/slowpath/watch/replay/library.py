# SPDX-License-Identifier: Apache-2.0
"""The MPI that a watched program ran with, found here: prices under another one would be of another program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.identify import named_in
from slowpath.mpi.mpi import Mpi
from slowpath.watch.results import WatchedProgram


def launcher_of(program: WatchedProgram, option: str | None, environ: Mapping[str, str]) -> str:
    """Path of the launcher of the program's own MPI.

    Args:   option: as --mpi takes it; None: it is searched, first above the library that the program loaded.
    Raises: UsageError: the named one is another MPI.  EnvironmentFailure: the program's is not here.
    """
    known = named_in(program.library)
    ran = f"{known[0].name} {known[1] or 'of unknown version'}" if known else f"'{program.library}'"
    if option is not None:
        found = find_mpi(option, environ)
        if known is None or not _is(found, known[0].name, known[1]):
            raise UsageError(f"--mpi {option}: is {found.identity}, but the program ran with {ran}; name that one")
        return str(found.mpiexec)
    for candidate in _candidates(program, environ):
        if known is not None and _is(candidate, known[0].name, known[1]):
            return str(candidate.mpiexec)
    raise EnvironmentFailure(
        f"the program ran with {ran} ({program.library_path}), which is not among the MPIs here; load its module, "
        "or use --mpi"
    )


def _is(mpi: Mpi, name: str, version: str | None) -> bool:
    return mpi.name == name and (version is None or mpi.version == version)


def _candidates(program: WatchedProgram, environ: Mapping[str, str]) -> Iterator[Mpi]:
    for folder in Path(program.library_path).parents[:4] if program.library_path else ():
        for name in ("mpiexec", "mpirun"):
            if (folder / "bin" / name).is_file():
                try:
                    yield find_mpi(str(folder / "bin" / name), environ)
                except SlowpathError:
                    continue
    yield from find_all(environ)
