# SPDX-License-Identifier: Apache-2.0
"""The budgets of docs/internals/record.md, measured: start-up, report size, the engine's share.

    python benchmarks/budgets.py [RUN]        RUN: a run folder, for the last two lines

Prints a Markdown table and exits 1 when a budget is exceeded. Times depend on the machine, so this is no test.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slowpath.experiments.measured import load_launches
from slowpath.record.blocks import read

HELP_BUDGET_S = 0.1
REPORT_BUDGET_BYTES = 1_000_000
OVERHEAD_BUDGET_RATIO = 0.02
STARTS = 15


@dataclass(frozen=True)
class Line:
    """One budget and what was measured against it."""

    what: str
    measured: str
    budget: str
    kept: bool


def start_up() -> Line:
    """Smallest CPU time of `slowpath --help` over several starts."""
    times = []
    for _ in range(STARTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "slowpath.cli", "--help"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    best = min(times)
    budget = f"{HELP_BUDGET_S * 1e3:.0f} ms"
    return Line("CPU time of slowpath --help", f"{best * 1e3:.0f} ms", budget, best <= HELP_BUDGET_S)


def of_run(run: Path) -> Iterator[Line]:
    """Report size, and the largest share that reading the clock has in a steady ping-pong sample."""
    size = (run / "report.html").stat().st_size
    yield Line(f"report.html of {run.name}", f"{size / 1e3:.0f} kB", "1 MB", size <= REPORT_BUDGET_BYTES)
    worst = 0.0
    for launch in load_launches(run):
        index = launch.blocks
        clock = launch.ranks[0].clock if launch.ranks else None
        if index is None or clock is None or clock.overhead_ns is None:
            continue
        for i in index.select(phase="steady", rank=0):
            if int(index.headers["columns"][i]) == 1 and len(times := read(index, int(i)).duration_ns):
                worst = max(worst, clock.overhead_ns / float(sorted(times)[len(times) // 2]))
    kept = worst <= OVERHEAD_BUDGET_RATIO
    yield Line("clock reads in a batched sample, worst cell", f"{worst:.2%}", f"{OVERHEAD_BUDGET_RATIO:.0%}", kept)


def main() -> int:
    lines = [start_up()]
    if len(sys.argv) > 1:
        lines += of_run(Path(sys.argv[1]))
    print("| what | measured | budget | kept |\n|---|---|---|---|")
    for line in lines:
        print(f"| {line.what} | {line.measured} | {line.budget} | {'yes' if line.kept else '**no**'} |")
    return int(not all(line.kept for line in lines))


if __name__ == "__main__":
    sys.exit(main())
