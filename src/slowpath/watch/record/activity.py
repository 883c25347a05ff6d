# SPDX-License-Identifier: Apache-2.0
"""What the thread that started MPI did in stretches of time, by the samples that another thread took of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowpath.findings.program_pattern import Activity
from slowpath.watch.record.job import Ticks
from slowpath.watch.record.reader import RankRecord

Floats = NDArray[np.float64]

IN_NO_CALL: Final = -1  # it sleeps in no system call: it waits for a page
RUNS: Final = -2
REFUSED: Final = -3
_RUNNABLE, _STOPPED = (ord(letter) for letter in "RT")
FEWEST: Final = 3  # samples in the stretches, below which their shares say nothing
# By machine; those in which a program sleeps, reads, writes or manages memory.
_NAMES: Final[Mapping[str, Mapping[int, str]]] = {
    "x86_64": {
        0: "read", 1: "write", 2: "open", 3: "close", 7: "poll", 9: "mmap", 11: "munmap", 16: "ioctl", 17: "pread64",
        18: "pwrite64", 19: "readv", 20: "writev", 23: "select", 24: "sched_yield", 28: "madvise", 34: "pause",
        35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg",
        61: "wait4", 65: "semop", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 76: "truncate",
        77: "ftruncate", 82: "rename", 83: "mkdir", 87: "unlink", 202: "futex", 217: "getdents64",
        230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 257: "openat", 262: "newfstatat", 270: "pselect6",
        271: "ppoll", 277: "sync_file_range", 281: "epoll_pwait", 285: "fallocate", 310: "process_vm_readv",
        311: "process_vm_writev",
    },
    "aarch64": {
        22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 35: "unlinkat", 45: "truncate", 46: "ftruncate",
        47: "fallocate", 56: "openat", 57: "close", 61: "getdents64", 63: "read", 64: "write", 65: "readv",
        66: "writev", 67: "pread64", 68: "pwrite64", 72: "pselect6", 73: "ppoll", 79: "newfstatat", 82: "fsync",
        83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 124: "sched_yield",
        193: "semop", 202: "accept", 203: "connect", 206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg",
        215: "munmap", 222: "mmap", 233: "madvise", 260: "wait4", 270: "process_vm_readv", 271: "process_vm_writev",
    },
}  # fmt: skip


def activity(record: RankRecord, clock: Ticks, start_s: Floats, end_s: Floats) -> Activity | None:
    """What the rank did between start_s and end_s; None: too few samples lie there.

    Args: start_s, end_s: of stretches that do not overlap, ascending, shape (n,), on `clock` (CLOCK_MONOTONIC).
    """
    samples = record.samples
    at_s = clock.seconds(samples["ticks"])
    if at_s.size < 2 or not start_s.size:
        return None
    slot = np.searchsorted(start_s, at_s, side="right") - 1
    inside = (slot >= 0) & (at_s < end_s[np.maximum(slot, 0)])
    count = int(inside.sum())
    if count < FEWEST:
        return None
    length_s = float((end_s - start_s).sum())
    gap_s = np.gradient(at_s)[inside]  # they come more rarely later, and stand for more
    weight_s = gap_s * (length_s / gap_s.sum())
    names = _named(record, samples[inside])
    by_name: dict[str, float] = {}
    for name in sorted(set(names)):
        by_name[name] = float(weight_s[np.array([one == name for one in names])].sum())
    running_s = by_name.pop("", 0.0)
    more = {name: _grown(samples[name], at_s, start_s, end_s) for name in _COUNTED}
    return Activity(
        length_s=length_s,
        samples=count,
        running_s=running_s,
        sleeping_s=by_name,
        ran_s=more["ran_ns"] * 1e-9,
        queued_s=more["waited_ns"] * 1e-9,
        system_s=more["system_us"] * 1e-6,
        minor_faults=more["minor_faults"],
        major_faults=more["major_faults"],
        read_bytes=more["read_bytes"],
        written_bytes=more["written_bytes"],
        reads=more["reads"],
        writes=more["writes"],
    )


_COUNTED: Final = (
    "ran_ns", "waited_ns", "system_us", "minor_faults", "major_faults",
    "read_bytes", "written_bytes", "reads", "writes",
)  # fmt: skip


def _named(record: RankRecord, samples: NDArray[Any]) -> list[str]:
    """Of each what it sleeps in; "": it runs."""
    machine = next(iter(record.text.get("machine", ())), "")
    known = _NAMES.get(machine, {})
    special = {IN_NO_CALL: "a page", RUNS: "", REFUSED: "not known"}
    found = []
    for state, call in zip(samples["state"].tolist(), samples["system_call"].tolist(), strict=True):
        if state == _RUNNABLE:
            found.append("")
        elif state == _STOPPED:
            found.append("stopped")
        else:
            found.append(special.get(call) or known.get(call) or ("not known" if call < 0 else f"system call {call}"))
    return found


def _grown(counted: NDArray[Any], at_s: Floats, start_s: Floats, end_s: Floats) -> float:
    """How much of a sum came in the stretches."""
    values = counted.astype(np.float64)
    return max(float((np.interp(end_s, at_s, values) - np.interp(start_s, at_s, values)).sum()), 0.0)
