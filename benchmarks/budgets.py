# SPDX-License-Identifier: Apache-2.0
"""The budgets of docs/internals/record.md, measured: start-up, 10^8 samples, report size, the engine's share.

    python benchmarks/budgets.py [RUN]        RUN: a run folder, for the last two lines

Prints a Markdown table and exits 1 when a budget is exceeded. Times depend on the machine, so this is no test.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slowpath.experiments.measured import load_launches
from slowpath.record.blocks import Block, read, write_blocks

HELP_BUDGET_S = 0.1
REPORT_BUDGET_BYTES = 1_000_000
OVERHEAD_BUDGET_RATIO = 0.02
STARTS = 15
BLOCKS, BLOCK_SAMPLES, SAMPLES_BUDGET_S, SAMPLES_BUDGET_MB = 10_000, 10_000, 3.0, 300
# In a process of its own, so that its memory is the reader's alone.
READER = """
import resource, sys, time
begin_s = time.perf_counter()
from slowpath.experiments.measured import MetricSamples, reduce
from slowpath.record.blocks import opened, read_from, scan
index = scan(sys.argv[1])
with opened(index.path) as descriptor:
    times_ns = (read_from(descriptor, index, i).duration_ns for i in range(len(index.headers)))
    samples = sum(reduce(MetricSamples(times * 1e-9, 1)).samples for times in times_ns)
print(time.perf_counter() - begin_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, samples)
"""


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


def samples() -> Line:
    """10^8 samples checked and summarised as a launch's are: log-normal times with a sparse slow tail."""
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0.0, 0.06, (100, BLOCK_SAMPLES)))  # a hundred columns keep a sort honest
    noise[rng.random(noise.shape) < 0.003] *= 20.0
    scales_ns = 1500.0 * 2.0 ** (np.arange(24) * 0.75)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.blk"
        write_blocks(path, (Block(cell=i % 1000, launch=i // 1000, phase="steady",
                                  duration_ns=(scales_ns[i % 24] * np.roll(noise[i % 100], i)).astype(np.int64))
                            for i in range(BLOCKS)))  # fmt: skip
        done = subprocess.run([sys.executable, "-c", READER, str(path)], check=True, capture_output=True, text=True)
    took_s, peak_mb, count = map(float, done.stdout.split())
    kept = took_s <= SAMPLES_BUDGET_S and peak_mb <= SAMPLES_BUDGET_MB and count == BLOCKS * BLOCK_SAMPLES
    budget = f"{SAMPLES_BUDGET_S:g} s, {SAMPLES_BUDGET_MB} MB"
    return Line("10^8 samples checked and summarised", f"{took_s:.1f} s, {peak_mb:.0f} MB", budget, kept)


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
    lines = [start_up(), samples()]
    if len(sys.argv) > 1:
        lines += of_run(Path(sys.argv[1]))
    print("| what | measured | budget | kept |\n|---|---|---|---|")
    for line in lines:
        print(f"| {line.what} | {line.measured} | {line.budget} | {'yes' if line.kept else '**no**'} |")
    return int(not all(line.kept for line in lines))


if __name__ == "__main__":
    sys.exit(main())
