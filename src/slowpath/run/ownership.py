# SPDX-License-Identifier: Apache-2.0
"""One owner a folder at a time, whatever process, PID namespace, node or host it is on.

A process takes a folder by creating the next record of its owners (slowpath.record.folder), and stamps that record
while it lives. Whether an owner that can't be seen from here is gone shows in its stamp alone, by the clock of the file
system and by watching it, so that the clocks of the machines don't matter. An owner that was taken over stops.

Nothing here runs by itself: the stamp is renewed when the watchdog of the launches wakes anyway, and between launches.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from slowpath.core.errors import EnvironmentFailure, SlowpathError
from slowpath.core.files import cannot, create_once, inside, json_bytes, write_atomically
from slowpath.record.folder import (
    MOST_OWNERS,
    OWNER_FOLDER,
    HeldBy,
    Owner,
    in_words,
    latest,
    now_ns,
    number_of,
    record_path,
)

# Which process this is, so that others can find out whether it still runs (proc(5), pid_namespaces(7)).

Standing = Literal["free", "lives", "unseen"]


@dataclass(frozen=True)
class ProcessIdentity:
    """Fields as in Owner. pid_namespace: None: unknown, or /proc shows another one's processes."""

    host: str
    boot: str | None
    pid_namespace: int | None
    pid: int
    process_start: int | None


def this_process(proc: Path = Path("/proc")) -> ProcessIdentity:
    """The identity of the process that asks."""
    pid = os.getpid()
    boot = (_text(proc / "sys/kernel/random/boot_id") or "").strip() or None
    try:
        own_proc = os.readlink(proc / "self") == str(pid)
        namespace = (proc / "self/ns/pid").stat().st_ino if own_proc else None
    except OSError:
        namespace = None
    return ProcessIdentity(os.uname().nodename, boot, namespace, pid, _alive_since(proc, pid))


def standing(held: HeldBy | None, me: ProcessIdentity, proc: Path = Path("/proc")) -> Standing:
    """Return what can be known at once of who holds a folder: free: nobody, or a process that is seen to be gone;
    lives; unseen: it is in another PID namespace or on another host, or its record can't be read.
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


def _same_place(owner: Owner, me: ProcessIdentity) -> bool:
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


BEAT_S = 5.0  # an owner renews its stamp about so often
QUIET_S = 60.0  # an owner that can't be seen counts as alive while its stamp is younger
WATCH_S = 15.0  # an older stamp is watched for so long: a clock may have been set
_TRIES = 20
_SAME_PLACE = "wait for its end, or stop it with: kill {pid}"
_ELSEWHERE = (
    f"wait for its end; if it is gone, the folder is free {QUIET_S:.0f} s after its last sign, or at once with "
    "--take-over"
)


class Taken(EnvironmentFailure):
    """Another process measures into the folder."""


class Ownership:
    """A folder that this process holds. Made by `take`."""

    def __init__(self, folder: Path, number: int, owner: Owner) -> None:
        self.folder, self.number, self.owner = folder.absolute(), number, owner
        self._path = record_path(self.folder, number)
        self._beaten = float("-inf")

    def keep(self, now: bool = False) -> None:
        """Renew the stamp if it is time, and see whether the folder was taken over. now: whether it is time or not.

        Raises: Taken: it was, by a process to which this one looked dead.
        """
        if not now and time.monotonic() - self._beaten < BEAT_S:
            return
        self._beaten = time.monotonic()
        try:
            os.utime(self._path)
            mine = not os.path.lexists(record_path(self.folder, self.number + 1))
        except FileNotFoundError:
            mine = False
        except OSError:
            return  # a file server that is away for a moment
        if not mine:
            self._require_latest()

    def _require_latest(self) -> None:
        """Somebody else's record follows, or somebody removed this one, which is then put back."""
        held = latest(self.folder)
        if held is None or held.number < self.number:
            with contextlib.suppress(OSError):
                self._path.parent.mkdir(exist_ok=True)
            with contextlib.suppress(EnvironmentFailure):
                create_once(self._path, json_bytes(self.owner))
        elif held.number > self.number:
            raise Taken(
                f"{self.folder}: was taken over by {in_words(held.owner)}, because this process gave no sign for "
                f"{QUIET_S:.0f} s or --take-over requested it; this launch is not used"
            )

    def release(self) -> None:
        """Let others have the folder. Where the disk refuses, they see that this process is gone."""
        with contextlib.suppress(SlowpathError):
            held = latest(self.folder)
            if held is not None and held.owner is not None and held.owner.token == self.owner.token:
                write_atomically(self._path, json_bytes(msgspec.structs.replace(self.owner, released=now())))


_mine: list[Ownership] = []  # all that this process holds


