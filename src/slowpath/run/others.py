# SPDX-License-Identifier: Apache-2.0
"""What other processes take of this node's processors, from /proc: read twice, with nothing launched in between."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.machine import OtherProcess, Others

WINDOW_S = 0.3  # the kernel counts in ticks of 10 ms
LEAST_CORES = 0.1  # of a process that is named
ASK_AGAIN_CORES = 0.25  # below what is called load (slowpaths/placement/load.py)
MOST_NAMED = 3
_IDLE = (3, 4)  # idle and waiting for a disk, among the numbers of a processor's line
_GUEST_FROM = 8  # counted under user time already


@dataclass(frozen=True)
class Ticks:
    """What the kernel has counted so far, ticks. idle: of each processor.  busy: of each process, by id and name.

    on: the processor on which the first thread of each process ran last (proc(5), field 39 of stat).
    """

    idle: Mapping[int, int]
    total: Mapping[int, int]
    busy: Mapping[tuple[int, str], int]
    on: Mapping[tuple[int, str], int]


def others_now(processors: frozenset[int], seconds: float = WINDOW_S, proc: Path = Path("/proc")) -> Others | None:
    """What others take of these processors; None: this kernel does not count it.

    Where they take much it is counted once more, and the lesser of both is returned: what took a core for a moment is
    gone by then, and what ranks will have to share it with is still there. This process sleeps meanwhile.
    """
    first = _counted(processors, seconds, proc)
    if first is None or first.cores < ASK_AGAIN_CORES:
        return first
    time.sleep(seconds)
    again = _counted(processors, seconds, proc)
    return first if again is None else min(first, again, key=lambda others: others.cores)


def _counted(processors: frozenset[int], seconds: float, proc: Path) -> Others | None:
    before = ticks(proc)
    time.sleep(seconds)
    return between(before, ticks(proc), processors, seconds, os.sysconf("SC_CLK_TCK"))


def ticks(proc: Path) -> Ticks:
    """What is counted now; empty where it can't be read."""
    idle, total = dict[int, int](), dict[int, int]()
    try:
        lines = (proc / "stat").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdecimal():
            counted = [int(number) for number in numbers[:_GUEST_FROM]]
            idle[int(name[3:])] = sum(counted[place] for place in _IDLE if place < len(counted))
            total[int(name[3:])] = sum(counted)
    seen = _processes(proc)
    return Ticks(idle, total, {key: busy for key, busy, _ in seen}, {key: on for key, _, on in seen})


def _processes(proc: Path) -> list[tuple[tuple[int, str], int, int]]:
    """Of each process its id and name, user and system time in ticks, and the processor on which it ran last."""
    found = []
    for folder in proc.iterdir() if proc.is_dir() else ():
        if not folder.name.isdecimal():
            continue
        try:
            head, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
            fields = rest.split()
            key = (int(folder.name), head.partition("(")[2])
            found.append((key, int(fields[11]) + int(fields[12]), int(fields[36])))
        except (OSError, ValueError, IndexError):
            continue  # it has ended meanwhile
    return found


def between(before: Ticks, after: Ticks, processors: frozenset[int], seconds: float, ticks_per_s: int) -> Others | None:
    """What was taken in between.  Args: seconds: that passed.

    A process that ran last on none of these processors is not named: it took nothing of them that is known.
    """
    there = processors & before.total.keys() & after.total.keys()
    passed = sum(after.total[one] - before.total[one] for one in there)
    if not there or passed <= 0:
        return None
    idle = sum(after.idle[one] - before.idle[one] for one in there)
    cores = len(there) * max(0.0, 1 - idle / passed)
    here = {key: count for key, count in after.busy.items() if {before.on.get(key), after.on[key]} & there}
    grown = sorted(((count - before.busy.get(key, count), key) for key, count in here.items()), reverse=True)
    named = [
        OtherProcess(name or "unnamed", pid, round(count / (seconds * ticks_per_s), 2))
        for count, (pid, name) in grown[:MOST_NAMED]
        if count / (seconds * ticks_per_s) >= LEAST_CORES and pid != os.getpid()
    ]
    return Others(seconds, len(there), round(cores, 2), named)
