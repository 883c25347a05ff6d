# SPDX-License-Identifier: Apache-2.0
"""The parameter files that an MPI library reads by itself: where they are, and their text.

Sources: Open MPI: `ompi_info --all` of 5.0.11 (mca_base_param_files, mca_base_override_param_file); what its launcher
reads was seen by `mpirun -n 1 env`. UCX: the names in libucs of MPICH 5.0.2's package (ucx.conf, UCX_CONFIG_DIR, HOME).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from slowpath.mpi.install.place import read_manifest, variables
from slowpath.mpi.mpi import Mpi, needed_variables
from slowpath.mpi.own_settings import OwnSetting, ParameterFile, own_settings

LONGEST_BYTES = 1 << 20
_NO_SWITCH = "the library can't ignore this file; comment the line out to try without it"
_OVERRIDES = "the library can't ignore this file; comment the line out to try without it"
_STARTS = "it controls how ranks start, not their messages"


def settings_of(mpi: Mpi, environ: Mapping[str, str], has_gpus: bool = True) -> tuple[OwnSetting, ...]:
    """Return all settings of the user's that reach this MPI, with where each comes from.

    Args: has_gpus: whether messages from GPU memory are asked about.
    """
    needed = {*mpi.env, *needed_variables(mpi.name, mpi.prefix, {}, 0)}
    if read_manifest(mpi.prefix):
        needed |= {*variables(mpi.prefix, environ)}
    return own_settings(environ, needed, list(parameter_files(mpi, environ)), mpi.name, has_gpus)


def parameter_files(mpi: Mpi, environ: Mapping[str, str]) -> Iterator[ParameterFile]:
    """Return the files that can be read; of one parameter the first one counts."""
    home = Path(environ["HOME"]) if environ.get("HOME") else None
    for path, prefix, left_in in _places(mpi, environ, home):
        try:
            text = path.read_bytes()[:LONGEST_BYTES].decode("utf-8", "replace")
        except OSError:
            continue
        yield ParameterFile(str(path), text, prefix, left_in)


def _places(mpi: Mpi, environ: Mapping[str, str], home: Path | None) -> Iterator[tuple[Path, str, str | None]]:
    etc = mpi.prefix / "etc"
    if mpi.name == "openmpi":
        yield etc / "openmpi-mca-params-override.conf", "OMPI_MCA_", _OVERRIDES
        named = environ.get("OMPI_MCA_mca_base_param_files")
        if named is not None:
            yield from ((Path(path), "OMPI_MCA_", None) for path in re.split("[,:]", named) if path.startswith("/"))
        else:
            if home:
                yield home / ".openmpi" / "mca-params.conf", "OMPI_MCA_", None
            yield etc / "openmpi-mca-params.conf", "OMPI_MCA_", None
        for name, prefix in (("prte", "PRTE_MCA_"), ("pmix", "PMIX_MCA_")):
            if home:
                yield home / f".{name}" / "mca-params.conf", prefix, _STARTS
            yield etc / f"{name}-mca-params.conf", prefix, _STARTS
    folders = [environ.get("UCX_CONFIG_DIR", ""), str(home) if home else "", str(etc / "ucx")]
    yield from ((Path(folder) / "ucx.conf", "UCX_", _NO_SWITCH) for folder in folders if folder)
