# SPDX-License-Identifier: Apache-2.0
"""A campaign of faults: each to a run of its own, which is resumed and compared with an undisturbed one."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from faults.check import Signature, at_once, differences, doubled, signature, unreadable
from faults.kinds import FAULTS, Fault
from faults.world import World
from watchdog import WATCHDOG_S

HERE = Path(__file__).parent
SEED = 7  # of all runs: the same plan
ORPHANS_S = 120.0  # the launcher's own way of ending a job that lost its parent takes a few seconds on a quiet machine
MOST_TRIES = 5
TELL_EVERY = 50
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Told:
    """What became of one run. faults: in words, all that is not as it must be."""

    kind: str
    hit: bool
    resumed: bool
    wall_s: float
    faults: tuple[str, ...]


def preload(folder: Path) -> Path:
    """The library of preload.c, built into `folder`."""
    library = folder / "libfaults.so"
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(HERE / "preload.c"), "-ldl"],
        check=True,
        timeout=WATCHDOG_S,
    )
    return library


class Faults:
    """Does faults in folders of their own under `folder`; those of runs that are as they must be are removed."""

    def __init__(self, folder: Path, environ: Mapping[str, str], cell_timeout_s: int = 3) -> None:
        """folder: a path without a blank.  cell_timeout_s: more than a busy machine may need for a cell."""
        self._folder = folder
        self._environ = {**environ, "LD_PRELOAD": str(preload(folder))}
        self._cell_timeout_s = cell_timeout_s
        self._numbers = itertools.count(1)
        self.expected: Signature = {}
        self.usual_s = 0.0

    def undisturbed(self) -> None:
        """The run that all others must equal.  Raises: RuntimeError: it does not succeed."""
        world = self._world()
        world.start_run(SEED)
        code = world.finish()
        self.usual_s = time.monotonic() - world.begun
        if code != 0:
            raise RuntimeError(f"the undisturbed run ended with {code}: {(world.folder / 'said').read_text()}")
        self.expected = signature(world.run)

    def one(self, fault: Fault, chance: random.Random) -> Told:
        """Do one fault at a random time; again, and earlier, if it came too late to hit anything."""
        for attempt in range(MOST_TRIES):
            told = self._once(fault, chance, self.usual_s / 2**attempt)
            if told.hit:
                break
        return told

    def _once(self, fault: Fault, chance: random.Random, within_s: float) -> Told:
        world = self._world()
        world.start_run(SEED)
        time.sleep(chance.uniform(0, within_s))
        hit = fault.inject(world, chance)
        code = world.finish()
        wall_s = time.monotonic() - world.begun
        wrong = list(world.wrong)
        if code is None:
            wrong.append(f"hang: {wall_s:.0f} s")
        if not world.gone_within(ORPHANS_S):
            wrong.append(f"orphans: {len(world.pids())} processes")
        if why := unreadable(world.run):
            wrong.append(f"unreadable: {why}")
        fault.mend(world)
        resumed = code != 0 or _status(world.run) != "complete"
        if resumed:
            wrong += self._resume(world)
        wrong += self._compared(world)
        world.kill_all()
        if not wrong:
            shutil.rmtree(world.folder)
        return Told(fault.name, hit, resumed, wall_s, tuple(f"{world.folder}: {text}" for text in wrong))

    def _resume(self, world: World) -> list[str]:
        world.start("resume", str(world.run))
        code = world.finish()
        if code != 0:
            return [f"resume ended with {code}: {(world.folder / 'said').read_text()[-400:]}"]
        return [] if world.gone_within(ORPHANS_S) else ["orphans after resume"]

    def _compared(self, world: World) -> list[str]:
        try:
            status = _status(world.run)
            found = [] if status == "complete" else [f"status {status}"]
            found += differences(self.expected, signature(world.run)) + doubled(world.run) + at_once(world.run)
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]
        return found

    def _world(self) -> World:
        folder = self._folder / f"{next(self._numbers):04d}"
        folder.mkdir()
        return World(folder, self._environ, self._cell_timeout_s)


def _status(run: Path) -> str:
    try:
        return str(json.loads((run / "run.json").read_text())["status"])
    except (OSError, ValueError, KeyError):
        return "unknown"


def campaign(
    faults: Faults, count: int, seed: int, tell: Tell, kinds: Sequence[Fault] = FAULTS, workers: int = 1
) -> list[Told]:
    """`count` faults, kinds in turn, times and choices by chance: the same for a seed, however many workers do them."""
    told: list[Told] = []

    def one(number: int) -> Told:
        return faults.one(kinds[number % len(kinds)], random.Random(f"{seed} {number}"))

    pool = ThreadPoolExecutor(workers)
    try:
        for done in pool.map(one, range(count)):
            told.append(done)
            for text in done.faults:
                tell(f"{done.kind}: {text}")
            if len(told) % TELL_EVERY == 0:
                tell(f"{len(told)} of {count} done, {sum(bool(one.faults) for one in told)} wrong")
    except KeyboardInterrupt:
        tell(f"stopped after {len(told)} of {count}")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return told


def table(told: Sequence[Told]) -> str:
    """One line a kind: how many, how many hit, how many needed resume, what was wrong, the longest run."""
    head = f"{'fault':<36}{'done':>6}{'hit':>6}{'resumed':>9}{'wrong':>7}{'longest':>10}"
    lines = [head, "-" * len(head)]
    for kind in [*dict.fromkeys(one.kind for one in told), "all"]:
        own = [one for one in told if kind in ("all", one.kind)]
        lines.append(
            f"{kind:<36}{len(own):>6}{sum(one.hit for one in own):>6}{sum(one.resumed for one in own):>9}"
            f"{sum(bool(one.faults) for one in own):>7}{max(one.wall_s for one in own):>8.1f} s"
        )
    return "\n".join(lines)
