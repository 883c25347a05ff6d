# SPDX-License-Identifier: Apache-2.0
"""What this machine is: hardware, where this process may run, and what others take of its processors."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import platform
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from slowpath.core.machine import OtherProcess, Others, PlaceFacts, format_cpu_list, parse_cpu_list
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.own_settings import NOT_RECORDED, VARIABLES, recorded_variables
from slowpath.mpi.place import GPU_MODULES, gpu_driver, processor_groups

COPIED_BYTES = 8 * 1024
_CLONE_NEWUSER, _PR_SET_PTRACER = 0x10000000, 0x59616D61
_READY, _FAILED = b"r", b"f"


class _Vector(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class CopyTrial:
    """errno of each copy, 0: it went, None: not tried; as `core.machine.PlaceFacts` has them. seconds: of all."""

    plain: int | None
    asked: int | None
    own: int | None
    apart: int | None
    seconds: float


def try_copies() -> CopyTrial:
    """Copy from one child to another in each way that tells why a refused copy is refused."""
    begun = time.monotonic()
    plain = between_children()
    refused = plain not in (0, None)
    asked = between_children(_ask_for_it) if refused else None
    own = _from_itself() if refused else None
    apart = between_children(_own_namespace, _own_namespace) if plain == 0 else None
    return CopyTrial(plain, asked, own, apart, time.monotonic() - begun)


def between_children(
    read_from: Callable[[], bool] = lambda: True, read_by: Callable[[], bool] = lambda: True
) -> int | None:
    """errno of a copy between two children of this process, 0: it went; None: it could not be tried.

    Args: read_from, read_by: what either child does first; False: it can't.
    """
    memory = ctypes.create_string_buffer(b"\x5a" * COPIED_BYTES, COPIED_BYTES)
    reading, writing = os.pipe()
    sleeper = os.fork()
    if sleeper == 0:
        os.write(writing, _READY if read_from() else _FAILED)
        while True:
            signal.pause()
    try:
        if os.read(reading, 1) != _READY:
            return None
        # The buffer lies at the same address in every child of this fork.
        return _answer_of(lambda: _read(sleeper, ctypes.addressof(memory)) if read_by() else _NOT_TRIED)
    finally:
        os.close(reading)
        os.close(writing)
        os.kill(sleeper, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(sleeper, 0)


_NOT_TRIED = 255


def _from_itself() -> int | None:
    memory = ctypes.create_string_buffer(COPIED_BYTES)
    return _answer_of(lambda: _read(os.getpid(), ctypes.addressof(memory), None))


def _answer_of(reads: Callable[[], int]) -> int | None:
    """What a child returns; EPERM where a signal ended it, None where that can't be seen."""
    reader = os.fork()
    if reader == 0:
        os._exit(reads())
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
    except ChildProcessError:  # something else collects this process's children
        return None
    if code == _NOT_TRIED:
        return None
    return code if code >= 0 else errno.EPERM


def _ask_for_it() -> bool:
    """Allow any process to trace this one, as libraries do under Yama."""
    library = ctypes.CDLL(None, use_errno=True)
    return bool(library.prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0) == 0)


def _own_namespace() -> bool:
    return bool(ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) == 0)


def _read(pid: int, address: int, expected: bytes | None = b"\x5a" * COPIED_BYTES) -> int:
    """errno of reading from `address` in `pid`; 0 if it came over whole."""
    library = ctypes.CDLL(None, use_errno=True)
    into = ctypes.create_string_buffer(COPIED_BYTES)
    here, there = _Vector(ctypes.addressof(into), COPIED_BYTES), _Vector(address, COPIED_BYTES)
    library.process_vm_readv.restype = ctypes.c_ssize_t
    flags, count = ctypes.c_ulong(0), ctypes.c_ulong(1)
    got = library.process_vm_readv(pid, ctypes.byref(here), count, ctypes.byref(there), count, flags)
    if got < 0:
        return ctypes.get_errno() or errno.EPERM
    return 0 if got == COPIED_BYTES and expected in (None, into.raw) else errno.EFAULT


TRIED_S = 0.25  # two periods of a quota (100 ms) and a half
MOST_TRIED = 64  # processes that spin


@cache
def place_here() -> PlaceFacts:
    """Of this process, once; what it starts has the same."""
    facts = read_place(Path("/proc"), Path("/sys"), Path("/dev/shm"), copies=try_copies())
    limits = group_limits()
    return _with_quota_tried(facts, limits, frozenset(os.sched_getaffinity(0)))


