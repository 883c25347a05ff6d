# SPDX-License-Identifier: Apache-2.0
"""Engines that came in the wheel: which one fits an MPI, and taking it into the cache.

tools/build-wheel compiles one for each binary interface, for any processor, and leaves room for the folder of the
user's MPI library. Taken into the cache it is an engine like those that are compiled there: with its own folder, which
compute nodes see, and its own key.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.owners import make_place
from slowpath.core.resources import data_folder
from slowpath.mpi.libraries import STANDARD_SONAME, sonames_of
from slowpath.mpi.library_file import library_file
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.probe import output_of
from slowpath.run.engine.blas import PACKAGE, PACKAGED, PLUGIN, package_version, packaged_openblas
from slowpath.run.engine.cache import PROGRAM, STANDARD_ABI, Engine, cached_engine, engines_folder, source_hash
from slowpath.run.engine.elf import Symbols, dynamic, symbols
from slowpath.run.engine.meter import Tell
from slowpath.run.engine.usable import discard, kept_now, seal, usable_engine, why_damaged
from slowpath.run.engine.workplace import workplace

# Whether a program that was linked with one library of a binary interface runs with another one of that interface.

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


# Writing the folder of the user's MPI library into a prebuilt program, over the room that its run path holds for it.
#
# So it finds that library on every node, as a program that was compiled here does, and no variable has to be set.

# As engine/CMakeLists.txt links it where SLOWPATH_PORTABLE is on.
ROOM_BEGINS = "/slowpath-mpi-library/"
_ROOM = re.compile(ROOM_BEGINS.encode() + b"x+")


def write_library_folder(program: Path, folder: Path) -> bool:
    """Put `folder` where the room is; False: its path is too long, and nothing was written."""
    content = program.read_bytes()
    found, name = _ROOM.search(content), bytes(folder)
    if found is None:
        return True
    if len(name) > len(found[0]) or b":" in name or b"$" in name:
        return False
    mode = program.stat().st_mode
    program.write_bytes(content[: found.start()] + name.ljust(len(found[0]), b"\0") + content[found.end() :])
    program.chmod(mode)
    return True


WORD = "prebuilt"  # SLOWPATH_ENGINE: take the wheel's engine, or fail


@dataclass(frozen=True)
class Fitting:
    """An engine of the wheel that fits. library: the file of the MPI that it will load."""

    engine: Engine
    library: Path


def wheel_folder() -> Path:
    """Folder of the wheel's engines, one folder for each binary interface; not there in a checkout."""
    return data_folder("engines")


def has_prebuilt() -> bool:
    """Whether Slowpath was installed from a wheel with engines."""
    return wheel_folder().is_dir()


def fitting(mpi: Mpi, environ: Mapping[str, str]) -> Fitting | str:
    """The engine of the wheel for this MPI, or why there is none. Starts no program but the MPI's wrapper."""
    if not has_prebuilt():
        return "this installation of Slowpath holds no prebuilt engines"
    reason = f"there is none for the {mpi.abi} interface"
    for abi in (mpi.abi, *([STANDARD_ABI] if mpi.standard_abi else [])):
        engine = cached_engine(wheel_folder() / abi)
        if engine is None:
            continue
        found = _fits(engine, mpi, environ)
        if isinstance(found, Fitting):
            return found
        reason = found
    return reason


def take(fit: Fitting, mpi: Mpi, environ: Mapping[str, str], tell: Tell = lambda _: None) -> Engine | str:
    """The engine in the cache, put there now if need be; or why it does not start with this library.

    tell: takes a line where one is there that must not be used.
    Raises: OSError: the cache can't be written.
    """
    package, version = packaged_openblas(), package_version()
    blas = f"{PACKAGE} {version}" if package and (fit.engine.program.parent / PLUGIN).exists() else None
    identity = "\n".join([fit.engine.note.key, str(fit.library), mpi.build_identity, str(blas)])
    key = f"{mpi.name}-{mpi.version or 'unknown'}-wheel-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    folder = engines_folder(environ) / key
    if (ready := usable_engine(folder, environ, tell)) is not None:
        return ready
    make_place(folder.parent)
    discard(folder, environ)
    with workplace(folder) as work:
        staged = work / "staged"
        shutil.copytree(fit.engine.program.parent, staged)
        if reason := _fitted(staged, fit.library, environ):
            return reason
        (staged / PLUGIN).unlink(missing_ok=True) if blas is None else None
        if package and blas:
            shutil.copy2(package / "lib" / PACKAGED, staged / PACKAGED)
        note = msgspec.structs.replace(fit.engine.note, key=key, mpi=mpi.identity, mpicxx=str(mpi.mpicxx), blas=blas)
        seal(staged, note)
        with contextlib.suppress(FileExistsError, OSError):  # another process may have been faster: its is as good
            staged.rename(folder)
    return kept_now(folder, environ)


def _fits(engine: Engine, mpi: Mpi, environ: Mapping[str, str]) -> Fitting | str:
    if reason := why_damaged(engine.program.parent, engine.note.files):
        return f"{reason}; reinstall slowpath"
    if engine.note.source != source_hash(data_folder("engine")):
        return "it is not made of the source that is installed"
    names = (STANDARD_SONAME,) if engine.note.abi == STANDARD_ABI else sonames_of(engine.note.abi)
    library = next((found for name in names if (found := library_file(mpi, name, environ)) is not None), None)
    if library is None:
        return f"{mpi.identity} at {mpi.prefix} has no {' or '.join(names)} in sight"
    reason = why_unfit(engine.program, library, environ)
    return reason or Fitting(engine, library)


def _fitted(folder: Path, library: Path, environ: Mapping[str, str]) -> str | None:
    """Write the library's folder into all programs of `folder`, and start one. None: it describes itself."""
    for path in folder.iterdir():
        if path.is_file() and dynamic(path) is not None and not write_library_folder(path, library.parent.absolute()):
            return f"the path of {library} is too long, or has a colon or a dollar sign"
    program = folder / PROGRAM
    if not os.access(program, os.X_OK):
        program.chmod(0o755)
    if output_of([str(program), "describe", "--json"], environ) is None:
        return f"it does not start with {library}; see: {program} describe"
    return None
