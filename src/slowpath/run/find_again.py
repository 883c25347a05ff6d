# SPDX-License-Identifier: Apache-2.0
"""The MPI that a folder was measured with, found anew on this machine.

The folder states which they were: name, version, kind of launcher, key of the engine. Where they lie here says this
machine alone: --mpi, SLOWPATH_MPI, the PATH, known places, and the wrappers for which engines were built here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.errors import EnvironmentFailure, RecordError, SlowpathError
from slowpath.core.machine import MpiFacts
from slowpath.mpi.find import LAUNCHER_NAMES, find_all, find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.choose import choose_mpis
from slowpath.run.engine.usable import usable_engines


class Stated(MpiFacts, frozen=True):
    """What a folder states of an MPI and the engine for it; `mpiexec` is for messages, and for --trust."""

    @property
    def engine_key(self) -> str | None:
        """Return the key of the engine; None: the run states none."""
        return self.engine.key if self.engine else None

    @property
    def words(self) -> str:
        """`mpich 5.0.2 (/opt/mpich/bin/mpiexec)`."""
        place = f" ({self.mpiexec})" if self.mpiexec else ""
        return f"{' '.join(filter(None, (self.name, self.version))) or 'an MPI without a name'}{place}"

    @property
    def is_at_a_place(self) -> bool:
        """Whether it states an absolute path."""
        return self.mpiexec is not None and "\0" not in self.mpiexec and Path(self.mpiexec).is_absolute()

    def is_(self, mpi: Mpi) -> bool:
        """Whether this MPI is what was measured, wherever it lies."""
        same = (mpi.name, mpi.version) == (self.name, self.version)
        return same and self.launcher in (None, mpi.launcher)


def stated(facts: Mapping[str, Any], where: str) -> Stated:
    """Return the facts that a run states of its MPI.  Raises: RecordError: fields have wrong types."""
    try:
        return msgspec.convert(facts, Stated)
    except msgspec.ValidationError as error:
        raise RecordError(f"{where}: its MPI description is damaged: {error}; restore it from a copy") from error


def mpi_again(
    was: Stated, where: str, environ: Mapping[str, str], option: str | None = None, trust: bool = False
) -> Mpi:
    """The same library and version on this machine; of several the one at the stated place.

    Args: option: as --mpi; nothing else is then looked at.  trust: where none is found, the stated path is started.
    Raises: EnvironmentFailure: it is not here.  UsageError: the option names nothing.
    """
    found = list(_candidates(was, environ, option))
    same = [mpi for mpi in found if was.is_(mpi)]
    if same:
        place = os.path.realpath(was.mpiexec) if was.is_at_a_place and was.mpiexec else None
        return next((mpi for mpi in same if os.path.realpath(mpi.mpiexec) == place), same[0])
    if option is None and trust and was.is_at_a_place and was.mpiexec and os.access(was.mpiexec, os.X_OK):
        mpi = find_mpi(was.mpiexec, environ)
        if was.is_(mpi):
            return mpi
        raise EnvironmentFailure(
            f"{where}: was measured with {was.words}, which is now {mpi.identity}; start a new run"
        )
    here = ", ".join(dict.fromkeys(f"{mpi.identity} ({mpi.mpiexec})" for mpi in found)) or "no MPI"
    other = "" if option else ", or use what the folder names with --trust"
    raise EnvironmentFailure(
        f"{where}: was measured with {was.words}, but {'--mpi names' if option else 'found here:'} {here}; name "
        f"that MPI with --mpi PATH{other}"
    )


def _candidates(was: Stated, environ: Mapping[str, str], option: str | None) -> Iterator[Mpi]:
    if option:
        yield from choose_mpis(option, None, environ).found
        return
    yield from find_all(environ)
    for launcher in _of_engines(was.engine_key, environ):
        try:
            yield find_mpi(str(launcher), environ)
        except SlowpathError:
            continue


def _of_engines(key: str | None, environ: Mapping[str, str]) -> Iterator[Path]:
    """Launchers next to the wrapper for which the engine with this key was built here."""
    for engine in usable_engines(environ, lambda engine: engine.note.key == key):
        wrapper = Path(engine.note.mpicxx)
        if wrapper.is_absolute():
            for name in (
                f"{launcher}{suffix}" for suffix in dict.fromkeys((wrapper.suffix, "")) for launcher in LAUNCHER_NAMES
            ):
                if (wrapper.parent / name).is_file():
                    yield wrapper.parent / name
                    break
