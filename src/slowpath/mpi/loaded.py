# SPDX-License-Identifier: Apache-2.0
"""The library behind a compiler wrapper: what the wrapper links, what that library says it is, what its module says.

MPI_Get_library_version may be called before MPI_Init (MPI-4.1 section 9.1.1), so no job is started.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.mpi.launchers import MpiIdentity, link_folders
from slowpath.mpi.libraries import MPI_LIBRARIES, MpiLibrary, named_in

Ask = Callable[[list[str], Mapping[str, str]], str | None]
CRAY_WRAPPER = "CC"  # of the Cray programming environment: a compiler that links the loaded MPI by itself
_LINKED = re.compile(r"(?<![\w-])-l(mpi(?!_gtl)\w*)")
_FILE = re.compile(r"lib(mpi(?!_gtl)\w*)\.so(?:\.\d+)?")
# A name without a slash is looked for as the dynamic linker does for a program.
_QUESTION = """
import ctypes, sys
for name in sys.argv[1:]:
    try:
        ask = ctypes.CDLL(name, ctypes.RTLD_GLOBAL).MPI_Get_library_version
    except (OSError, AttributeError):
        continue
    text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
    if ask(text, ctypes.byref(length)) == 0:
        sys.stdout.buffer.write(text.value)
        break
"""


@dataclass(frozen=True)
class Linked:
    """What a wrapper links. options: as it prints them.  folders: of libraries.  names: of MPI's, as after -l."""

    options: str
    folders: tuple[str, ...]
    names: tuple[str, ...]


def prefers_cray_wrapper(environ: Mapping[str, str]) -> bool:
    """Whether Cray MPICH is loaded in the Cray programming environment, whose CC adds what GPU memory needs as well."""
    return bool(environ.get("CRAY_MPICH_VERSION") and (environ.get("CRAYPE_VERSION") or environ.get("PE_ENV")))


def linked_by(mpicxx: Path, environ: Mapping[str, str], ask: Ask) -> Linked:
    """Return what the wrapper at `mpicxx` says that it links; nothing where it does not say."""
    option = "--cray-print-opts=all" if mpicxx.name == CRAY_WRAPPER else "-show"
    options = ask([str(mpicxx), option], environ) or ""
    return Linked(options, tuple(link_folders(options)), tuple(dict.fromkeys(_LINKED.findall(options))))


def prefix_of(mpicxx: Path, linked: Linked, environ: Mapping[str, str]) -> Path:
    """The library's folder: that of its module or of what it links for CC, else the wrapper's own."""
    if mpicxx.name != CRAY_WRAPPER:
        return mpicxx.parent.parent
    loaded = [library for library in MPI_LIBRARIES if library.is_loaded(environ)]
    named = [environ[name] for library in loaded for name in library.prefix_variables if environ.get(name)]
    holding = [str(Path(folder).parent) for folder in linked.folders if _files_in(folder)]
    return next((Path(folder) for folder in (*named, *holding) if os.path.isdir(folder)), mpicxx.parent.parent)


def identity_behind(
    mpicxx: Path | None, prefix: Path, linked: Linked, launcher: MpiIdentity, environ: Mapping[str, str], ask: Ask
) -> MpiIdentity:
    """`launcher` with the library's own name and version in place of the launcher's, where it gives another name.

    MVAPICH and others come with MPICH's launcher, batch systems' launchers with none.
    """
    text = ask([sys.executable, "-I", "-S", "-c", _QUESTION, *_candidates(mpicxx, prefix, linked)], environ) or ""
    known = named_in(text)
    if known is not None:
        library, version = known
        if library.name == launcher.name:
            return launcher
        first = next(line.strip() for line in text.splitlines() if line.strip())
        return MpiIdentity(library.name, version, launcher.launcher, first)
    loaded = _loaded(mpicxx, prefix, environ)
    if launcher.name != "unknown" or loaded is None:
        return launcher
    version = environ[loaded.version_variable]
    return MpiIdentity(loaded.name, version, launcher.launcher, f"{loaded.version_variable}={version}")


def doubt_about(identity: MpiIdentity, linked: Linked, environ: Mapping[str, str]) -> str:
    """Return what is known to go wrong with what is loaded, and what to do; empty: nothing.

    Source: cscs-docs, Cray MPICH, for the GTL library; without it MPI_Init fails where GPU support is asked for.
    """
    library = next(
        (library for library in MPI_LIBRARIES if library.name == identity.name and library.is_loaded(environ)), None
    )
    if library is None:
        return ""
    if environ.get("MPICH_GPU_SUPPORT_ENABLED") == "1" and linked.options and "mpi_gtl" not in linked.options:
        return "MPI_Init fails: MPICH_GPU_SUPPORT_ENABLED=1 needs the GTL library; load craype-accel-..., or unset it"
    if identity.version is None:
        return ""
    module = environ[library.version_variable]
    if module.split(".")[:3] == identity.version.split(".")[:3]:
        return ""
    return (
        f"the module is {library.title} {module}, but programs load {identity.version}; to load the module's: "
        'export LD_LIBRARY_PATH="$CRAY_LD_LIBRARY_PATH:$LD_LIBRARY_PATH"'
    )


def hpcx_of(prefix: Path, environ: Mapping[str, str]) -> str:
    """`HPC-X 2.18` for the Open MPI of a loaded HPC-X, empty for any other."""
    folder = environ.get("HPCX_MPI_DIR", "")
    if not folder or Path(folder).resolve() != prefix.resolve():
        return ""
    number = re.search(r"hpcx-v?(\d+(?:\.\d+)+)", str(Path(folder).resolve()))
    return f"HPC-X {number[1]}" if number else "HPC-X"


def _candidates(mpicxx: Path | None, prefix: Path, linked: Linked) -> list[str]:
    """Libraries to ask, the one that a program would load first. CC leaves the folder to the dynamic linker."""
    folders = list(dict.fromkeys([*linked.folders, str(prefix / "lib"), str(prefix / "lib64")]))
    names = linked.names or ("mpi",)
    files = [Path(folder) / name for folder in folders for name in _files_in(folder)]
    files = [path for path in files if (_FILE.fullmatch(path.name) or [""])[1] in names]
    by_name = [path.name for path in files] if mpicxx is not None and mpicxx.name == CRAY_WRAPPER else []
    return [*dict.fromkeys(by_name), *map(str, files)]


def _files_in(folder: str | Path) -> Sequence[str]:
    """Names of MPI's libraries in a folder, those with a number first: they are what programs ask for."""
    try:
        names = [name for name in os.listdir(folder) if _FILE.fullmatch(name)]
    except OSError:
        return []
    return sorted(names, key=lambda name: (name.endswith(".so"), name))


def _loaded(mpicxx: Path | None, prefix: Path, environ: Mapping[str, str]) -> MpiLibrary | None:
    """The library whose module is loaded and whose wrapper this is."""
    for library in MPI_LIBRARIES:
        folders = [Path(environ[name]).resolve() for name in library.prefix_variables if environ.get(name)]
        is_its = mpicxx is not None and (mpicxx.name == CRAY_WRAPPER or prefix.resolve() in folders)
        if library.is_loaded(environ) and is_its:
            return library
    return None
