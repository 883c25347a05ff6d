# SPDX-License-Identifier: Apache-2.0
"""What run.json states about the machine. A fact that can't be had is null."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.cpu_list import format_cpu_list
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.own_settings import NOT_RECORDED, VARIABLES, recorded_variables
from slowpath.mpi.place import gpu_driver, processor_groups
from slowpath.run.place import place_here


def machine_facts(environ: Mapping[str, str]) -> dict[str, Any]:
    """Host, kernel, processor, cores, memory, page settings, and the variables that steer MPI."""
    kept, hidden = recorded_variables(environ)
    return {
        "host": platform.node(),
        "system": " ".join([platform.system(), platform.machine()]),
        "kernel": platform.release(),
        "distribution": _release_name(),
        "processor": processor_model(),
        "processors": os.cpu_count(),
        "processors_allowed": format_cpu_list(sorted(os.sched_getaffinity(0))),
        "processor_groups": {
            level: [format_cpu_list(cpus) for cpus in each] for level, each in processor_groups().items()
        },
        "allocation": _allocation(environ),
        "numa_nodes": read_line("/sys/devices/system/node/online"),
        "memory_bytes": _memory_bytes(),
        "gpus": gpu_models(),
        "gpu_driver": gpu_driver(),
        "huge_pages": bracketed("/sys/kernel/mm/transparent_hugepage/enabled"),
        "governor": read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load": list(os.getloadavg()),
        "place": msgspec.to_builtins(place_here()),
        "python": platform.python_version(),
        VARIABLES: kept,
        NOT_RECORDED: hidden,
    }


def stated_variables(machine: Mapping[str, Any]) -> dict[str, str]:
    """Values of a record, and that there is one where it was not recorded."""
    kept, hidden = (machine.get(part) or {} for part in (VARIABLES, NOT_RECORDED))
    return {**dict.fromkeys(hidden, "set, value not recorded"), **kept}


def _allocation(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The batch system's job and its nodes; None outside of any."""
    found = find_allocation(environ)
    if found is None:
        return None
    return {"scheduler": found.scheduler, "job": found.job, "nodes": found.nodes, "names": list(found.names)}


def read_line(path: str | Path) -> str | None:
    """The first line of a file, None if there is no such file or it may not be read."""
    try:
        return Path(path).read_text().strip().splitlines()[0]
    except (OSError, IndexError, UnicodeDecodeError):
        return None


def bracketed(path: str | Path) -> str | None:
    """The chosen one of `always [madvise] never`."""
    words = (read_line(path) or "").split()
    return next((word.strip("[]") for word in words if word.startswith("[")), None)


def first_value(path: str | Path, key: str) -> str | None:
    """Value of the first `key : value` line."""
    try:
        lines = Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def processor_model(cpuinfo: str | Path = "/proc/cpuinfo") -> str | None:
    """`model name`; of processors of ARM, whose kernels state none, implementer and part; of POWER `cpu`."""
    named = first_value(cpuinfo, "model name") or first_value(cpuinfo, "cpu")
    if named:
        return named
    maker, part, variant = (first_value(cpuinfo, f"CPU {name}") for name in ("implementer", "part", "variant"))
    return f"ARM implementer {maker} part {part} variant {variant or 'unknown'}" if maker and part else None


def gpu_models(
    nvidia: str | Path = "/proc/driver/nvidia/gpus", amd: str | Path = "/sys/module/amdgpu"
) -> list[str] | None:
    """Return the model of each GPU of the node, as the driver's kernel module states it; [] without a module; None:
    not known.
    """
    if Path(nvidia).is_dir():
        models = [first_value(path / "information", "Model") for path in sorted(Path(nvidia).iterdir())]
        return [model or "unnamed" for model in models]
    return None if Path(amd).is_dir() else []


def _memory_bytes() -> int | None:
    value = first_value("/proc/meminfo", "MemTotal")
    return int(value.split()[0]) * 1024 if value else None


def _release_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
