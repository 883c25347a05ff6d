# SPDX-License-Identifier: Apache-2.0
"""Where the shared library of an MPI is: the file that programs of this MPI load."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from slowpath.mpi.identify import link_folders
from slowpath.mpi.loaded import Ask
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.probe import output_of

_MULTIARCH = f"{platform.machine()}-linux-gnu"


def library_file(mpi: Mpi, soname: str, environ: Mapping[str, str], ask: Ask = output_of) -> Path | None:
    """The file named `soname` in the folders that the MPI's wrapper links, else in its prefix, else where modules lead.

    None: there is none, as where a library has another name (Debian's MPICH).
    """
    show = (ask([str(mpi.mpicxx), "-show"], environ) or "") if mpi.mpicxx else ""
    inner = ("lib", "lib64", f"lib/{_MULTIARCH}", "lib/release")
    folders = [*link_folders(show), *(str(mpi.prefix / name) for name in inner)]
    folders += [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return next((Path(folder) / soname for folder in folders if os.path.isfile(Path(folder) / soname)), None)
