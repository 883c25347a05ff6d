# SPDX-License-Identifier: Apache-2.0
"""Where the MPIs lie that `slowpath mpi install` made, what is written about each, and what each needs to start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE

VARIABLE = "SLOWPATH_DATA_DIR"
MANIFEST = "slowpath-mpi.json"
NAMES = ("cuda",)
# Below the prefix, as the libucx wheel has them: its CUDA module finds the CUDA runtime by $ORIGIN/../../../ and this.
UCX_LIBRARIES = "libucx/lib"
CUDA_RUNTIME = "libucx_cu13.libs"


class Manifest(msgspec.Struct, frozen=True):
    """slowpath-mpi.json in the prefix: what it was made of.

    openmpi, ucx: versions.  origins: package -> where its files came from.  notes: what is lacking, a line each.
    """

    name: str
    openmpi: str
    ucx: str
    slowpath: str
    made: str
    origins: dict[str, str]
    notes: tuple[str, ...] = ()

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
