# SPDX-License-Identifier: Apache-2.0
"""Variables of a layer that carries no message, by what the library reports of its paths. Pure.

Claimed only where the layer of every path is known. A layer that carries nothing may do something else: keep a log,
hook the allocator, or serve one-sided calls, so variables of logs and hooks are left out, and what is claimed is about
messages alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from slowpath.core.run_results import MessagePath
from slowpath.mpi.message_path import Layer
from slowpath.mpi.own_settings import OwnSetting

LAYER_TITLES: Mapping[Layer, str] = {"ucx": "UCX", "ofi": "libfabric"}
_PREFIXES: Mapping[str, Layer] = {"UCX_": "ucx", "FI_": "ofi"}
# Of what acts whoever carries the messages: logs, statistics, hooks of the allocator, where modules are.
_OTHER_WORK = (
    *("UCX_LOG_*", "UCX_PROTO_INFO", "UCX_WARN_*", "UCX_HANDLE_ERRORS", "UCX_ERROR_*", "UCX_DEBUG_*", "UCX_GDB_*"),
    *("UCX_STATS_*", "UCX_PROFILE_*", "UCX_VFS_*", "UCX_MEM_*", "UCX_MODULE*", "UCX_CONFIG_DIR", "UCX_MEMTRACK_*"),
    *("FI_LOG_*", "FI_HOOK", "FI_PROVIDER_PATH", "FI_PERF_*", "FI_MR_*", "FI_HMEM*"),
)
# What has the library carry its messages by a layer, where it was built with it.
_CHOOSES: Mapping[tuple[str, Layer], str] = {
    ("openmpi", "ucx"): "OMPI_MCA_pml=ucx",
    ("openmpi", "ofi"): "OMPI_MCA_pml=cm and OMPI_MCA_mtl=ofi",
    ("mpich", "ucx"): "MPIR_CVAR_CH4_NETMOD=ucx",
    ("mpich", "ofi"): "MPIR_CVAR_CH4_NETMOD=ofi",
}


def layer_of(name: str) -> Layer | None:
    """Return the layer that a variable is for, as far as it can only change how messages go; None: no such one."""
    if any(fnmatchcase(name, pattern) for pattern in _OTHER_WORK):
        return None
    return next((layer for prefix, layer in _PREFIXES.items() if name.startswith(prefix)), None)


def is_idle(layer: Layer, paths: Sequence[MessagePath]) -> bool:
    """Whether it is known that this layer carries no message: the layer of each path is known, and is another one.

    A provider of libfabric may itself go through UCX (mlx), so below libfabric UCX is not known to be idle.
    """
    if not paths or any(path.layer in (None, layer) for path in paths):
        return False
    return not (layer == "ucx" and any(path.layer == "ofi" for path in paths))


def idle_settings(
    settings: Sequence[OwnSetting], paths: Sequence[MessagePath], blamed: Collection[str] = ()
) -> dict[Layer, list[OwnSetting]]:
    """Return the user's settings that change nothing about messages, by their layer.

    Args: blamed: names of settings that a finding names as what makes something slower; they are left out.
    """
    found: dict[Layer, list[OwnSetting]] = {}
    for setting in settings:
        layer = layer_of(setting.name)
        if layer is not None and setting.name not in blamed and is_idle(layer, paths):
            found.setdefault(layer, []).append(setting)
    return found


def what_chooses(library: str, layer: Layer) -> str | None:
    """Return what to set so that messages go by the layer, `OMPI_MCA_pml=ucx`; None: that is not known."""
    return _CHOOSES.get((library, layer))
