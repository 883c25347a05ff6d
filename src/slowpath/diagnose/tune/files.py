# SPDX-License-Identifier: Apache-2.0
"""The files of a tuning: what libslowpath-coll.so reads, and what the library itself reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import write_atomically
from slowpath.diagnose.tune.cells import TuneRequest
from slowpath.mpi import tuning
from slowpath.mpi.mpi import Mpi, library_file
from slowpath.mpi.tuning import FILE_VARIABLE, Measured, Pick, Range, ranges, tuning_text

TUNING: Final = "tuning.json"
PRELOAD: Final = "LD_PRELOAD"
LIBRARY: Final = "libslowpath-coll.so"
_SONAMES: Final = ("libmpi.so.12", "libmpi.so")


@dataclass(frozen=True)
class Contents:
    """Files by name, and the variables that make the library, and the preload, read them."""

    files: Mapping[str, str]
    variables: Mapping[str, str]


def contents(
    folder: Path,
    library: str,
    identity: str,
    picks: Sequence[Pick],
    measured: Measured,
    mpi: Mpi,
    environ: Mapping[str, str],
    preload: Path | None,
    *,
    classes: bool = False,
) -> Contents:
    """The files of `picks` as they will stand in `folder`.

    Args:   library, identity: its name; with its version.  measured: all lengths that were.  preload:
            libslowpath-coll.so; None: it is not there, and the mock-ups are left to tuning.json.  classes: as `ranges`.
    Raises: EnvironmentFailure: the library does not show what its file has to begin with.
    """
    chosen = ranges(picks, "algorithm", measured, classes=classes)
    files, variables = _of_library(folder, library, chosen, mpi, environ)
    if preload is not None and any(pick.kind == "mockup" for pick in picks):
        variables = {**variables, FILE_VARIABLE: str(folder / TUNING), PRELOAD: str(preload)}
    return Contents({**files, TUNING: tuning_text(identity, picks, measured, classes=classes)}, variables)


def written(
    folder: Path,
    request: TuneRequest,
    picks: Sequence[Pick],
    measured: Measured,
    mpi: Mpi,
    environ: Mapping[str, str],
    preload: Path | None,
) -> Mapping[str, str]:
    """Write the files of `picks` into `folder`.

    Returns: the variables that switch them on; none where nothing was picked.
    Raises:  EnvironmentFailure: the disk refuses; as `contents`.
    """
    about = (folder, request.library, request.identity)
    made = contents(*about, picks, measured, mpi, environ, preload, classes=bool(request.uses))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.files.items():
        write_atomically(folder / name, text)
    return made.variables


def export_lines(variables: Mapping[str, str]) -> list[str]:
    """To be copied into a shell."""
    return [f"export {name}='{value}'" for name, value in variables.items()]


def preload_beside(engine: Path) -> Path | None:
    """The library next to an engine, where ld.so can be asked for it."""
    library = engine.parent / LIBRARY
    return library if library.is_file() and not any(letter in str(library) for letter in " :") else None


def _of_library(
    folder: Path, library: str, chosen: Sequence[Range], mpi: Mpi, environ: Mapping[str, str]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    if not chosen:
        return {}, {}
    if library == "mpich":
        files = tuning.mpich_files(_library_bytes(mpi, environ), chosen)
        return files, tuning.mpich_variables(str(folder))
    if library == "openmpi":
        name = tuning.OPENMPI_FILE
        return {name: tuning.openmpi_text(chosen)}, tuning.openmpi_variables(str(folder / name))
    return {tuning.INTEL_FILE: tuning.intel_text(chosen)}, tuning.intel_variables(chosen)


def _library_bytes(mpi: Mpi, environ: Mapping[str, str]) -> bytes:
    for soname in _SONAMES:
        library = library_file(mpi, soname, mpi.environ(environ))
        if library is not None:
            return Path(os.path.realpath(library)).read_bytes()
    raise EnvironmentFailure(
        f"{mpi.identity}: its library file was not found; install it, or tune another MPI with --mpi"
    )
