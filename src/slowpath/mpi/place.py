# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the place where ranks run: one list of checks, each one function. Pure.

A fault costs every program there, and speaks in the first line of a verdict. What costs some programs is a line of the
doctor. A place that is fine has none.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.machine import PlaceFacts, PlaceFault, format_cpu_list, parse_cpu_list
from slowpath.core.units import format_bytes, format_time, plural
from slowpath.mpi.libraries import TITLES

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
        if path.is_file() and (version := _VERSION.search(path.read_text(errors="replace"))):
            return version[0]
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
        "numa": [next((path.name for path in (system / f"cpu{cpu}").glob("node[0-9]*")), None) for cpu in mine],
        "socket": [_list(system / f"cpu{cpu}/topology/package_cpus_list") for cpu in mine],
    }
    groups: Groups = {}
    for level, keys in levels.items():
        if mine and all(key is not None for key in keys):
            by_key: dict[str, list[int]] = {}
            for cpu, key in zip(mine, keys, strict=True):
                by_key.setdefault(str(key), []).append(cpu)
            groups[level] = list(by_key.values())
    return groups


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


MIB = 2**20
LEAST_STILL = 0.02  # of the time that processes spun, from which on it is said that they stood still
MEMORY_A_RANK_BYTES = 64 * MIB  # what a rank of any library has in memory before the program has anything
SLOW_QUERY_DRIVER = 580  # NVIDIA's, from which on a pointer that is no GPU's takes long to look up


@dataclass(frozen=True)
class PlaceJob:
    """What is to run there. ranks: on one node.  library: name of the MPI.  variables: that steer it."""

    ranks: int
    library: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The library as it calls itself."""
        return TITLES.get(self.library or "", "MPI")


@dataclass(frozen=True)
class _SharedMemory:
    """What a library takes in /dev/shm, measured with 2, 4 and 8 ranks of MPICH 5.0.2 and Open MPI 5.0."""

    bytes: int
    a_rank_bytes: int


# Open MPI makes a file of 16 MiB for each rank, does so only with as much room, and fills little of it.
_SHARED_MEMORY = {"openmpi": _SharedMemory(16 * MIB, MIB // 2)}
_OTHERS = _SharedMemory(0, 5 * MIB + MIB // 4)
_WITHOUT_SHM = {
    "openmpi": "messages take the network",
    "mpich": "MPI_Init ends with a bus error",
}
_WITHOUT_COPY = {
    "openmpi": "long messages are copied twice",
    "mpich": "the first long message fails",
}
_COPY_OFF = {"mpich": "MPIR_CVAR_CH4_CMA_ENABLE"}  # 0: it copies twice, and does not try


def single_copy(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """A copy from one rank's memory to another's that the kernel refuses, whoever asks."""
    off = _COPY_OFF.get(job.library or "")
    if job.ranks < 2 or (off and job.variables.get(off) == "0"):
        return None
    loss = _WITHOUT_COPY.get(job.library or "", "long messages are slow or fail")
    instead = f", or {off}=0" if off else ""
    if place.user_namespaces > 1 and place.apart_errno != 0:
        tried = f" ({errno_name(place.apart_errno)})" if place.apart_errno is not None else " (not tried here)"
        return PlaceFault(
            check="single copy",
            text=_refused(f"the border of {place.user_namespaces} user namespaces{tried}", loss),
            do=f"start all ranks of a node in one container (apptainer: --sharens){instead}",
        )
    reason, do = _refusal(place)
    if place.rank_errno is not None:
        return PlaceFault(
            check="single copy",
            text=_refused(f"{reason} ({errno_name(place.rank_errno)})", loss),
            do=f"{do}{instead}",
        )
    if place.copy_errno in (0, None) or place.asked_errno == 0:
        return None
    return PlaceFault(
        check="single copy",
        text=_refused(f"{reason} ({errno_name(place.copy_errno)})", loss),
        do=f"{do}{instead}",
    )


def _refused(by: str, loss: str) -> str:
    return f"{by} refuses copies between processes: {loss}"


def _refusal(place: PlaceFacts) -> tuple[str, str]:
    """By what a copy between two processes of one user is refused, and what to do."""
    if place.own_errno not in (0, None):  # the kernel itself always lets a process read its own memory
        return "a seccomp filter", "docker run --cap-add SYS_PTRACE, or a profile with process_vm_readv"
    if place.ptrace_scope:
        return (f"Yama's ptrace_scope {place.ptrace_scope}", "sysctl kernel.yama.ptrace_scope=0, by an administrator")
    return "possibly a security module", "ask an administrator to allow process_vm_readv"


def shared_memory(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """/dev/shm that is smaller than what the library puts there."""
    need = _SHARED_MEMORY.get(job.library or "", _OTHERS)
    need_bytes = need.bytes + job.ranks * need.a_rank_bytes
    if place.shm_bytes is None or place.shm_bytes >= need_bytes or job.ranks < 2:
        return None
    loss = _WITHOUT_SHM.get(job.library or "", "ranks end or messages take the network")
    return PlaceFault(
        check="/dev/shm",
        text=f"/dev/shm has {format_bytes(place.shm_bytes)} and {job.ranks} ranks of {job.title} need "
        f"{format_bytes(-(-need_bytes // MIB) * MIB)}: {loss}",
        do="docker run --shm-size=1g (or --ipc=host), or mount -o remount,size=1g /dev/shm",
    )


def processor_limit(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """A control group that grants less processor time than ranks that wait use: each spins."""
    quota = place.processor_quota
    if quota is None or quota >= job.ranks:
        return None
    seen = ""
    if place.tried_s and place.still_s and place.still_s >= LEAST_STILL * place.tried_s:
        seen = (
            f": {place.tried} processes that compute stood still for {format_time(place.still_s)} of "
            f"{format_time(place.tried_s)}"
        )
    return PlaceFault(
        check="processor limit",
        text=f"a CPU quota of {quota:.3g} processors for {job.ranks} ranks{seen}; once used up, all ranks stop "
        "until the next period",
        do=f"grant {job.ranks} processors (docker run --cpus={job.ranks}; Kubernetes: resources.limits.cpu), or start "
        f"{plural(max(1, int(quota)), 'rank')}",
    )


def allowed_processors(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """Fewer processors than ranks, on a machine that has more."""
    allowed = parse_cpu_list(place.processors) if place.processors else frozenset[int]()
    online = place.online or 0
    if not allowed or len(allowed) >= min(job.ranks, online):
        return None
    named = f"processor{'s' if len(allowed) > 1 else ''} {format_cpu_list(sorted(allowed))}"
    return PlaceFault(
        check="allowed processors",
        text=f"{job.ranks} ranks may use only {named} of {online}: messages wait for their receiver's turn",
        do="one processor per rank: no taskset, docker run --cpuset-cpus, sbatch --cpus-per-task",
    )


def memory_limit(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """A control group whose memory is used up before ranks have any."""
    limit, used = place.memory_limit_bytes, place.memory_used_bytes
    need_bytes = job.ranks * MEMORY_A_RANK_BYTES
    if limit is None or limit - (used or 0) >= need_bytes:
        return None
    return PlaceFault(
        check="memory limit",
        text=f"{job.ranks} ranks need {format_bytes(need_bytes)} of memory, and the control group has "
        f"{format_bytes(max(0, limit - (used or 0)))} of {format_bytes(limit)} left",
        do="docker run --memory, sbatch --mem, Kubernetes: resources.limits.memory",
        is_fault=used is None or limit < need_bytes,
    )


def numa_balancing(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """The kernel's own moving of pages, which stops a rank at each page that it looks at."""
    if not place.numa_balancing or (place.numa_nodes or 1) < 2:
        return None
    return PlaceFault(
        check="NUMA balancing",
        text=f"the kernel moves pages between {place.numa_nodes} NUMA nodes: ranks pause at page faults meanwhile",
        do="sysctl kernel.numa_balancing=0, by an administrator",
        is_fault=False,
    )


