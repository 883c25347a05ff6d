# SPDX-License-Identifier: Apache-2.0
"""Names of the kernel's system calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# By machine; those in which a program sleeps, reads, writes or manages memory.
SYSTEM_CALLS: Final[Mapping[str, Mapping[int, str]]] = {
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
