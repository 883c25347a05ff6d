# SPDX-License-Identifier: Apache-2.0
"""One process at a time measures into a folder, from whichever host: it holds a lock that the file system gives.

The lock ends with the process that holds it, so a folder whose owner was killed is free. On a file system without locks
nothing is checked.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import DAMAGE, cannot, inside, json_bytes
from slowpath.core.guard import line

OWNER = "owner.json"
_LOOKS, _BETWEEN_LOOKS_S = 5, 0.1  # a reader holds the lock for a moment, too
_held: set[Path] = set()  # the folders that this process holds


class Taken(EnvironmentFailure):
    """Another process measures into the folder."""


class Owner(msgspec.Struct, frozen=True):
    """The process that measures, or measured last. since: ISO 8601.  command: as `slowpath run --resume`."""

    host: str
    pid: int
    command: str
    since: str


@contextlib.contextmanager
def owned(folder: Path, command: str, tell: Callable[[str], None] = lambda line: None) -> Iterator[None]:
    """Hold `folder` for a while; within such a while once more is once.

    Args: command: what this process does, for others to read.
    Raises: Taken; EnvironmentFailure: nothing can be written there.
    """
    place = folder.absolute()
    if place in _held:
        yield
        return
    path = inside(folder, OWNER)
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "r+b")
    except OSError as error:
        raise cannot("write", path, error) from error
    with file:
        if (is_locked := _lock(file.fileno(), fcntl.LOCK_EX)) is False:
            raise _taken(folder)
        if is_locked is None:
            tell(f"{folder}: no locks here: let nothing else measure there")
        file.truncate()
        file.write(json_bytes(Owner(os.uname().nodename, os.getpid(), command, now())))
        file.flush()
        _held.add(place)
        try:
            yield
        finally:
            _held.discard(place)


def require_free(folder: Path) -> None:
    """Check that no other process measures into `folder`.  Raises: Taken, in one line: who does, and what to do."""
    if folder.absolute() not in _held and _is_taken(folder):
        raise _taken(folder)


def measured_by(folder: Path) -> str | None:
    """Return who measures into `folder` now, for those who only read it; None: nobody, as far as can be seen."""
    return str(_taken(folder)).partition(";")[0] if _is_taken(folder) else None


def _is_taken(folder: Path) -> bool:
    try:
        with (folder / OWNER).open("rb") as file:
            return _lock(file.fileno(), fcntl.LOCK_SH) is False
    except OSError:
        return False


def _lock(descriptor: int, kind: int) -> bool | None:
    """Return whether the lock was given; None: this file system has none."""
    for look in range(_LOOKS):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if look + 1 < _LOOKS:
                time.sleep(_BETWEEN_LOOKS_S)
        except OSError:
            return None
    return False


def _taken(folder: Path) -> Taken:
    try:
        owner = msgspec.json.decode((folder / OWNER).read_bytes()[:65536], type=Owner)
    except (OSError, *DAMAGE):
        return taken(folder, "another process")
    who = line(f"process {owner.pid} ({owner.command[:64]}) on host {owner.host[:64]} since {owner.since[:64]}")
    return taken(folder, who, owner.pid if owner.host == os.uname().nodename else None)


def taken(folder: Path, who: str, pid: int | None = None) -> Taken:
    """Return the error for a folder that another process measures."""
    stop = f" or stop it: kill {pid}" if pid is not None else ""
    return Taken(f"{folder}: is being measured by {who}; wait for its end{stop}")


def now() -> str:
    """Local time, ISO 8601."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
