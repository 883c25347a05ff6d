# SPDX-License-Identifier: Apache-2.0
"""Checks of the machine: processors, clock, memory, batch system, and the settings that reach MPI."""

from __future__ import annotations

import itertools
import os
import platform
import resource
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowpath.core.cpu_list import format_cpu_list
from slowpath.core.errors import EnvironmentFailure, SlowpathError
from slowpath.core.units import format_bytes
from slowpath.doctor.check import Check
from slowpath.mpi.batch_systems import HOST_FILE, find_allocation
from slowpath.mpi.find import find_mpi
from slowpath.mpi.ignored import why_ignored
from slowpath.mpi.libraries import of_another
from slowpath.mpi.own_settings import OwnSetting
from slowpath.mpi.parameter_files import settings_of
from slowpath.run.cores import allowed_cores
from slowpath.run.machine import bracketed, first_value, read_line

# The clock that all times come from.

SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
READS = 20000
FREQUENT = 1e-3  # share of readings from which a difference counts
NEIGHBOURS_NS = 2


def clock() -> Check:
    """Source of CLOCK_MONOTONIC and the step it was seen to advance by."""
    source = read_line(SOURCE)
    step = quantum_ns([time.clock_gettime_ns(time.CLOCK_MONOTONIC) for _ in range(READS)])
    seen = f"steps of {step} ns" if step is not None else "no step seen"
    value = f"{source or 'unknown source'}, {seen}"
    if step is not None and step > 1000:
        return Check(
            "clock",
            value,
            "warn",
            "a coarse clock: small messages need batches, which the engine makes itself",
        )
    if source in ("hpet", "acpi_pm", "jiffies"):
        return Check(
            "clock",
            value,
            "warn",
            "reading this clock takes about 1 us, a large part of a small message",
            None,
        )
    return Check("clock", value, "ok", "fine enough; the engine calibrates it in each launch")


def quantum_ns(reads: list[int]) -> int | None:
    """The step by which the clock advances, ns; None if it stood still.

    As the engine finds it (engine/core/calibration.cpp): frequent differences of successive readings form clusters of
    neighbours, because ticks are rounded to whole nanoseconds, and the quantum is the usual gap between clusters.
    """
    counts = Counter(b - a for a, b in itertools.pairwise(reads))
    frequent = sorted(d for d, n in counts.items() if d > 0 and n > FREQUENT * len(reads))
    if not frequent:
        return min((d for d in counts if d > 0), default=None)
    clusters: list[list[int]] = [[frequent[0]]]
    for difference in frequent[1:]:
        if difference - clusters[-1][-1] <= NEIGHBOURS_NS:
            clusters[-1].append(difference)
        else:
            clusters.append([difference])
    centres = [sum(d * counts[d] for d in cluster) / sum(counts[d] for d in cluster) for cluster in clusters]
    if any(cluster[-1] - cluster[0] > NEIGHBOURS_NS for cluster in clusters):
        return 1  # no steps to be seen: the clock is finer than its readings are steady
    return round(statistics.median(b - a for a, b in itertools.pairwise(centres))) if len(centres) > 1 else frequent[-1]


def kernel() -> Check:
    """Kernel and system."""
    return Check(
        "kernel",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "ok",
        "recorded with each run",
    )


# Pages and locked memory.

THP = Path("/sys/kernel/mm/transparent_hugepage")


def transparent_huge_pages() -> Check:
    """When the kernel backs ordinary memory by huge pages (Documentation/admin-guide/mm/transhuge.rst)."""
    mode = bracketed(THP / "enabled")
    if mode is None:
        return Check(
            "transparent huge pages",
            "not in this kernel",
            "missing",
            "page kind huge can't be measured",
            None,
        )
    if mode == "never":
        means = "the kernel never provides huge pages, so page kinds huge and small are the same here"
        return Check("transparent huge pages", mode, "warn", means, f"echo madvise > {THP}/enabled, as root")
    shared, defrag = bracketed(THP / "shmem_enabled"), bracketed(THP / "defrag")
    means = {
        "always": "large buffers get huge pages unless a program declines",
        "madvise": "only buffers that ask for huge pages get them",
    }.get(mode, "")
    return Check("transparent huge pages", f"{mode} (shared memory {shared}, defrag {defrag})", "ok", means)


def reserved_huge_pages() -> Check:
    """Huge pages set aside by the administrator."""
    count = first_value("/proc/meminfo", "HugePages_Total")
    if count is None:
        return Check("reserved huge pages", None, "ok", "/proc/meminfo does not list them")
    return Check(
        "reserved huge pages",
        count,
        "ok",
        "used only by programs that ask with MAP_HUGETLB; Slowpath doesn't",
    )