def read_place(proc: Path, system: Path, shm: Path, copies: CopyTrial | None = None) -> PlaceFacts:
    """What files say of it, with what copies have shown.

    Args: proc, system, shm: as /proc, /sys and /dev/shm.  copies: None: none was tried.
    """
    limits = group_limits(proc / "self/cgroup", system / "fs/cgroup")
    status = _fields(proc / "self/status")
    nodes = _text(system / "devices/system/node/online")
    balancing = _text(proc / "sys/kernel/numa_balancing")
    shm_bytes, shm_free_bytes = _room(shm)
    return PlaceFacts(
        copy_errno=copies.plain if copies else None,
        asked_errno=copies.asked if copies else None,
        own_errno=copies.own if copies else None,
        apart_errno=copies.apart if copies else None,
        copy_s=copies.seconds if copies else None,
        ptrace_scope=_number(_text(proc / "sys/kernel/yama/ptrace_scope")),
        seccomp=_number(status.get("Seccomp")),
        shm_bytes=shm_bytes,
        shm_free_bytes=shm_free_bytes,
        memory_limit_bytes=limits.memory_limit_bytes,
        memory_used_bytes=limits.memory_used_bytes if limits.memory_limit_bytes is not None else None,
        processors=status.get("Cpus_allowed_list"),
        online=_count(_text(system / "devices/system/cpu/online")),
        processor_quota=limits.processor_quota,
        numa_nodes=_count(nodes),
        numa_balancing=balancing not in ("0", None) if balancing is not None else None,
        virtual="hypervisor" in _fields(proc / "cpuinfo").get("flags", "").split() or None,
        gpu_driver=gpu_driver([_below(proc, system, path) for path in GPU_MODULES]),
    )


def _below(proc: Path, system: Path, path: Path) -> Path:
    return (proc if path.parts[1] == "proc" else system).joinpath(*path.parts[2:])


def _with_quota_tried(facts: PlaceFacts, limits: GroupLimits, processors: frozenset[int]) -> PlaceFacts:
    """With how long processes that spin stand still; where the quota can't be used up nothing is tried."""
    quota = limits.processor_quota
    if quota is None or quota >= len(processors):
        return facts
    count = min(len(processors), math.floor(quota) + 1)
    before = still_s(limits.stat)
    if before is None or count > MOST_TRIED:
        return facts
    begun = time.monotonic()
    _spin(count, TRIED_S)
    tried_s, after = time.monotonic() - begun, still_s(limits.stat)
    if after is None:
        return facts
    stopped_s = min(max(after - before, 0.0) / count, tried_s)
    return replace(facts, tried=count, tried_s=tried_s, still_s=stopped_s)


def _spin(count: int, seconds: float) -> None:
    """Keep that many processes busy; returns when all have ended."""
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _room(folder: Path) -> tuple[int | None, int | None]:
    """Size and free bytes of the file system; None: there is no such folder."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None, None
    return status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize


def _fields(path: Path) -> dict[str, str]:
    """The first value of each `NAME: value`."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def _count(listed: str | None) -> int | None:
    return len(parse_cpu_list(listed)) if listed else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_NO_LIMIT = 2**60  # bytes or us: version 1 states a number of pages that no machine has


@dataclass(frozen=True)
class GroupLimits:
    """Of this process' groups and those above the one that leaves least; None: no limit, or it can't be read.

    processor_quota: processors' worth of time.  stat: file that counts how often it was used up.
    """

    processor_quota: float | None = None
    stat: Path | None = None
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None


def group_limits(own: Path = OWN, root: Path = ROOT) -> GroupLimits:
    """Read them. Args: own: as /proc/self/cgroup.  root: as /sys/fs/cgroup."""
    groups = _groups(own)
    quotas = sorted(_quotas(groups, root), key=lambda quota: quota[0])
    limits = sorted(_memory(groups, root), key=lambda limit: limit[0] - (limit[1] or 0))
    quota, stat = quotas[0] if quotas else (None, None)
    limit, used = limits[0] if limits else (None, None)
    return GroupLimits(quota, stat, limit, used)


def still_s(stat: Path | None) -> float | None:
    """For how long processors of the group were stopped so far because its quota was used up, added up; None: unknown.

    Version 2 counts us, version 1 ns.
    """
    try:
        counts = dict(line.split(maxsplit=1) for line in (stat.read_text() if stat else "").splitlines())
        if "throttled_usec" in counts:
            return int(counts["throttled_usec"]) * 1e-6
        return int(counts["throttled_time"]) * 1e-9 if "throttled_time" in counts else None
    except (OSError, ValueError):
        return None


def _groups(own: Path) -> dict[str, str]:
    """Controller -> path of the group; "": that of version 2."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return {}
    rows = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    return {controller: path for _, controllers, path in rows for controller in controllers.split(",")}


def _folders(hierarchy: Path, path: str | None) -> Iterator[Path]:
    """Of a group and of all above it. In a container the path may be another one's, and only the last is there."""
    if path is None:
        return
    words = [word for word in path.split("/") if word and word != ".."]
    for count in range(len(words), -1, -1):
        yield hierarchy.joinpath(*words[:count])


