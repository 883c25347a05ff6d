# SPDX-License-Identifier: Apache-2.0
"""Whether a program that was linked with one library of a binary interface runs with another one of that interface."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from slowpath.run.engine.elf_symbols import Symbols, symbols

# Names of MPI functions and of the objects behind predefined handles.
_OF_MPI = ("MPI_", "PMPI_", "ompi_")
_NAMED = 3


def why_unfit(program: Path, library: Path, environ: Mapping[str, str]) -> str | None:
    """Why `program` can't be started with `library`; None: it can, as far as files show it."""
    reads, offers = symbols(program), symbols(library)
    if reads is None or offers is None:
        return f"{library if offers is None else program} can't be read as a library of this machine"
    return _missing(reads, offers, library) or _found_before(library, environ)


def _missing(reads: Symbols, offers: Symbols, library: Path) -> str | None:
    """Objects are copied into the program when it starts, in the size that it was linked with."""
    lacking = sorted(name for name in reads.wanted - offers.defined if name.startswith(_OF_MPI))
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        return f"{library} has no {', '.join(lacking[:_NAMED])}{more}"
    copied = (name for name in reads.objects if name.startswith(_OF_MPI))
    other = next((name for name in copied if offers.objects.get(name, reads.objects[name]) != reads.objects[name]), "")
    return f"{other} has another size in {library}" if other else None


def _found_before(library: Path, environ: Mapping[str, str]) -> str | None:
    """ld.so(8): LD_LIBRARY_PATH comes before a program's run path."""
    folders = [Path(folder) for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    first = next((folder / library.name for folder in folders if os.path.isfile(folder / library.name)), library)
    if first.resolve() == library.resolve():
        return None
    return f"LD_LIBRARY_PATH leads to {first} first; put {library.parent} first in it"
