#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the padding library take the cost of over-allocation away from a program that can't be changed?

Runs gpudirect_p2p_overalloc with +0 and +1 B, plain and with libslowpath-pad.so preloaded into the ranks, several
processes of each in randomised rounds, both ranks on one GPU. Writes a log a process (what `slowpath import` reads) and
prints, for each kind, how long first and later messages took with over-allocation and without, within each process.

    tools/gpu_pad.py OUT --mpi cuda [--rounds 6] [--limit 200]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from gpu_jobs import Settings, TimeLeft, devices, job, middle

from slowpath.core.errors import SlowpathError
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.record.imports.log import Log, read_log
from slowpath.run.engine.build import engine_for

# 9 allocations, 4 messages of 1 MiB from each, out of 1 GiB: as its author ran it.
WORDS = ("9", "4", "1048576", "1073741824")
KINDS = {"0-plain": ("0", False), "1-plain": ("1", False), "0-padded": ("0", True), "1-padded": ("1", True)}
PHASES = ("first", "later")


@dataclass
class Seen:
    """Medians of each process of one kind, seconds, by phase and section; and what failed."""

    with_s: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    without_s: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    failed: list[str] = field(default_factory=list)


def add(log: Log, seen: Seen) -> None:
    """One process's two sections. Allocation 0 is left out: it pays for connections of its own."""
    for section in log.sections:
        into = seen.with_s if section.overallocated else seen.without_s
        for phase in PHASES:
            times = [t.ns * 1e-9 for t in section.times if t.allocation > 0 and (t.message == 0) == (phase == "first")]
            into[phase].append(statistics.median(times))


def ratio(seen: Seen, phase: str) -> str:
    """With over without over-allocation, process by process: median (range)."""
    pairs = zip(seen.with_s[phase], seen.without_s[phase], strict=True)
    ratios = [over / clean for over, clean in pairs if clean > 0]
    if not ratios:
        return "-"
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def run(mpi: Mpi, beside: Path, kind: str, log: Path, seen: Seen) -> None:
    """One process of a kind; what it printed becomes `log`."""
    length, padded = KINDS[kind]
    preload = {"LD_PRELOAD": str(beside / "libslowpath-pad.so")} if padded else {}
    settings = Settings({"CUDA_VISIBLE_DEVICES": devices()[0], **preload})
    try:
        log.write_text(job(mpi, [str(beside / "gpudirect_p2p_overalloc"), *WORDS, length], settings).stdout)
        add(read_log(log), seen)
    except SlowpathError as error:
        seen.failed.append(str(error))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--mpi", default="cuda", help="as for slowpath run")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--limit", type=float, default=200, help="seconds; no process is started that may end later")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    mpi = find_mpi(options.mpi)
    beside = engine_for(mpi).program.parent
    seen = {kind: Seen() for kind in KINDS}
    left = TimeLeft(options.limit)
    for number in range(options.rounds):
        for kind in random.sample(list(KINDS), len(KINDS)):
            if left.for_another():
                run(mpi, beside, kind, options.out / f"pad-log-{kind}-{number}.txt", seen[kind])
    print(table(seen))


def table(seen: dict[str, Seen]) -> str:
    lines = ["Medians (ranges) over processes. With +0 both sections allocate the same length: a control.\n"]
    lines += ["| over-allocated | phase | with, us | without, us | with over without | processes |", "|---" * 6 + "|"]
    for kind, found in seen.items():
        for phase in PHASES:
            cells = [middle(found.with_s[phase]), middle(found.without_s[phase]), ratio(found, phase)]
            lines.append(f"| {kind} | {phase} | {' | '.join(cells)} | {len(found.with_s[phase])} |")
    failed = [f"\n{kind} failed: {text}" for kind, found in seen.items() for text in dict.fromkeys(found.failed)]
    return "\n".join([*lines, *failed])


if __name__ == "__main__":
    try:
        main()
    except SlowpathError as error:
        sys.exit(f"tools/gpu_pad.py: error: {error}")
