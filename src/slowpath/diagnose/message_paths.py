# SPDX-License-Identifier: Apache-2.0
"""What carries the messages of a diagnosis, and which of the user's settings are for another layer. Pure.

Claimed only where the layer of every path is known. A layer that carries nothing may do something else: keep a log,
hook the allocator, or serve one-sided calls, so variables of logs and hooks are left out, and what is claimed is about
messages alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from slowpath.core.brief import MOST_ACTIONS
from slowpath.core.results import Finding, MessagePath, Results, Verdict
from slowpath.diagnose.own_settings.listing import OWN_WITNESSED
from slowpath.diagnose.own_settings.named import responsible
from slowpath.diagnose.state import MeasuredStep, settings_of
from slowpath.diagnose.tasks import PathTask, SurveyTask
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


def paths_in(results: Results) -> Sequence[MessagePath]:
    """What carries messages in the user's own environment, as a run recorded it."""
    return [path for path in results.run.mpi.paths or () if path.environment == OWN_WITNESSED]


def paths_of(measured: Sequence[MeasuredStep]) -> Sequence[MessagePath]:
    """The same of the step that asked; empty: no step did, or its launch failed."""
    return next((paths_in(one.results) for one in measured if isinstance(one.step.task, PathTask)), ())


def without_effect(measured: Sequence[MeasuredStep], findings: Sequence[Finding], library: str) -> list[str]:
    """One sentence for each layer that the user has settings of and that carries no message, with the evidence.

    Nothing where the path was asked for without a setting that was set aside: with it, it may be another one.

    Args: findings: a setting that one of them names as what makes something slower is left out.  library: the MPI.
    """
    tasks = (one.step.task for one in measured)
    if any(isinstance(task, SurveyTask) and task.aside for task in tasks):
        return []
    paths = paths_of(measured)
    blamed = {name for finding in findings for name in responsible(finding)}
    said = []
    for layer, settings in idle_settings(settings_of(measured), paths, blamed).items():
        words, title = " and ".join(setting.words for setting in settings), LAYER_TITLES[layer]
        verb, them = ("have", "them") if len(settings) > 1 else ("has", "it")
        ways = "; ".join(path.words for path in paths)
        chosen = what_chooses(library, layer)
        more = f", or have {title} carry messages ({chosen})" if chosen else ""
        said.append(
            f"{words} {verb} no effect on messages here, since {title} carries none: {ways}. Unset {them}{more}."
        )
    return said


def with_settings_without_effect(verdict: Verdict, said: Sequence[str]) -> Verdict:
    """The verdict that names them. They cost nothing, so what does comes first, but one of few lines is theirs."""
    if not said:
        return verdict
    return replace(verdict, actions=[*verdict.actions[: MOST_ACTIONS - 1], " ".join(said)])
