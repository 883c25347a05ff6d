# SPDX-License-Identifier: Apache-2.0
"""Cores, their limits and what else they are doing."""

from __future__ import annotations

import os
from pathlib import Path

from slowpath.core.cpu_list import format_cpu_list
from slowpath.doctor.check import Check
from slowpath.run.cores import allowed_cores
from slowpath.run.machine import first_value, read_line

CPU = Path("/sys/devices/system/cpu")
CGROUP_LIMITS = (Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"))


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
        "two ranks share one core, so each waits for the other to be scheduled: times are those of the scheduler",
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
        return Check("SMT", None, "ok", "the kernel doesn't report whether cores have several hardware threads")
    if active == "0":
        return Check("SMT", "off", "ok", "one hardware thread a core")
    return Check("SMT", "on", "ok", "ranks bound to a core get all its hardware threads")


def cpu_limit() -> Check:
    """A limit of processor time by the container or batch system (cgroup)."""
    line = next((line for path in CGROUP_LIMITS if (line := read_line(path)) is not None), None)
    quota = (line or "max").split()[0]
    if quota in ("max", "-1"):
        return Check("processor limit", "none", "ok", "no cgroup throttles this process at the top level")
    return Check(
        "processor limit",
        line,
        "warn",
        "the cgroup stops all ranks when its quota is used up: times show pauses of up to its period",
        "run without a CPU quota",
    )


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
        "other processes compete for the cores; spreads grow and small messages suffer most",
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
