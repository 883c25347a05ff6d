# SPDX-License-Identifier: Apache-2.0
"""The faults, by kind. Each is done to a world that runs, and says whether it hit anything."""

from __future__ import annotations

import random
import resource
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from faults.commands import OTHERS, RUN, STOPPED, WATCH, Command
from faults.inherited import SIGNALS, WAYS, Inherited, inherited
from faults.world import ENGINE, LAUNCHER, PROXY, World

LEAVE = signal.SIGRTMIN + 3  # preload.c
Inject = Callable[[World, random.Random], bool]
ATOMIC = ("run.json", "plan.json", "launch.json", "plan.txt", "campaign.toml")


@dataclass(frozen=True)
class Fault:
    """inject: does it, returns whether it hit.  mend: undoes what lasts, before the run is resumed.

    command: that it is done to.  before: what has to be so from the start.  codes: exit codes of a command that it
    hit; None: any.
    """

    name: str
    inject: Inject
    mend: Callable[[World], None] = lambda world: None
    command: Command = RUN
    before: Callable[[World, random.Random], None] = lambda world, chance: None
    codes: tuple[int, ...] | None = None


def _to(program: str, number: int) -> Inject:
    """A signal to one process of this program, as soon as there is one."""

    def inject(world: World, chance: random.Random) -> bool:
        world.wait_until(lambda: world.named(program))
        found = world.named(program)
        return bool(found) and world.send(chance.choice(found), number)

    return inject


def _suspend(world: World, chance: random.Random) -> bool:
    """A rank, the launcher or its proxy stops for good; or slowpath itself for longer than its watchdog waits."""
    program = chance.choice([ENGINE, ENGINE, LAUNCHER, PROXY, None])
    if program is not None:
        return _to(program, signal.SIGSTOP)(world, chance)
    assert world.process is not None
    slowpath = world.process.pid
    hit = world.running() and world.send(slowpath, signal.SIGSTOP)
    threading.Timer(world.cell_timeout_s + 2, lambda: world.running() and world.send(slowpath, signal.SIGCONT)).start()
    return hit


def _starve(world: World, chance: random.Random) -> bool:
    """A rank may have no more address space than it has now (setrlimit(2), RLIMIT_AS)."""
    world.wait_until(lambda: world.named(ENGINE))
    for pid in chance.sample(found := world.named(ENGINE), len(found)):
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
            resource.prlimit(pid, resource.RLIMIT_AS, (pages * resource.getpagesize(),) * 2)
        except (OSError, ValueError, IndexError):
            continue
        return True
    return False


def _fill(world: World, chance: random.Random) -> bool:
    (world.folder / "full").touch()
    return world.running()


def _empty(world: World) -> None:
    (world.folder / "full").unlink(missing_ok=True)


def _set_clock(world: World, chance: random.Random) -> bool:
    """An hour, or ten years, to either side."""
    (world.folder / "step").write_text(str(chance.choice([-1, 1]) * chance.choice([3600, 10 * 365 * 86400])))
    return world.running()


def _interrupt(times: int) -> Inject:
    def inject(world: World, chance: random.Random) -> bool:
        assert world.process is not None
        hit = world.running() and world.send(world.process.pid, signal.SIGINT)
        for _ in range(times - 1):
            time.sleep(chance.uniform(0, 0.3))
            if world.running():
                world.send(world.process.pid, signal.SIGINT)
        return hit

    return inject


def _kill_slowpath(world: World, chance: random.Random) -> bool:
    assert world.process is not None
    return world.running() and world.send(world.process.pid, signal.SIGKILL)


def _power_cut(world: World, chance: random.Random) -> bool:
    """Everything dies at once, and the last write of the file that was written last is not whole."""
    hit = world.running()
    world.kill_all()
    world.gone_within(5)
    # The record of the owner is on the disk before it has its name; its stamp is nothing that could be lost.
    files = [path for path in world.run.rglob("*") if path.is_file() and path.parent.name != "owner"]
    last = max(files, key=lambda path: path.stat().st_mtime_ns)
    data = last.read_bytes()
    if last.name in ATOMIC:
        # Written beside and renamed: a cut leaves half of the file beside, and of what was there before all.
        last.with_name(f".{last.name}.1.part").write_bytes(data[: chance.randint(0, len(data))])
        if last.name == "launch.json":
            last.unlink()
    elif data:
        last.write_bytes(data[: len(data) - chance.randint(1, min(4096, len(data)))])
    return hit


def _slowpath_gets(number: signal.Signals) -> Inject:
    def inject(world: World, chance: random.Random) -> bool:
        assert world.process is not None
        return world.running() and world.send(world.process.pid, number)

    return inject


def _inherit(world: World, chance: random.Random) -> None:
    """One signal ignored, blocked or handled by a preloaded library, from the start."""
    world.inherited = inherited(chance.choice(WAYS), chance.choice(SIGNALS))


def _begin_as_usual(world: World) -> None:
    world.inherited = Inherited()


def _of(command: Command) -> tuple[Fault, ...]:
    """The faults of each command but `run`. A watched program gets the signals, and its exit code is checked."""
    stopped = None if command is WATCH else (STOPPED,)
    return (
        Fault(f"{command.name}: SIGKILL", _slowpath_gets(signal.SIGKILL), command=command, codes=(-signal.SIGKILL,)),
        Fault(f"{command.name}: SIGTERM", _slowpath_gets(signal.SIGTERM), command=command, codes=stopped),
        Fault(f"{command.name}: Ctrl-C", _slowpath_gets(signal.SIGINT), command=command, codes=stopped),
        Fault(f"{command.name}: disk full", _fill, _empty, command=command, codes=(4,)),
        Fault(f"{command.name}: clock set", _set_clock, command=command, codes=()),
        Fault(
            f"{command.name}: signals inherited",
            lambda world, chance: True,
            _begin_as_usual,
            command=command,
            before=_inherit,
            codes=(),
        ),
    )


FAULTS: tuple[Fault, ...] = (
    Fault("rank: SIGKILL", _to(ENGINE, signal.SIGKILL)),
    Fault("rank: SIGSEGV", _to(ENGINE, signal.SIGSEGV)),
    Fault("rank: exit 0 without MPI_Finalize", _to(ENGINE, LEAVE)),
    Fault("rank: out of memory", _starve),
    Fault("launcher: SIGKILL", _to(LAUNCHER, signal.SIGKILL)),
    Fault("node lost (its daemon killed)", _to(PROXY, signal.SIGKILL)),
    Fault("process suspended for good", _suspend),
    Fault("disk full", _fill, _empty),
    Fault("clock set", _set_clock),
    Fault("Ctrl-C", _interrupt(1)),
    Fault("Ctrl-C twice", _interrupt(2)),
    Fault("slowpath: SIGKILL", _kill_slowpath),
    Fault("power cut in a write", _power_cut),
)
RUN_INHERITS = Fault("signals inherited", lambda world, chance: True, _begin_as_usual, before=_inherit, codes=())
OF_COMMANDS = (RUN_INHERITS, *(fault for command in OTHERS for fault in _of(command)))
