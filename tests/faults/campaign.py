# SPDX-License-Identifier: Apache-2.0
"""A campaign of faults: each to a run of its own, which is resumed and compared with an undisturbed one."""

from __future__ import annotations

import itertools
import math
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from faults.commands import RUN, Command, Found
from faults.inherited import handler
from faults.kinds import FAULTS, Fault
from faults.world import World
from watchdog import WATCHDOG_S

HERE = Path(__file__).parent
ORPHANS_S = 120.0  # the launcher's own way of ending a job that lost its parent takes a few seconds on a quiet machine
MOST_TRIES = 5
TELL_EVERY = 50
Tell = Callable[[str], None]


@dataclass(frozen=True)
class RunFacts:
    """What became of one run. faults: in words, all that is not as it must be.  recovery_s: of what went on with it."""

    kind: str
    hit: bool
    resumed: bool
    wall_s: float
    faults: tuple[str, ...]
    recovery_s: float = 0.0


def preload(folder: Path) -> Path:
    """The library of preload.c, built into `folder`."""
    library = folder / "libfaults.so"
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(HERE / "preload.c"), "-ldl"],
        check=True,
        timeout=WATCHDOG_S,
    )
    return library


def program(folder: Path, environ: Mapping[str, str]) -> None:
    """The program of program.c, built into `folder` by the MPI's own wrapper."""
    wrapper = Path(environ["SLOWPATH_MPI"]).parent / "mpicc"
    without = {name: value for name, value in environ.items() if name != "LD_PRELOAD"}
    argv = [
        str(wrapper),
        "-o",
        str(folder / "program"),
        str(HERE / "program.c"),
        f"-Wl,-rpath,{wrapper.parents[1] / 'lib'}",
    ]
    subprocess.run(argv, env=without, check=True, timeout=WATCHDOG_S)


class Faults:
    """Does faults in folders of their own under `folder`; those of runs that are as they must be are removed."""

    def __init__(self, folder: Path, environ: Mapping[str, str], cell_timeout_s: int = 3) -> None:
        """folder: a path without a blank.  cell_timeout_s: more than a busy machine may need for a cell."""
        self._folder = folder
        self._environ = {**environ, "LD_PRELOAD": str(preload(folder))}
        self._cell_timeout_s = cell_timeout_s
        self._numbers = itertools.count(1)
        self._expected: dict[str, Found] = {}
        self.usual_s: dict[str, float] = {}
        handler(folder)

    def undisturbed(self, kinds: Sequence[Fault] = FAULTS) -> None:
        """The run of each command that all others must equal.  Raises: RuntimeError: one does not succeed."""
        commands = {fault.command.name: fault.command for fault in kinds}
        if commands.keys() - {RUN.name}:
            program(self._folder, self._environ)
        for name, command in commands.items():
            world = self._world()
            command.begin(world)
            begun = time.monotonic()
            code = world.finish()
            self.usual_s[name] = time.monotonic() - begun
            if not command.whole(world, code):
                raise RuntimeError(f"{name}, undisturbed, ended with {code}: {(world.folder / 'said').read_text()}")
            self._expected[name] = command.holds(world.run)

    def one(self, fault: Fault, chance: random.Random) -> RunFacts:
        """Do one fault at a random time; again, and earlier, if it came too late to hit anything."""
        for attempt in range(MOST_TRIES):
            told = self._once(fault, chance, self.usual_s[fault.command.name] / 2**attempt)
            if told.hit:
                break
        return told

    def _once(self, fault: Fault, chance: random.Random, within_s: float) -> RunFacts:
        world, command = self._world(), fault.command
        fault.before(world, chance)
        command.begin(world)
        time.sleep(chance.uniform(0, within_s))
        hit = fault.inject(world, chance)
        code = world.finish()
        wall_s = time.monotonic() - world.begun
        wrong = list(world.wrong)
        if fault.codes is not None and code not in (*command.done, *fault.codes):
            wrong.append(f"exit code {code}: {(world.folder / 'said').read_text()[-400:]}")
        if code is None:
            wrong.append(f"hang: {wall_s:.0f} s")
        if not world.gone_within(ORPHANS_S):
            wrong.append(f"orphans: {len(world.pids())} processes")
        wrong += _checked(world, command, code)
        fault.mend(world)
        resumed, recovery_s = not command.whole(world, code), 0.0
        if resumed:
            begun = time.monotonic()
            wrong += self._resume(world, command)
            recovery_s = time.monotonic() - begun
        wrong += self._compared(world, command)
        world.kill_all()
        if not wrong:
            shutil.rmtree(world.folder)
        return RunFacts(
            fault.name, hit, resumed, wall_s, tuple(f"{world.folder}: {text}" for text in wrong), recovery_s
        )

    def _resume(self, world: World, command: Command) -> list[str]:
        words = command.again(world)
        world.start(*words)
        code = world.finish()
        if code not in command.done:
            return [f"{words[0]} ended with {code}: {(world.folder / 'said').read_text()[-400:]}"]
        left = [] if world.gone_within(ORPHANS_S) else ["orphans after resume"]
        return left + _checked(world, command, code)

    def _compared(self, world: World, command: Command) -> list[str]:
        try:
            return command.differ(self._expected[command.name], command.holds(world.run))
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]

    def _world(self) -> World:
        folder = self._folder / f"{next(self._numbers):04d}"
        folder.mkdir()
        return World(folder, self._environ, self._cell_timeout_s)


