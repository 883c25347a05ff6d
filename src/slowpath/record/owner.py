# SPDX-License-Identifier: Apache-2.0
"""Who measures into a folder: `owner/000007.json`, of which the highest number counts (docs/internals/record.md).

Numbers only rise and the highest record is never removed, so that creating the next one decides between all who want
the folder, on any node: of two links (link(2)) or exclusive creations (O_EXCL) of one name only one succeeds, on NFS as
well.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import RecordError
from slowpath.core.files import inside, read_bytes

OWNER_FOLDER = "owner"
OWNER_SCHEMA = 1
MOST_OWNERS = 999_999
_LIMIT_BYTES = 64 * 1024
_NAME = re.compile(r"[0-9]{6}\.json")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """One process that measures, or has measured, into a folder.

    host: its name.  boot: /proc/sys/kernel/random/boot_id.  pid_namespace: inode of /proc/self/ns/pid.  pid: there.
    process_start: in clock ticks after the boot, field 22 of /proc/PID/stat.  A fact that the system withholds is null.
    token: of this very record.  since, released: ISO 8601; released: null while it measures.
    """

    schema: int = OWNER_SCHEMA
    host: str
    boot: str | None
    pid_namespace: int | None
    pid: int
    process_start: int | None
    token: str
    since: str
    command: str  # `slowpath run --resume`
    released: str | None = None


@dataclass(frozen=True)
class HeldBy:
    """The record that counts. owner: None: it can't be read, for `why`.  stamp_ns: time of its last change."""

    number: int
    path: Path
    owner: Owner | None
    stamp_ns: int
    why: str | None = None


def latest(folder: Path) -> HeldBy | None:
    """The record that counts in `folder`; None: nobody has taken it yet.

    Raises: RecordError: `owner` leads out of the folder, or can't be listed.
    """
    place = inside(folder, OWNER_FOLDER)
    try:
        names = sorted(name for name in os.listdir(place) if _NAME.fullmatch(name))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f"{place}: cannot be read: {error.strerror or error}; see who measures there") from error
    return _held(place / names[-1]) if names else None


def record_path(folder: Path, number: int) -> Path:
    """Return where the record of this number lies."""
    return folder / OWNER_FOLDER / f"{number:06d}.json"


def number_of(path: Path) -> int | None:
    """Number of the record that lies there; None: it is called otherwise, as no record of ours is."""
    return int(path.stem) if _NAME.fullmatch(path.name) else None


def _held(path: Path) -> HeldBy:
    number, stamp_ns = int(path.stem), _stamp_ns(path)
    try:
        owner = msgspec.json.decode(read_bytes(path, _LIMIT_BYTES), type=Owner)
    except RecordError as error:
        return HeldBy(number, path, None, stamp_ns, str(error))
    except DAMAGE:
        return HeldBy(number, path, None, stamp_ns, f"{path}: is damaged")
    return HeldBy(number, path, owner, stamp_ns)


def _stamp_ns(path: Path) -> int:
    """Opening the file makes an NFS client ask the server for the stamp; 0: the file is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        with contextlib.suppress(OSError):
            return path.lstat().st_mtime_ns
        return 0
    try:
        return os.fstat(descriptor).st_mtime_ns
    finally:
        os.close(descriptor)


def now_ns(folder: Path) -> int:
    """The time by the clock that stamps files in `folder`, which may be a server's; else by this machine's."""
    probe = folder / OWNER_FOLDER / f".now-{uuid.uuid4().hex}"
    try:
        with probe.open("xb"):
            os.utime(probe)
        return probe.stat().st_mtime_ns
    except OSError:
        return time.time_ns()
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()


def in_words(owner: Owner | None) -> str:
    """`process 4711 (slowpath run) on host node7 since 2026-01-31T12:00:00+01:00`, in printable ASCII."""
    if owner is None:
        return "a process that can't be named"
    command, host, since = (_UNPRINTABLE.sub("?", text)[:64] for text in (owner.command, owner.host, owner.since))
    return f"process {owner.pid} ({command}) on host {host} since {since}"
