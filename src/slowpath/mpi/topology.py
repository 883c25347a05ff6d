# SPDX-License-Identifier: Apache-2.0
"""Which processors of this node share a core, a last cache (core group), a NUMA node or a socket; its network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

# Whether this node has a network other than the loopback.

ROUTES = (Path("/proc/net/route"), Path("/proc/net/ipv6_route"))


def network_is_up(routes: tuple[Path, Path] = ROUTES) -> bool:
    """Whether some route leads over another interface than lo: UCX takes none of them otherwise.

    True also where the kernel does not report it: then the launch shows it.
    """
    known = [path for path in routes if path.is_file()]
    return not known or any(_leads_out(path, head) for path, head in zip(routes, (1, 0), strict=True) if path in known)


def _leads_out(path: Path, head_lines: int) -> bool:
    rows = [line.split() for line in path.read_text().splitlines()[head_lines:]]
    # The interface is the first word of an IPv4 route and the last one of an IPv6 route.
    names = {row[0] if head_lines else row[-1] for row in rows if row}
    return bool(names - {"lo"})


# The kernel modules' own words.
GPU_MODULES = (Path("/proc/driver/nvidia/version"), Path("/sys/module/amdgpu/version"), Path("/sys/module/amdgpu"))
DRIVER_VARIABLES = ("SLOWPATH_CUDA_DRIVER", "SLOWPATH_HIP_DRIVER")  # a driver that the user names
_VERSION = re.compile(r"\b\d+(?:\.\d+)+\b")


def gpu_driver(modules: Sequence[Path] = GPU_MODULES) -> str | None:
    """Version of the GPU driver's kernel module: `580.65.06`; "unknown" where it states none; None: there is none."""
    for path in modules:
        if path.is_file() and (found := _VERSION.search(path.read_text(errors="replace"))):
            return found[0]
    return "unknown" if any(path.exists() for path in modules) else None


def gpu_driver_is_there(environ: Mapping[str, str] | None = None, modules: Sequence[Path] = GPU_MODULES) -> bool:
    """Whether an MPI library may ask a GPU's driver on this node."""
    environ = os.environ if environ is None else environ
    return gpu_driver(modules) is not None or any(environ.get(name) for name in DRIVER_VARIABLES)


SYSTEM = Path("/sys/devices/system/cpu")
Groups = dict[str, list[list[int]]]  # level, as in launcher.SPREADS -> groups of processors, each ascending


def processor_groups(processors: Iterable[int] | None = None, system: Path = SYSTEM) -> Groups:
    """Groups at each level among `processors`, by default those that this process may use.

    A level is left out where the kernel does not report it for every processor.
    """
    mine = sorted(os.sched_getaffinity(0) if processors is None else processors)
    levels = {
        "core": [_list(system / f"cpu{cpu}/topology/thread_siblings_list") for cpu in mine],
        "core_group": [_last_cache(system / f"cpu{cpu}/cache") for cpu in mine],
        "numa": [_numa_node(system / f"cpu{cpu}") for cpu in mine],
        "socket": [_list(system / f"cpu{cpu}/topology/package_cpus_list") for cpu in mine],
    }
    found: Groups = {}
    for level, keys in levels.items():
        if mine and all(key is not None for key in keys):
            by_key: dict[str, list[int]] = {}
            for cpu, key in zip(mine, keys, strict=True):
                by_key.setdefault(str(key), []).append(cpu)
            found[level] = list(by_key.values())
    return found


def _list(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _last_cache(folder: Path) -> str | None:
    """Return who shares the cache of the highest level; the core itself where each has its own."""
    try:
        caches = [(int((cache / "level").read_text()), cache) for cache in folder.glob("index*")]
    except (OSError, ValueError):
        return None
    return _list(max(caches)[1] / "shared_cpu_list") if caches else None


def _numa_node(folder: Path) -> str | None:
    return next((path.name for path in folder.glob("node[0-9]*")), None)
