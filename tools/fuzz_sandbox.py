# SPDX-License-Identifier: Apache-2.0
"""One command in a forked child: limited in memory and time, ended if it starts a process, watched where it writes.

The child is a copy of a warm interpreter, so that it takes milliseconds. No root and nothing but the standard library:
seccomp(2) needs no_new_privs alone.
"""

from __future__ import annotations

import ctypes
import io
import os
import platform
import resource
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY_BYTES = 2**30  # address space that a command may add
CPU_S = 10
WALL_S = 10.0
STARVED = 12  # times WALL_S for a child that could run
FILE_BYTES = 256 * 2**20  # of what it writes
_OUTPUT_BYTES = 4 * 2**20  # of which is looked at

# linux/seccomp.h, linux/filter.h, linux/audit.h; numbers of system calls: asm/unistd.h of both architectures.
_KILL, _ALLOW, _NO_SUCH_CALL = 0x80000000, 0x7FFF0000, 0x00050000 | 38  # 38: ENOSYS
_LOAD, _EQUALS, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_CLONE_THREAD = 0x00010000
_CLONE3 = 435
_ARCHITECTURES = {
    "x86_64": (0xC000003E, 56, (57, 58, 59, 322)),  # clone; fork, vfork, execve, execveat
    "aarch64": (0xC00000B7, 220, (221, 281)),  # clone; execve, execveat
}
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.rename": (0, 1), "os.mkdir": (0,), "os.remove": (0,), "os.rmdir": (0,), "os.symlink": (1,), "os.link": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "shutil.rmtree": (0,),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """How a command ended. code: its exit code, or the negative number of the signal that ended it."""

    code: int
    out: bytes
    err: bytes
    cpu_s: float
    wall_s: float
    grown_bytes: int  # peak of resident memory over what the child began with
    wrote_outside: tuple[str, ...]

    @property
    def killed_by(self) -> str | None:
        """Name of the signal."""
        return signal.Signals(-self.code).name if self.code < 0 else None


def no_processes() -> None:
    """From now on this process is killed (SIGSYS) when it starts another one; threads may be started."""
    architecture, clone, forbidden = _ARCHITECTURES[platform.machine()]
    kill, allow = (_RETURN, 0, 0, _KILL), (_RETURN, 0, 0, _ALLOW)
    program = [
        (_LOAD, 0, 0, 4), (_EQUALS, 1, 0, architecture), kill, (_LOAD, 0, 0, 0),
        *(part for number in forbidden for part in ((_EQUALS, 0, 1, number), kill)),
        (_EQUALS, 0, 1, _CLONE3), (_RETURN, 0, 0, _NO_SUCH_CALL),  # its flags can't be seen; the C library takes clone
        (_EQUALS, 0, 4, clone), (_LOAD, 0, 0, 16), (_AND, 0, 0, _CLONE_THREAD), (_EQUALS, 0, 1, _CLONE_THREAD), allow,
        # Not a thread, or no clone at all.
        (_LOAD, 0, 0, 0), (_EQUALS, 0, 1, clone), kill, allow,
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    # struct sock_fprog: a length and a pointer.
    filter_ = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, filter_, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp is refused here")


def watch_writes(allowed: Sequence[Path], report: Callable[[str], None]) -> None:
    """Reports each path that is opened for writing, or changed, and does not lie in one of `allowed`."""
    places = [os.path.realpath(place) for place in allowed]

    def inside(path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        name = os.fsdecode(path)
        # The parent is what a new or a replaced name is written into.
        real = os.path.join(os.path.realpath(os.path.dirname(name) or "."), os.path.basename(name))
        return real == "/dev/null" or any(real == place or real.startswith(place + "/") for place in places)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & _WRITES and not (
                inside(path) and inside(os.path.realpath(path) if not isinstance(path, int) else path)
            ):
                report(f"open {os.fsdecode(path)!r}")
        elif event in _CHANGES:
            for place in _CHANGES[event]:
                if not inside(arguments[place]):
                    report(f"{event} {os.fsdecode(arguments[place])!r}")

    sys.addaudithook(hook)


def run_child(body: Callable[[], int], allowed: Sequence[Path], wall_s: float = WALL_S) -> Outcome:
    """`body` in a forked child; its result is the exit code.

    Args: allowed: folders and files that it may write.
    """
    out, err, outside = (os.memfd_create(name) for name in ("out", "err", "outside"))
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(body, allowed, out, err, outside)
    code, usage = _wait(pid, wall_s)
    wall = time.monotonic() - begun
    texts = []
    for descriptor in (out, err, outside):
        texts.append(os.pread(descriptor, _OUTPUT_BYTES, 0))
        os.close(descriptor)
    base, outside_text = texts[2].partition(b"\n")[::2]
    grown = max(0, usage.ru_maxrss * 1024 - int(base or 0))
    lines = tuple(line.decode(errors="replace") for line in outside_text.splitlines())
    return Outcome(code, texts[0], texts[1], usage.ru_utime + usage.ru_stime, wall, grown, lines)


def _wait(pid: int, wall_s: float) -> tuple[int, resource.struct_rusage]:
    """Of a child; one that sleeps after `wall_s` waits for ever, one that could run is starved by others on the machine
    and goes on.
    """
    descriptor = os.pidfd_open(pid)
    try:
        for _ in range(STARVED):
            if select.select([descriptor], [], [], wall_s)[0]:
                break
            if not _could_run(pid):
                os.kill(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    finally:
        os.close(descriptor)
    return os.waitstatus_to_exitcode(status), usage


def _could_run(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"


def _child(body: Callable[[], int], allowed: Sequence[Path], out: int, err: int, outside: int) -> None:
    code = 70
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (it lives as long as the child)
        sys.stdout, sys.stderr = _text(1, "strict"), _text(2, "backslashreplace")
        os.write(outside, f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}\n".encode())
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        watch_writes(allowed, lambda line: os.write(outside, line.encode(errors="replace") + b"\n") and None)
        no_processes()
        code = body()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _text(descriptor: int, errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), encoding="utf-8", errors=errors)
