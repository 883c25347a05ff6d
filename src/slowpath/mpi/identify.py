# SPDX-License-Identifier: Apache-2.0
"""Which MPI library a launcher and a compiler wrapper belong to, from what they print. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slowpath.mpi.launchers import BATCH_NAMES, LAUNCHERS
from slowpath.mpi.libraries import MPI_LIBRARIES, MpiLibrary


@dataclass(frozen=True)
class MpiIdentity:
    """What `mpiexec --version` reports: library (its name in libraries, or unknown), its version, its launcher."""

    name: str
    version: str | None
    launcher: str
    line: str


def identify(version_text: str, called: str = "") -> MpiIdentity:
    """The library whose launcher printed `version_text`; `unknown` with launcher `mpiexec` if nothing matches.

    called: the launcher's file name, by which those of batch systems are known that print no version.
    """
    first = next((line.strip() for line in version_text.splitlines() if line.strip()), "")
    for launcher in LAUNCHERS:
        found = launcher.version_line.search(version_text) if launcher.version_line else None
        if found:
            version = found.group(1) if launcher.library else None
            return MpiIdentity(launcher.library or "unknown", version, launcher.name, first.rstrip(":"))
    return MpiIdentity("unknown", None, called if called in BATCH_NAMES else "mpiexec", first)


def named_in(library_text: str) -> tuple[MpiLibrary, str | None] | None:
    """The library that returned `library_text` from MPI_Get_library_version, and its version; None: not known."""
    for library in MPI_LIBRARIES:
        if found := library.text.search(library_text):
            return library, found.group(1)
    return None


def include_folders(show_text: str) -> list[str]:
    """Folders of headers in what a wrapper prints of itself (-I and -isystem), in order, each once."""
    return _folders(r"(?:-I|-isystem)\s*\"?([^\s\",]+)", show_text)


def link_folders(show_text: str) -> list[str]:
    """Folders of libraries in what a wrapper prints of itself (-L and -rpath), in order, each once."""
    return _folders(r"(?:-L|-rpath[=,\s]\s*(?:-Wl,|-Xlinker\s+)?)\"?([^\s\",]+)", show_text)


def _folders(option: str, show_text: str) -> list[str]:
    found = re.findall(option, show_text)
    return list(dict.fromkeys(folder for folder in found if folder.startswith("/")))
