# SPDX-License-Identifier: Apache-2.0
"""Faults of which two processes are a part: one folder, several that want to measure into it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from faults.kinds import Fault, Inject
from faults.world import ENGINE, Other, World

MOST_AT_ONCE = 8
BUSY = "is being measured by"
LOST = "was taken over by"
KILL_AT_LINK = "SLOWPATH_FAULTS_KILL_AT_LINK"  # preload.c


@cache
def namespace() -> tuple[str, ...] | None:
    """Words that start a program in a PID namespace of its own; None: this machine allows none."""
    base = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    for words in (base, ("unshare", "--user", "--map-root-user", *base[1:])):
        try:
            if subprocess.run([*words, "true"], capture_output=True, check=False, timeout=60).returncode == 0:
                return words
        except (OSError, subprocess.TimeoutExpired):
            return None
    return None


def _must(world: World, other: Other, code: int, words: str) -> bool:
    """Whether another slowpath ended with `code`; if so, and it was refused, it must have said `words` in one line.

    One that measured may say more: its watchdog ends a cell that a crowded machine lets wait.
    """
    got, said = other.ended()
    if got == code != 0 and (words not in said or "\n" in said):
        world.wrong.append(f"said not in one line '{words}': {said[-400:]}")
    return got == code


def _want(world: World, other: Other, code: int, words: str = "") -> None:
    if not _must(world, other, code, words):
        world.wrong.append(f"ended with {other.process.returncode} instead of {code}: {other.ended()[1][-400:]}")


@contextmanager
def _held_up(world: World) -> Iterator[bool]:
    """Ranks stand still, so that the run is there while another slowpath starts. Whether it was."""
    world.wait_until(lambda: world.named(ENGINE))
    pids = world.named(ENGINE)
    for pid in pids:
        world.send(pid, signal.SIGSTOP)
    try:
        yield bool(pids) and world.running()
    finally:
        for pid in pids:
            world.send(pid, signal.SIGCONT)


def _beside(elsewhere: bool) -> Inject:
    """`resume` while the run goes on: refused at once."""

    def inject(world: World, chance: random.Random) -> bool:
        within = (namespace() or ()) if elsewhere else ()
        with _held_up(world) as there:
            if not there:
                return False
            other = world.beside("resume", str(world.run), within=within)
            if other.ended()[0] == 0 and not world.running():
                return False  # the watchdog of the run was faster: nothing was left to do, and nothing was beside it
            _want(world, other, 4, BUSY)
        return True

    return inject


def _at_once(world: World, chance: random.Random) -> bool:
    """Several at the same moment: all but one are refused, unless they came when there was nothing left to do."""
    hit = world.kill()
    others = [world.beside("resume", str(world.run)) for _ in range(chance.randint(2, MOST_AT_ONCE))]
    codes = [other.ended()[0] for other in others]
    if 0 not in codes:
        world.wrong.append(f"nobody measured: {codes}")
    for other, code in zip(others, codes, strict=True):
        if code != 0:
            _want(world, other, 4, BUSY)
    return hit and 4 in codes


def _killed_while_taking_over(world: World, chance: random.Random) -> bool:
    """Right before, or right after, the link that makes it the owner."""
    hit = world.kill()
    other = world.beside("resume", str(world.run), **{KILL_AT_LINK: chance.choice(["before", "after"])})
    _want(world, other, -9)
    return hit


def _taken_over(world: World, chance: random.Random) -> bool:
    """The user is wrong: --take-over from where the living owner can't be seen. The owner must stop, unrecorded."""
    with _held_up(world) as there:
        if not there:
            return False
        _want(world, world.beside("resume", "--take-over", str(world.run), within=namespace() or ()), 0)
    world.finish()
    assert world.process is not None
    said = (world.folder / "said").read_text()
    if world.process.returncode not in (0, 4) or (world.process.returncode == 4 and LOST not in said):
        world.wrong.append(f"the former owner ended with {world.process.returncode}: {said[-400:]}")
    return world.process.returncode == 4


def _altered(how: str) -> Inject:
    """The owner was killed, and its record says less than it did: refused while its stamp is young."""

    def inject(world: World, chance: random.Random) -> bool:
        hit = world.kill()
        path = _record(world)
        if not hit or not path.exists() or json.loads(path.read_bytes())["released"]:
            return False  # it was over, or nearly
        _alter(path, how, chance)
        _want(world, world.beside("resume", str(world.run)), 4, BUSY)
        if chance.random() < 0.2:  # it costs 15 s
            os.utime(path, (time.time() - 600,) * 2)
            _want(world, world.beside("resume", str(world.run)), 0)
        else:
            _want(world, world.beside("resume", "--take-over", str(world.run)), 0)
        return hit

    return inject


def _alter(path: Path, how: str, chance: random.Random) -> None:
    content = path.read_bytes()
    if how == "another host":
        path.write_text(json.dumps({**json.loads(content), "host": "node7", "boot": "another"}))
    elif how == "damaged":
        at = chance.randrange(len(content))
        path.write_bytes(chance.choice([content[:at], b"", content[:at] + b"\xff\x00" + content[at + 2 :]]))
    else:  # what can't be read as a file at all
        path.unlink()
        chance.choice([path.mkdir, lambda: os.mkfifo(path)])()


def _full(world: World, chance: random.Random) -> bool:
    hit = world.kill()
    (world.folder / "full").touch()
    _want(world, world.beside("resume", str(world.run)), 4, "No space left on device")
    (world.folder / "full").unlink()
    return hit


def _read_only(world: World, chance: random.Random) -> bool:
    """By a mount that only this `resume` sees."""
    hit = world.kill()
    run = str(world.run)
    shell = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    # No PID namespace: the killed owner has to be seen as gone, so that the record of the next one is tried.
    within = ("unshare", *(("--user", "--map-root-user") if os.geteuid() else ()), "--mount", "sh", "-c", shell, run)
    _want(world, world.beside("resume", run, within=within), 4, "Read-only file system")
    return hit


def _record(world: World) -> Path:
    found = sorted((world.run / "owner").glob("*.json"))
    return found[-1] if found else world.run / "owner" / "none"


ALONE: tuple[Fault, ...] = (
    Fault("resume beside run", _beside(elsewhere=False)),
    Fault("several resumes at once", _at_once),
    Fault("resume: killed while it takes over", _killed_while_taking_over),
    Fault("owner's record of another host", _altered("another host")),
    Fault("owner's record damaged", _altered("damaged")),
    Fault("owner's record no file", _altered("no file")),
    Fault("resume: disk full", _full),
)
IN_NAMESPACES: tuple[Fault, ...] = (
    Fault("resume beside run, PID namespace", _beside(elsewhere=True)),
    Fault("living owner taken over", _taken_over),
    Fault("resume: read-only folder", _read_only),
)
WRITERS = (*ALONE, *IN_NAMESPACES)
