# SPDX-License-Identifier: Apache-2.0
"""The doctor's lines on the place: each what was read or tried, judged by the check of the same name for two ranks.

Yama, XPMEM and KNEM decide with CMA whether one process may copy straight from another's memory.
"""

from __future__ import annotations

import os
from pathlib import Path

from slowpath.core.errors import SlowpathError
from slowpath.core.place import PlaceFacts
from slowpath.core.units import format_bytes, format_ratio
from slowpath.doctor.check import Check
from slowpath.mpi import place as judges
from slowpath.mpi.find import find_mpi
from slowpath.mpi.place import PlaceCheck, PlaceJob
from slowpath.run.machine import read_line
from slowpath.run.place import place_here

RANKS = 2


def cma() -> Check:
    """A real process_vm_readv(2) between two processes that are each other's neither parent nor child, as ranks are."""
    place = place_here()
    value = None
    if place.copy_errno is not None:
        tried = "an 8 KiB copy between two processes went"
        value = f"permitted, {tried}" if place.copy_errno == 0 else "refused"
        if place.copy_errno and place.asked_errno == 0:
            value = "permitted where a library asks for it"
    return _check(judges.single_copy, place, "CMA", value, "MPI can move large messages inside a node in one copy")


def seccomp() -> Check:
    """Whether system calls are filtered; that a filter refuses the copy is the line before."""
    place = place_here()
    words = {0: "no filter", 1: "strict", 2: "a filter"}
    means = "the container's filter refuses process_vm_readv or slows system calls down"
    return Check("seccomp", words.get(place.seccomp if place.seccomp is not None else -1), "ok", means)


def shared_memory() -> Check:
    """Room in /dev/shm."""
    place = place_here()
    value = None
    if place.shm_bytes is not None and place.shm_free_bytes is not None:
        value = f"{_size(place.shm_bytes)}, {_size(place.shm_free_bytes)} free"
    return _check(judges.shared_memory, place, "/dev/shm", value, "libraries keep messages inside a node there")


def processor_limit() -> Check:
    """A limit of processor time by the container or batch system (cgroup)."""
    place = place_here()
    quota = place.processor_quota
    value = "none" if quota is None else f"{format_ratio(quota)} processors"
    means = "no control group limits processor time" if quota is None else f"enough for {RANKS} ranks"
    return _check(judges.processor_limit, place, "processor limit", value, means)


def memory_limit() -> Check:
    """A limit of memory by the container or batch system (cgroup)."""
    place = place_here()
    limit = place.memory_limit_bytes
    value = "none" if limit is None else _size(limit)
    return _check(judges.memory_limit, place, "memory limit", value, "of the control group")


def allowed_processors() -> Check:
    """Processors that ranks inherit."""
    place = place_here()
    value = f"{place.processors} of {place.online}" if place.processors and place.online else place.processors
    return _check(judges.allowed_processors, place, "allowed processors", value, f"{RANKS} ranks have one each")


def numa_balancing() -> Check:
    """Whether the kernel moves pages between NUMA nodes by itself."""
    place = place_here()
    value = None if place.numa_balancing is None else "on" if place.numa_balancing else "off"
    means = "no effect on one node" if place.numa_balancing else "pages stay where they are"
    return _check(judges.numa_balancing, place, "NUMA balancing", value, means)


def virtual_machine() -> Check:
    """Whether a hypervisor stands below. It is noted and no reason to warn: many machines are such."""
    found = judges.virtual_machine(place_here(), PlaceJob(RANKS))
    return Check(
        "virtual machine", "yes" if found else "not seen", "ok", found.text if found else "no hypervisor shows itself"
    )


def gpu_driver() -> Check:
    """Version of the GPU driver."""
    place = place_here()
    fine = (
        "older than the versions whose pointer query is slow" if place.gpu_driver else "no message asks for GPU memory"
    )
    return _check(judges.gpu_driver, place, "GPU driver", place.gpu_driver or "none", fine)


def _size(count: int) -> str:
    """In whole MiB or GiB: what is free changes from one moment to the next."""
    unit = next((unit for unit in (2**30, 2**20) if count >= 4 * unit), 1)
    return format_bytes(count // unit * unit)


def _check(check: PlaceCheck, place: PlaceFacts, name: str, value: str | None, fine: str) -> Check:
    found = check(place, PlaceJob(RANKS, _library(), os.environ))
    if found is None:
        return Check(name, value, "ok", fine)
    return Check(name, value, "warn", found.text, found.do)


def _library() -> str | None:
    try:
        return find_mpi(None).name
    except SlowpathError:
        return None


def ptrace_scope() -> Check:
    """Yama's restriction of ptrace, which CMA obeys too."""
    scope = read_line("/proc/sys/kernel/yama/ptrace_scope")
    if scope is None:
        return Check("ptrace_scope", "no Yama", "ok", "the kernel restricts CMA by user only")
    if scope == "0":
        return Check("ptrace_scope", "0", "ok", "ranks may read each other's memory")
    return Check(
        "ptrace_scope",
        scope,
        "warn",
        "only descendants may be read, so ranks can't use CMA unless the MPI library requests it (PR_SET_PTRACER)",
        "sysctl kernel.yama.ptrace_scope=0, by an administrator",
    )


def xpmem() -> Check:
    """The XPMEM device."""
    return _device("XPMEM", Path("/dev/xpmem"), "MPI can map other ranks' memory")


def knem() -> Check:
    """The KNEM device."""
    return _device("KNEM", Path("/dev/knem"), "MPI can copy in one step through KNEM")


def _device(name: str, path: Path, use: str) -> Check:
    if not path.exists():
        return Check(name, "absent", "ok", f"no {path}; its paths can't be measured here, CMA is the usual substitute")
    if not os.access(path, os.R_OK | os.W_OK):
        return Check(name, "not permitted", "warn", f"{path} exists but can't be opened", f"ask for access to {path}")
    return Check(name, "present", "ok", use)
