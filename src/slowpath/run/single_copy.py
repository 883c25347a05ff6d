# SPDX-License-Identifier: Apache-2.0
"""Whether one process may copy from another's memory (process_vm_readv), tried between processes made for it.

All of it happens in children: a filter of system calls may end whoever makes a refused one.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

COPIED_BYTES = 8 * 1024
_CLONE_NEWUSER, _PR_SET_PTRACER = 0x10000000, 0x59616D61
_READY, _FAILED = b"r", b"f"


class _Vector(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class CopyTrial:
    """errno of each copy, 0: it went, None: not tried; as `core.place.PlaceFacts` has them. seconds: of all."""

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
    flags, one = ctypes.c_ulong(0), ctypes.c_ulong(1)
    got = library.process_vm_readv(pid, ctypes.byref(here), one, ctypes.byref(there), one, flags)
    if got < 0:
        return ctypes.get_errno() or errno.EPERM
    return 0 if got == COPIED_BYTES and expected in (None, into.raw) else errno.EFAULT