def _checked(world: World, command: Command, code: int | None) -> list[str]:
    """Whether the folder can be read, and states nothing that is not so."""
    try:
        command.holds(world.run)
        return command.wrong(world, code)
    except Exception as error:  # whatever it is, it is what a user would meet
        return [f"unreadable: {type(error).__name__}: {error}"]


def campaign(
    faults: Faults,
    count: int,
    seed: int,
    tell: Tell,
    kinds: Sequence[Fault] = FAULTS,
    workers: int = 1,
    within_s: float = math.inf,
) -> list[RunFacts]:
    """`count` faults, kinds in turn, times and choices by chance: the same for a seed, however many workers do them.

    within_s: those that were not begun by then are left out. Ctrl-C: those that were not begun are left out, after a
    second one all that go on; what had ended is returned.
    """
    done: dict[int, RunFacts] = {}
    end = time.monotonic() + within_s

    def one(number: int) -> RunFacts | None:
        if time.monotonic() > end:
            return None
        done[number] = faults.one(kinds[number % len(kinds)], random.Random(f"{seed} {number}"))
        return done[number]

    pool = ThreadPoolExecutor(workers)
    try:
        for ended in as_completed([pool.submit(one, number) for number in range(count)]):
            facts = ended.result()
            if facts is None:
                continue
            for text in facts.faults:
                tell(f"{facts.kind}: {text}")
            if len(done) % TELL_EVERY == 0:
                tell(f"{len(done)} of {count} done, {sum(bool(one.faults) for one in done.values())} wrong")
    except KeyboardInterrupt:
        tell("stopped: waits for those that were begun; once more: leaves them out")
    finally:
        _end(pool)
    told = [done[number] for number in sorted(done)]
    if len(told) < count:
        tell(f"{'the time was over' if time.monotonic() > end else 'stopped'} after {len(told)} of {count}")
    return told


def _end(pool: ThreadPoolExecutor) -> None:
    """Wait for what was begun, unless the user doesn't."""
    try:
        pool.shutdown(wait=True, cancel_futures=True)
    except KeyboardInterrupt:
        pool.shutdown(wait=False)


def table(told: Sequence[RunFacts]) -> str:
    """One line a kind: how many, how many hit, how many needed resume, what was wrong, the longest run and recovery."""
    head = f"{'fault':<36}{'done':>6}{'hit':>6}{'resumed':>9}{'wrong':>7}{'longest':>10}{'recovery':>11}"
    lines = [head, "-" * len(head)]
    for kind in [*dict.fromkeys(one.kind for one in told), "all"]:
        own = [one for one in told if kind in ("all", one.kind)]
        longest_s = max((one.wall_s for one in own), default=0.0)
        recovery_s = max((one.recovery_s for one in own), default=0.0)
        lines.append(
            f"{kind:<36}{len(own):>6}{sum(one.hit for one in own):>6}{sum(one.resumed for one in own):>9}"
            f"{sum(bool(one.faults) for one in own):>7}{longest_s:>8.1f} s{recovery_s:>9.1f} s"
        )
    return "\n".join(lines)