def locked_memory() -> Check:
    """RLIMIT_MEMLOCK: how much may be registered with a network card or pinned."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY:
        return Check("locked memory", "unlimited", "ok", "buffers can be registered with a network card")
    return Check(
        "locked memory",
        format_bytes(soft),
        "warn",
        "registering larger buffers with InfiniBand or similar fails or falls back to copies; irrelevant on one node",
        "raise the limit: ulimit -l unlimited, or memlock in limits.conf",
    )


# The batch system's allocation, if this is one.

_USED = "slowpath run uses this allocation; it never submits a job itself"


def allocation(environ: Mapping[str, str] | None = None) -> Check:
    """Batch system, job and number of nodes."""
    try:
        found = find_allocation(os.environ if environ is None else environ)
    except EnvironmentFailure as error:
        return Check(
            "allocation", None, "warn", str(error), "start slowpath on one of the job's nodes, or leave the job"
        )
    if found is None:
        return Check("allocation", "none", "ok", "not inside a batch job: ranks run on this machine")
    job = f" job {found.job}" if found.job else ""
    value = f"{found.title}{job}, {found.nodes} node{'s' if found.nodes > 1 else ''}"
    return Check("allocation", value, "ok", _USED if found.scheduler != HOST_FILE else "launchers use these nodes")


# The user's own settings: what reaches the MPI in use, and what is another library's.

NAME = "own settings"


def own_settings() -> Check:
    """Variables and lines of parameter files."""
    try:
        mpi = find_mpi(None)
    except SlowpathError as error:
        return Check(NAME, None, "missing", str(error))
    return judged(settings_of(mpi, os.environ), mpi.name)


def judged(settings: Sequence[OwnSetting], library: str) -> Check:
    """Return what is said of these settings under this library."""
    reported = [one for one in settings if one.left_in is None or of_another(one.name, library) is not None]
    if not reported:
        return Check(NAME, "none", "ok", "none of your variables or parameter files reaches the MPI library")
    ignored = [
        f"{setting.name}: {why}" for setting in reported if (why := why_ignored(setting, library, {}, {})) is not None
    ]
    value = ", ".join(setting.words for setting in reported)
    if ignored:
        return Check(NAME, value, "warn", "; ".join(ignored), "unset them, or name the library that reads them: --mpi")
    return Check(NAME, value, "ok", "slowpath diagnose compares your environment with a clean one")


# Cores, their limits and what else they are doing.

CPU = Path("/sys/devices/system/cpu")


def cores() -> Check:
    """Cores that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    count = allowed_cores()
    model = first_value("/proc/cpuinfo", "model name") or "unknown model"
    value = f"{count} cores, processors {format_cpu_list(allowed)} of {os.cpu_count()}; {model}"
    if count >= 2:
        return Check("cores", value, "ok", f"up to {count} ranks have a core of their own")
    return Check(
        "cores",
        value,
        "warn",
        "two ranks share a core and wait for each other, so the scheduler determines the times",
        "ask for 2 cores or more",
    )


def numa() -> Check:
    """NUMA nodes of this machine."""
    online = read_line("/sys/devices/system/node/online")
    if online is None:
        return Check("NUMA nodes", None, "ok", "the kernel shows no NUMA topology")
    single = online == "0"
    means = "memory is equally far from all cores" if single else "placement numa is worth comparing"
    return Check("NUMA nodes", "1" if single else online, "ok", means)


def threads() -> Check:
    """Hardware threads."""
    active = read_line(CPU / "smt/active")
    if active is None:
        return Check("SMT", None, "ok", "the kernel does not report hardware threads per core")
    if active == "0":
        return Check("SMT", "off", "ok", "one hardware thread a core")
    return Check("SMT", "on", "ok", "ranks bound to a core get all its hardware threads")


def load() -> Check:
    """Other work on this machine."""
    average = os.getloadavg()[0]
    value = f"{average:.2f} over the last minute"
    if average < 0.5 * allowed_cores():
        return Check("load", value, "ok", "the cores are mostly free")
    return Check(
        "load",
        value,
        "warn",
        "other processes compete for the cores, which increases spreads, above all of small messages",
        "wait until the machine is quiet, or ask for an exclusive node",
    )


def governor() -> Check:
    """Frequency governor of the first processor."""
    name = read_line(CPU / "cpu0/cpufreq/scaling_governor")
    if name is None:
        return Check("frequency governor", None, "ok", "not visible here (virtual machine, or fixed by the firmware)")
    if name == "performance":
        return Check("frequency governor", name, "ok", "the clock rate doesn't wait for load")
    return Check(
        "frequency governor",
        name,
        "warn",
        "the clock rate follows the load, so times drift within and between launches",
        "cpupower frequency-set -g performance, as root",
    )
