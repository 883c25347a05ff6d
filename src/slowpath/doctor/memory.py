# SPDX-License-Identifier: Apache-2.0
"""Pages and locked memory."""

from __future__ import annotations

import resource
from pathlib import Path

from slowpath.core.units import format_bytes
from slowpath.doctor.check import Check
from slowpath.run.machine import bracketed, first_value

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
        means = "the kernel never gives huge pages, so page kinds huge and small are the same here"
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
        "registering larger buffers with InfiniBand or similar fails or falls back to copies; no matter on one node",
        "raise the limit: ulimit -l unlimited, or memlock in limits.conf",
    )
