# SPDX-License-Identifier: Apache-2.0
"""What watching costs a call, by MPI: the same program unwatched and watched, in interleaved pairs.

    python benchmarks/watch_calls.py [--pairs N] [MPI...]     MPI: as for --mpi; the embedded one unless given

A line a call: median over pairs of the difference to an empty wrapper of the call, ns, and its smallest and largest.
`preload` is the library without a folder to record into.
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


def times_ns(program: Path, environ: dict[str, str]) -> dict[str, float]:
    """By call, of one process."""
    done = subprocess.run([program], env=environ, check=True, capture_output=True, text=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def measure(mpi: Mpi, library: Path, pairs: int, work: Path) -> None:
    """Print the lines of one MPI."""
    assert mpi.mpicxx is not None, f"{mpi.prefix} has no compiler wrapper"
    plain, program = dict(mpi.environ(os.environ)), work / f"{mpi.name}"
    wrapper = mpi.mpicxx.with_name("mpicc")
    subprocess.run([wrapper, "-O2", "-o", program, SOURCE], env=plain, check=True)
    empty = work / "libempty.so"
    subprocess.run(
        [wrapper, "-O2", "-shared", "-fPIC", "-o", empty, SOURCE.with_name("watch_empty.c")], env=plain, check=True
    )
    preload = {**plain, "LD_PRELOAD": str(library)}
    ways = {"empty": {**plain, "LD_PRELOAD": str(empty)}, "preload": preload}
    ways["watched"] = {**preload, "SLOWPATH_WATCH": str(work)}
    runs = [{way: times_ns(program, environ) for way, environ in ways.items()} for _ in range(pairs)]
    for call in runs[0]["empty"]:
        line = f"{mpi.name:10} {call:19} {statistics.median(run['empty'][call] for run in runs):7.1f} ns"
        for way in ("preload", "watched"):
            more = [run[way][call] - run["empty"][call] for run in runs]
            line += f"   {way} {statistics.median(more):+6.1f} ns [{min(more):+.1f}, {max(more):+.1f}]"
        print(line)


def main() -> int:
    """Measure each MPI."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--library", type=Path, default=None)
    parser.add_argument("mpis", nargs="*", default=["embedded"])
    options = parser.parse_args()
    library = find_library(os.environ, print, options.library)
    with tempfile.TemporaryDirectory() as work:
        for mpi in options.mpis:
            measure(find_mpi(mpi), library, options.pairs, Path(work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