def _quotas(groups: dict[str, str], root: Path) -> Iterator[tuple[float, Path]]:
    for folder in _folders(root, groups.get("")):
        quota, *period = (_text(folder / "cpu.max") or "max").split()
        if quota.isdecimal() and period and period[0].isdecimal() and int(period[0]) > 0:
            yield int(quota) / int(period[0]), folder / "cpu.stat"
    for folder in _folders(root / "cpu", groups.get("cpu")):
        quota_us, period_us = (_limit(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota_us and period_us:
            yield quota_us / period_us, folder / "cpu.stat"


def _memory(groups: dict[str, str], root: Path) -> Iterator[tuple[int, int | None]]:
    files = (
        (root, "", "memory.max", "memory.current"),
        (root / "memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    )
    for hierarchy, controller, limit_file, used_file in files:
        for folder in _folders(hierarchy, groups.get(controller)):
            limit = _limit(folder / limit_file)
            if limit is not None:
                yield limit, _limit(folder / used_file)


def _limit(path: Path) -> int | None:
    """None: there is none, or it stands for no limit."""
    number = _number(_text(path))
    return number if number is not None and number < _NO_LIMIT else None


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
    allocation = find_allocation(environ)
    if allocation is None:
        return None
    return {
        "scheduler": allocation.scheduler,
        "job": allocation.job,
        "nodes": allocation.nodes,
        "names": list(allocation.names),
    }


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


WINDOW_S = 0.3  # the kernel counts in ticks of 10 ms
LEAST_CORES = 0.1  # of a process that is named
ASK_AGAIN_CORES = 0.25  # below what is called load (slowpaths/placement/load.py)
MOST_NAMED = 3
_IDLE = (3, 4)  # idle and waiting for a disk, among the numbers of a processor's line
_GUEST_FROM = 8  # counted under user time already


@dataclass(frozen=True)
class Ticks:
    """What the kernel has counted so far, ticks. idle: of each processor.  busy: of each process, by id and name.

    on: the processor on which the first thread of each process ran last (proc(5), field 39 of stat).
    """

    idle: Mapping[int, int]
    total: Mapping[int, int]
    busy: Mapping[tuple[int, str], int]
    on: Mapping[tuple[int, str], int]


def others_now(processors: frozenset[int], seconds: float = WINDOW_S, proc: Path = Path("/proc")) -> Others | None:
    """What others take of these processors; None: this kernel does not count it.

    Where they take much it is counted once more, and the lesser of both is returned: what took a core for a moment is
    gone by then, and what ranks will have to share it with is still there. This process sleeps meanwhile.
    """
    first = _counted(processors, seconds, proc)
    if first is None or first.cores < ASK_AGAIN_CORES:
        return first
    time.sleep(seconds)
    again = _counted(processors, seconds, proc)
    return first if again is None else min(first, again, key=lambda others: others.cores)


def _counted(processors: frozenset[int], seconds: float, proc: Path) -> Others | None:
    before = ticks(proc)
    time.sleep(seconds)
    return between(before, ticks(proc), processors, seconds, os.sysconf("SC_CLK_TCK"))


def ticks(proc: Path) -> Ticks:
    """What is counted now; empty where it can't be read."""
    idle, total = dict[int, int](), dict[int, int]()
    try:
        lines = (proc / "stat").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdecimal():
            counted = [int(number) for number in numbers[:_GUEST_FROM]]
            idle[int(name[3:])] = sum(counted[place] for place in _IDLE if place < len(counted))
            total[int(name[3:])] = sum(counted)
    seen = _processes(proc)
    return Ticks(idle, total, {key: busy for key, busy, _ in seen}, {key: on for key, _, on in seen})


def _processes(proc: Path) -> list[tuple[tuple[int, str], int, int]]:
    """Of each process its id and name, user and system time in ticks, and the processor on which it ran last."""
    processes = []
    for folder in proc.iterdir() if proc.is_dir() else ():
        if not folder.name.isdecimal():
            continue
        try:
            head, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
            fields = rest.split()
            key = (int(folder.name), head.partition("(")[2])
            processes.append((key, int(fields[11]) + int(fields[12]), int(fields[36])))
        except (OSError, ValueError, IndexError):
            continue  # it has ended meanwhile
    return processes


def between(before: Ticks, after: Ticks, processors: frozenset[int], seconds: float, ticks_per_s: int) -> Others | None:
    """What was taken in between.  Args: seconds: that passed.

    A process that ran last on none of these processors is not named: it took nothing of them that is known.
    """
    there = processors & before.total.keys() & after.total.keys()
    passed = sum(after.total[processor] - before.total[processor] for processor in there)
    if not there or passed <= 0:
        return None
    idle = sum(after.idle[processor] - before.idle[processor] for processor in there)
    cores = len(there) * max(0.0, 1 - idle / passed)
    here = {key: count for key, count in after.busy.items() if {before.on.get(key), after.on[key]} & there}
    grown = sorted(((count - before.busy.get(key, count), key) for key, count in here.items()), reverse=True)
    named = [
        OtherProcess(name or "unnamed", pid, round(count / (seconds * ticks_per_s), 2))
        for count, (pid, name) in grown[:MOST_NAMED]
        if count / (seconds * ticks_per_s) >= LEAST_CORES and pid != os.getpid()
    ]
    return Others(seconds, len(there), round(cores, 2), named)
