# SPDX-License-Identifier: Apache-2.0
"""What decides whether one process may copy straight from another's memory: Yama, XPMEM, KNEM. CMA: place.py."""

from __future__ import annotations

import os
from pathlib import Path

from slowpath.doctor.check import Check
from slowpath.run.machine import read_line


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
        "only descendants may be read, so ranks can't use CMA unless the MPI library asks for it (PR_SET_PTRACER)",
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
