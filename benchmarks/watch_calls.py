# SPDX-License-Identifier: Apache-2.0
"""What watching costs a call, by MPI: the same program unwatched and watched, in interleaved pairs.

    python benchmarks/watch_calls.py [--pairs N] [MPI...]     MPI: as for --mpi; the embedded one unless given

A line a call: its own median over pairs, what watching adds, and the budget. Exits 1 where the smallest is beyond it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.watch.start.library import find_library

SOURCE = Path(__file__).with_suffix(".c")
# On an idle core.
COUNTED, POLLS = ("MPI_Comm_rank", "errhandlers", "Waitall_idle"), ("MPI_Iprobe", "MPI_Improbe", "MPI_Test")
BUDGET_NS = dict.fromkeys(COUNTED, 5.0) | dict.fromkeys(POLLS, 10.0)


def times_ns(program: Path, environ: dict[str, str]) -> dict[str, float]:
    """By call, of one process."""
    done = subprocess.run([program], env=environ, check=True, capture_output=True, text=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def is_within(mpi: Mpi, library: Path, pairs: int, work: Path) -> bool:
    """Print the lines of one MPI. @return Whether all are within their budgets."""
    assert mpi.mpicxx is not None, f"{mpi.prefix} has no compiler wrapper"
    plain, program = dict(mpi.environ(os.environ)), work / f"{mpi.name}"
    subprocess.run([mpi.mpicxx.with_name("mpicc"), "-O2", "-o", program, SOURCE], env=plain, check=True)
    watched = {**plain, "LD_PRELOAD": str(library), "SLOWPATH_WATCH": str(work)}
    runs = [(times_ns(program, plain), times_ns(program, watched)) for _ in range(pairs)]
    least = {}
    for call in runs[0][0]:
        more = [after[call] - before[call] for before, after in runs]
        least[call], budget = min(more), BUDGET_NS.get(call, 100)
        own = statistics.median(before[call] for before, _ in runs)
        spread = f"{statistics.median(more):+6.1f} ns [{min(more):+.1f}, {max(more):+.1f}]"
        print(f"{mpi.name:10} {call:19} {own:7.1f} ns {spread}, budget {budget:g} ns")
    return all(more <= BUDGET_NS.get(call, 100) for call, more in least.items())


def main() -> int:
    """Measure each MPI."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--library", type=Path, default=None)
    parser.add_argument("mpis", nargs="*", default=["embedded"])
    options = parser.parse_args()
    library = find_library(os.environ, print, options.library)
    with tempfile.TemporaryDirectory() as work:
        kept = [is_within(find_mpi(mpi), library, options.pairs, Path(work)) for mpi in options.mpis]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
