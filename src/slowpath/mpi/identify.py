# SPDX-License-Identifier: Apache-2.0
"""Which MPI library a launcher and a compiler wrapper belong to, from what they print. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """What `mpiexec --version` says: library (mpich, openmpi, intelmpi, unknown), its version, its launcher."""

    name: str
    version: str | None
    launcher: str
    line: str


@dataclass(frozen=True)
class Mark:
    """A pattern in the version text that tells a library. `launcher` is a name in `launchers.LAUNCHERS`."""

    pattern: re.Pattern[str]
    name: str
    launcher: str


# First match wins. Intel's launcher is a Hydra too, but binds by variables of its own, so it stands first. Open MPI 4
# calls itself OpenRTE when it is started as mpiexec.
MARKS = (
    Mark(re.compile(r"Intel\(R\) MPI Library.*?Version (\d[\w.]*)"), "intelmpi", "hydra-intel"),
    Mark(re.compile(r"\((?:Open MPI|OpenRTE)\) ([5-9]\d*\.[\w.]*|[1-9]\d+\.[\w.]*)"), "openmpi", "prterun"),
    Mark(re.compile(r"\((?:Open MPI|OpenRTE)\) ([1-4]\.[\w.]*)"), "openmpi", "orterun"),
    Mark(re.compile(r"HYDRA build details:.*?Version:\s+(\d[\w.]*)", re.DOTALL), "mpich", "hydra"),
    Mark(re.compile(r"^slurm (?:\S*-)?(\d[\w.]*)", re.MULTILINE), "unknown", "srun"),
    # From documentation, not run here.
    Mark(re.compile(r"^libflux-core:\s+(\d[\w.]*)", re.MULTILINE), "unknown", "flux"),
    Mark(re.compile(r"^aprun \(ALPS\) (\d[\w.]*)", re.MULTILINE), "unknown", "aprun"),
    # The mpiexec of HPE PALS does not say its name: "mpiexec version 1.8.0 revision 0a1b2c" (E3SM's mache tells it so).
    Mark(re.compile(r"^mpiexec version (\d[\w.]*) revision\b|\bPALS\b", re.MULTILINE), "unknown", "pals"),
)

# Launchers of batch systems, by row and, but for pals, by file: what they start is the library of the compiler wrapper
# on the PATH.
BATCH_NAMES = ("srun", "flux", "pals", "aprun", "jsrun", "ibrun")


def identify(version_text: str, called: str = "") -> Identity:
    """The library whose launcher printed `version_text`; `unknown` with launcher `mpiexec` if nothing matches.

    called: the launcher's file name, which tells those of batch systems that print no version.
    """
    first = next((line.strip() for line in version_text.splitlines() if line.strip()), "")
    for mark in MARKS:
        found = mark.pattern.search(version_text)
        if found:
            version = found.group(1) if mark.name != "unknown" else None
            return Identity(mark.name, version, mark.launcher, first.rstrip(":"))
    return Identity("unknown", None, called if called in BATCH_NAMES else "mpiexec", first)


def link_folders(show_text: str) -> list[str]:
    """Folders of libraries in what `mpicxx -show` prints (-L and -rpath), in order, each once."""
    found = re.findall(r"(?:-L|-rpath[=,\s]\s*(?:-Wl,|-Xlinker\s+)?)\"?([^\s\",]+)", show_text)
    return list(dict.fromkeys(folder for folder in found if folder.startswith("/")))


# SONAME of the library that programs link: an engine runs under every library that provides the same one.
ABI_OF_SONAME = {
    "libmpi.so.12": "mpich",  # MPICH ABI initiative: MPICH, Intel MPI, MVAPICH, Cray MPICH
    "libmpich.so.12": "mpich-debian",  # Debian renames the library, so its programs run with no other
    "libmpi.so.40": "openmpi",
    "libmpi.so.80": "openmpi6",
}
STANDARD_SONAME = "libmpi_abi.so.1"  # MPI-5.0, chapter 20


def abi_of(file_names: Iterable[str], library: str) -> str:
    """Name of the binary interface, from the file names in the library folders; by library if none tells."""
    names = set(file_names)
    for soname, abi in ABI_OF_SONAME.items():
        if soname in names:
            return abi
    return {"mpich": "mpich", "intelmpi": "mpich", "openmpi": "openmpi"}.get(library, "unknown")
