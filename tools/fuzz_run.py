# SPDX-License-Identifier: Apache-2.0
"""Gives a reader its inputs in one process, under limits of memory and time, and keeps what broke it."""

from __future__ import annotations

import hashlib
import random
import resource
import signal
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fuzz_reached import Line, Reached
from fuzz_targets import Target, refused, seeds_of

ONE_LIMIT_S = 20  # of one input; a reader takes milliseconds
MEMORY_BYTES = 4 * 2**30  # address space of a worker
MOST_KEPT = 20


class Hang(BaseException):
    """One input took longer than ONE_LIMIT_S."""


@dataclass
class Counts:
    """What became of the inputs.

    crashes: the last line of each kind of crash -> the file with its input.  lines: inputs -> lines reached.
    """

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    peak_bytes: int = 0
    crashes: dict[str, str] | None = None
    lines: dict[int, frozenset[Line]] | None = None


def run(target: Target, inputs: int, seed: int, keep: Path, reached: Reached | None = None) -> Counts:
    """`inputs` inputs. Inputs that break the reader are kept in `keep`, one of each kind."""
    counts = Counts(crashes={})
    chance = random.Random(f"{target.name} {seed}")
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="slowpath-fuzz-", dir=shared if shared.is_dir() else None) as name:
        folder = Path(name)
        seeds = seeds_of(target, folder)
        for content in seeds:
            if refused(target, content, folder):
                raise ValueError(f"{target.name}: an input that should be valid is refused")
        before = signal.signal(signal.SIGALRM, _hang)
        if reached is not None:
            reached.start()
        try:
            for number in range(1, inputs + 1):
                _one(target, target.make(seeds, chance), folder, keep, counts)
                if reached is not None:
                    reached.look(number)
        finally:
            if reached is not None:
                reached.stop()
                counts.lines = reached.after
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
    counts.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return counts


def limit_memory() -> None:
    """For a worker: an allocation without bounds becomes MemoryError, which is a crash."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _one(target: Target, content: bytes, folder: Path, keep: Path, counts: Counts) -> None:
    signal.alarm(ONE_LIMIT_S)
    begun = time.process_time()  # a busy machine makes no input slow
    try:
        counts.refused += refused(target, content, folder)
    except (Exception, Hang) as error:
        _crashed(error, content, keep, counts)
    counts.slowest_s = max(counts.slowest_s, time.process_time() - begun)
    counts.inputs += 1


def _crashed(error: BaseException, content: bytes, keep: Path, counts: Counts) -> None:
    frame = next(
        (f for f in reversed(traceback.extract_tb(error.__traceback__)) if "slowpath" in f.filename),
        traceback.extract_tb(error.__traceback__)[-1],
    )
    what = f"{type(error).__name__}: {str(error)[:120]} ({Path(frame.filename).name}:{frame.lineno})"
    kind = f"{type(error).__name__} {frame.filename}:{frame.lineno}"
    assert counts.crashes is not None
    if len(counts.crashes) < MOST_KEPT and not any(key.startswith(kind) for key in counts.crashes):
        path = keep / hashlib.sha256(content).hexdigest()[:16]
        path.write_bytes(content)
        counts.crashes[f"{kind}|{what}"] = str(path)


def _hang(number: int, frame: FrameType | None) -> None:
    raise Hang(f"over {ONE_LIMIT_S} s")