def virtual_machine(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """Processors that a hypervisor may take away."""
    if not place.virtual:
        return None
    return PlaceFault(
        check="virtual machine",
        text="a hypervisor may take processors away",
        do="bind virtual processors to physical ones, and compare medians",
        is_fault=False,
    )


def driver_of_gpus(place: PlaceFacts, job: PlaceJob) -> PlaceFault | None:
    """A driver under which a library that asks of each buffer whether it is a GPU's pays for host buffers."""
    major = (place.gpu_driver or "").partition(".")[0]
    if not major.isdecimal() or int(major) < SLOW_QUERY_DRIVER:
        return None
    return PlaceFault(
        check="GPU driver",
        text=f"driver {place.gpu_driver} is slow to tell that a buffer is not in GPU memory, which GPU support asks it",
        do="without GPU messages: MPIR_CVAR_ENABLE_GPU=0 (Cray MPICH: MPICH_GPU_SUPPORT_ENABLED=0)",
        is_fault=False,
    )


PlaceCheck = Callable[[PlaceFacts, PlaceJob], PlaceFault | None]
PLACE_CHECKS: tuple[PlaceCheck, ...] = (
    single_copy,
    shared_memory,
    allowed_processors,
    processor_limit,
    memory_limit,
    numa_balancing,
    virtual_machine,
    driver_of_gpus,
)


def judged(place: PlaceFacts, job: PlaceJob) -> list[PlaceFault]:
    """What is wrong with a place for a job, in the order of the list."""
    return [fault for check in PLACE_CHECKS if (fault := check(place, job)) is not None]


def faults(place: PlaceFacts | None, job: PlaceJob) -> list[PlaceFault]:
    """What speaks in the first line of a verdict."""
    return [fault for fault in judged(place, job) if fault.is_fault] if place is not None else []


def errno_name(number: int | None) -> str:
    """`EPERM`; the number where it has no name."""
    return errno.errorcode.get(number or 0, f"errno {number}")
