# SPDX-License-Identifier: Apache-2.0
"""Ways by which one process may copy straight from another's memory: CMA, XPMEM, KNEM."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

from slowpath.doctor.check import Check
from slowpath.run.machine import read_line

PROBE = b"cross-memory attach works"


class _Vector(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def cma() -> Check:
    """A real process_vm_readv(2) between two processes that are each other's neither parent nor child, as ranks are."""
    problem = _read_from_sibling()
    if problem is None:
        return Check("CMA", "permitted", "ok", "MPI can move large messages inside a node in one copy")
    scope = read_line("/proc/sys/kernel/yama/ptrace_scope")
    do = (
        "ask for ptrace_scope 0"
        if scope not in (None, "0")
        else "allow process_vm_readv in the container's seccomp profile"
    )
    means = f"process_vm_readv between processes fails ({problem}); MPI copies large messages twice, or fails"
    return Check("CMA", "refused", "warn", means, do)


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


def _read_from_sibling() -> str | None:
    """Return None if one child can read another's memory, else the system's error text."""
    target = ctypes.create_string_buffer(PROBE)
    sleeper = os.fork()
    if sleeper == 0:
        signal.pause()
        os._exit(0)
    try:
        reader = os.fork()
        if reader == 0:
            # The buffer lies at the same address in every child of this fork.
            os._exit(_read(sleeper, ctypes.addressof(target)))
        code = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
    except ChildProcessError:
        return "what became of the attempt can't be seen: something else collects this process's children"
    finally:
        os.kill(sleeper, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(sleeper, 0)
    if code == 0:
        return None
    return os.strerror(code) if code > 0 else f"ended by signal {-code}"


def _read(pid: int, address: int) -> int:
    """errno of reading PROBE from `address` in `pid`; 0 if it came over whole."""
    library = ctypes.CDLL(None, use_errno=True)
    into = ctypes.create_string_buffer(len(PROBE))
    here = _Vector(ctypes.addressof(into), len(PROBE))
    there = _Vector(address, len(PROBE))
    library.process_vm_readv.restype = ctypes.c_ssize_t
    flags = ctypes.c_ulong(0)
    one = ctypes.c_ulong(1)
    got = library.process_vm_readv(pid, ctypes.byref(here), one, ctypes.byref(there), one, flags)
    if got < 0:
        return ctypes.get_errno() or 1
    return 0 if into.raw == PROBE else 14  # EFAULT: not what was asked for
