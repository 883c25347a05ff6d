# SPDX-License-Identifier: Apache-2.0
"""Which process this is, so that others can find out whether it still runs (proc(5), pid_namespaces(7))."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowpath.record.owner import Held, Owner

Standing = Literal["free", "lives", "unseen"]


@dataclass(frozen=True)
class Identity:
    """Fields as in Owner. pid_namespace: None: unknown, or /proc shows another one's processes."""

    host: str
    boot: str | None
    pid_namespace: int | None
    pid: int
    process_start: int | None


def this_process(proc: Path = Path("/proc")) -> Identity:
    """The identity of the process that asks."""
    pid = os.getpid()
    boot = (_text(proc / "sys/kernel/random/boot_id") or "").strip() or None
    try:
        own_proc = os.readlink(proc / "self") == str(pid)
        namespace = (proc / "self/ns/pid").stat().st_ino if own_proc else None
    except OSError:
        namespace = None
    return Identity(os.uname().nodename, boot, namespace, pid, _alive_since(proc, pid))


def standing(held: Held | None, me: Identity, proc: Path = Path("/proc")) -> Standing:
    """What can be known at once of who holds a folder: free: nobody, or a process that is seen to be gone; lives;
    unseen: it is in another PID namespace or on another host, or its record can't be read.
    """
    if held is None:
        return "free"
    owner = held.owner
    if owner is None:
        return "unseen"
    if owner.released is not None:
        return "free"
    if not _same_place(owner, me):
        return "unseen"
    return "lives" if _alive_since(proc, owner.pid) == owner.process_start else "free"


def _same_place(owner: Owner, me: Identity) -> bool:
    place = me.host, me.boot, me.pid_namespace
    return None not in (*place, owner.process_start) and (owner.host, owner.boot, owner.pid_namespace) == place


def _alive_since(proc: Path, pid: int) -> int | None:
    """Start of a living process, in clock ticks after the boot; None: there is none. A zombie measures nothing."""
    fields = (_text(proc / str(pid) / "stat") or "").rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in ("Z", "X"):
        return None
    return int(fields[19])


def _text(path: Path) -> str | None:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return None
