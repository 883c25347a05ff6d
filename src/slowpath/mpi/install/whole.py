# SPDX-License-Identifier: Apache-2.0
"""Whether an MPI that `slowpath mpi install` made may be started: nobody else's, and none of its files cut short."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from slowpath.core.owners import require_place, shut, why_not_trusted
from slowpath.mpi.install.place import MANIFEST, VARIABLE, installed_folder, read_manifest


def sizes_of(prefix: Path) -> dict[str, int]:
    """Size of each regular file below `prefix` by its name there, bytes."""
    return {name: path.lstat().st_size for name, path in _below(prefix) if path.is_file() and not path.is_symlink()}


def shut_all(prefix: Path) -> None:
    """Nobody but the owner may write below `prefix` from now on.  Raises: OSError."""
    for _, path in _below(prefix):
        if not path.is_symlink():
            shut(path)


def why_not_started(prefix: Path, environ: Mapping[str, str]) -> str | None:
    """Why this MPI must not be started; None: it may.

    Sizes, not checksums: it has 100 MB, and Slowpath starts it several times for each question.
    Raises: EnvironmentFailure: others could change what lies in the folder of all of them.
    """
    require_place(installed_folder(environ), "MPIs", VARIABLE, environ)
    manifest = read_manifest(prefix)
    if manifest is None:
        return f"{MANIFEST} can't be read"
    try:
        for name, path in _below(prefix):
            status = path.lstat()
            if not stat.S_ISLNK(status.st_mode) and (reason := why_not_trusted(status, environ)):
                return f"{name or 'its folder'}: {reason}"
        cut = next((name for name, size in manifest.sizes.items() if (prefix / name).lstat().st_size != size), None)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return f"{cut} has another size than was put there" if cut else None


def _below(prefix: Path) -> Iterator[tuple[str, Path]]:
    """All folders, files and links, `prefix` itself with an empty name first; links are not followed."""
    yield "", prefix
    for folder, folders, files in os.walk(prefix):
        for name in (*folders, *files):
            path = Path(folder) / name
            yield str(path.relative_to(prefix)), path