@contextlib.contextmanager
def owned(
    folder: Path, command: str, tell: Callable[[str], None] = lambda line: None, take_over: bool = False
) -> Iterator[None]:
    """Hold `folder` for a while; within such a while once more is once.

    Args: command: what this process does, for others to read.  take_over: the user says that an owner that can't be
          seen is gone.
    Raises: Taken; EnvironmentFailure: nothing can be written there.
    """
    if any(ownership.folder == folder.absolute() for ownership in _mine):
        yield
        return
    ownership = take(folder, command, tell, take_over)
    _mine.append(ownership)
    try:
        yield
    finally:
        _mine.remove(ownership)
        ownership.release()


def keep_held(now: bool = False) -> None:
    """Renew the stamps of all that this process holds, where it is time.  Raises: Taken, as Ownership.keep."""
    for ownership in _mine:
        ownership.keep(now)


def take(
    folder: Path, command: str, tell: Callable[[str], None] = lambda line: None, take_over: bool = False
) -> Ownership:
    """Become the owner of `folder`.  Arguments and errors as those of `owned`."""
    place = inside(folder, OWNER_FOLDER)
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot("write", place, error) from error
    me = this_process()
    for _ in range(_TRIES):
        before = latest(folder)
        require_free(folder, me, tell, take_over, watch=True)
        number = before.number + 1 if before else 1
        if number > MOST_OWNERS:
            raise EnvironmentFailure(f"{place}: is full; if nobody measures into {folder}, remove {place}")
        owner = Owner(**asdict(me), token=uuid.uuid4().hex, since=now(), command=command)
        if not create_once(record_path(folder, number), json_bytes(owner)):
            continue
        # A higher one shows that a later owner removed the record that this one was to follow.
        now_held = latest(folder)
        if now_held is not None and now_held.number > number:
            record_path(folder, number).unlink(missing_ok=True)
            continue
        _tidy(place, number)
        ownership = Ownership(folder, number, owner)
        ownership.keep(now=True)
        return ownership
    raise Taken(f"{folder}: other processes take it repeatedly; wait until one of them is done")


def require_free(
    folder: Path,
    me: ProcessIdentity | None = None,
    tell: Callable[[str], None] = lambda line: None,
    take_over: bool = False,
    watch: bool = False,
) -> None:
    """Whether nobody measures into `folder`.

    Args: watch: an owner that can't be seen and gave no sign for long is watched; else it counts as gone.
    Raises: Taken, in one line that says who measures and what to do.
    """
    held = latest(folder)
    seen = standing(held, me or this_process())
    if held is None or seen == "free":
        return
    if seen == "lives" and held.owner is not None:
        raise _taken(folder, held, _SAME_PLACE.format(pid=held.owner.pid))
    if take_over:
        tell(f"{folder}: taken over from {in_words(held.owner)}, as --take-over asks")
        return
    quiet_s = (now_ns(folder) - held.stamp_ns) / 1e9
    if abs(quiet_s) < QUIET_S:
        raise _taken(folder, held, _ELSEWHERE, f" (last sign {max(0.0, quiet_s):.0f} s ago)")
    if not watch:
        return
    tell(f"{folder}: {in_words(held.owner)} gave no sign for long; watching for {WATCH_S:.0f} s whether it is gone")
    if not _stands_still(folder, held):
        raise _taken(folder, held, _ELSEWHERE, " (its clock and this one differ)")


def measured_by(folder: Path) -> str | None:
    """Return who measures into `folder` now, for those who only read it; None: nobody, as far as can be seen."""
    try:
        require_free(folder)
    except Taken as taken:
        return str(taken).partition(";")[0]
    except SlowpathError:
        return None
    return None


def _stands_still(folder: Path, held: HeldBy) -> bool:
    end = time.monotonic() + WATCH_S
    while time.monotonic() < end:
        time.sleep(min(1.0, WATCH_S))
        seen = latest(folder)
        if seen is None or seen.number != held.number:
            return True  # whoever takes it next is judged anew
        if seen.stamp_ns != held.stamp_ns:
            return seen.owner is not None and seen.owner.released is not None
    return True


def _taken(folder: Path, held: HeldBy, what_to_do: str, sign: str = "") -> Taken:
    unread = f" ({held.why})" if held.why else ""
    return Taken(f"{folder}: is being measured by {in_words(held.owner)}{unread}{sign}; {what_to_do}")


def _tidy(place: Path, number: int) -> None:
    """Remove the records of former owners, and what a process left that was killed while it tried to become one."""
    with contextlib.suppress(OSError):
        now = now_ns(place.parent)
        for path in place.iterdir():
            of_record = number_of(path)
            former = of_record is not None and of_record < number
            left = path.name.startswith(".") and now - path.lstat().st_mtime_ns > QUIET_S * 1e9
            if former or left:
                path.unlink(missing_ok=True)


def now() -> str:
    """Local time, ISO 8601."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
