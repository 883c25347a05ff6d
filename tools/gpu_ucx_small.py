#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Why do short messages between GPUs take longer through MPI over UCX than through ucx_perftest?

Round trips of 8 B and 1 KiB under settings that each switch off one suspect, in randomised rounds with ucx_perftest
among them. MPI_Send asks UCX for fast completion, which has a threshold of its own between copying and fetching; the
column "MPI_Isend" is one message of a window and a zero-byte answer, without that. Writes UCX's report of its protocols
for both programs into OUT. A setting that fails is a row.

    tools/gpu_ucx_small.py OUT --mpi cuda [--perftest PATH/ucx_perftest] [--rounds 3] [--limit 180]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gpu_jobs import JobError, Settings, TimeLeft, devices, median_s, middle, perftest_latency_s, run_cells

from slowpath.core.errors import SlowpathError
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.ucx_report import LOG_FILE, VARIABLES
from slowpath.run.engine.build import engine_for

SIZES = (8, 1024)
COMMON = "samples=100 time_limit_s=0.2 warmup_s=0.05"
COLUMNS = {
    **{f"{size} B": f"pattern=ping_pong memory=device message_bytes={size} {COMMON}" for size in SIZES},
    **{
        f"{size} B, MPI_Isend": f"pattern=windowed in_flight=1 memory=device message_bytes={size} {COMMON}"
        for size in SIZES
    },
    "8 B, host memory": f"pattern=ping_pong memory=host message_bytes=8 {COMMON}",
}
SETTINGS = {
    "default": {},
    "OMPI_MCA_accelerator=null": {"OMPI_MCA_accelerator": "null"},
    "UCX_MEMTYPE_CACHE=n": {"UCX_MEMTYPE_CACHE": "n"},
    "UCX_TLS=^cuda_copy": {"UCX_TLS": "^cuda_copy"},
    "UCX_TLS=self,sm,cuda_copy,cuda_ipc": {"UCX_TLS": "self,sm,cuda_copy,cuda_ipc"},
    "UCX_TLS=^cuda_ipc": {"UCX_TLS": "^cuda_ipc"},
    # Only of sends with fast completion, and only where UCX_RNDV_THRESH is left to UCX.
    "UCX_RNDV_SEND_NBR_THRESH=0": {"UCX_RNDV_SEND_NBR_THRESH": "0"},
    "UCX_RNDV_THRESH=0": {"UCX_RNDV_THRESH": "0"},
    "UCX_RNDV_THRESH=inf": {"UCX_RNDV_THRESH": "inf"},
    "UCX_RNDV_SCHEME=put_zcopy": {"UCX_RNDV_SCHEME": "put_zcopy"},
}
OWN_GPU = "each rank sees one GPU"
PERFTEST = "ucx_perftest"
Row = dict[str, list[float]]


def ours(mpi: Mpi, engine: Path, settings: Settings) -> dict[str, float]:
    """Seconds by column, of one launch; half round trips, and whole windows in the columns of MPI_Isend."""
    with tempfile.TemporaryDirectory(prefix="slowpath-small-") as folder:
        index = run_cells(mpi, engine, list(COLUMNS.values()), Path(folder), settings)
        found = {}
        for i, (column, cell) in enumerate(COLUMNS.items()):
            value = median_s(index, i, 0, "steady")
            if value is not None:
                found[column] = value / (2 if "ping_pong" in cell else 1)
        return found


def runs(mpi: Mpi, engine: Path, program: Path | None) -> dict[str, Callable[[int], dict[str, float]]]:
    """What is measured, by row: a function of a free port that gives seconds by column."""

    def theirs(program: Path, port: int) -> dict[str, float]:
        environ = mpi.environ(os.environ)
        found = {f"{size} B": perftest_latency_s(program, environ, "device", size, port + size % 7) for size in SIZES}
        return {**found, "8 B, host memory": perftest_latency_s(program, environ, "host", 8, port + 9)}

    def under(settings: Settings) -> Callable[[int], dict[str, float]]:
        return lambda _: ours(mpi, engine, settings)

    rows = {name: under(Settings(variables)) for name, variables in SETTINGS.items()}
    rows[OWN_GPU] = under(Settings({}, (devices()[0], devices()[-1])))
    return {**rows, **({PERFTEST: partial(theirs, program)} if program else {})}


def reports(mpi: Mpi, engine: Path, program: Path | None, out: Path) -> None:
    """UCX's own account of both programs, `ucx-report-{ours,perftest}-*.log` in `out`, a file a process."""

    def reported(name: str) -> dict[str, str]:
        return {**VARIABLES, LOG_FILE: str(out / f"ucx-report-{name}-%p.log")}

    try:
        ours(mpi, engine, Settings(reported("ours")))
        if program:
            perftest_latency_s(program, mpi.environ(os.environ), "device", SIZES[0], 21999, reported("perftest"))
    except JobError as error:
        print(f"\nNo report: {error}")


def measure(
    rows: dict[str, Callable[[int], dict[str, float]]], rounds: int, limit_s: float
) -> tuple[dict[str, Row], dict[str, str], int]:
    """Rounds in random order as long as time is left: values by row and column, failures by row, rounds that ended.

    A row that failed is not tried again.
    """
    values: dict[str, Row] = {name: {} for name in rows}
    failed: dict[str, str] = {}
    left, done = TimeLeft(limit_s), 0
    for number in range(rounds):
        order = [name for name in rows if name not in failed]
        random.shuffle(order)
        for position, name in enumerate(order):
            if not left.for_another():
                return values, failed, done
            try:
                for column, value in rows[name](20000 + 1000 * number + 20 * position).items():
                    values[name].setdefault(column, []).append(value)
            except JobError as error:
                failed[name] = str(error)
        done += 1
    return values, failed, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--mpi", default="cuda", help="as for slowpath run; must use UCX")
    parser.add_argument("--perftest", type=Path, help="ucx_perftest of the same UCX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=180, help="seconds; no launch is started that may end later")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    mpi = find_mpi(options.mpi)
    engine = engine_for(mpi).program
    begin = time.monotonic()
    reports(mpi, engine, options.perftest, options.out.resolve())
    left_s = options.limit - (time.monotonic() - begin)
    values, failed, done = measure(runs(mpi, engine, options.perftest), options.rounds, left_s)
    print(f"Median (range) over launches, us; {done} whole rounds of {options.rounds}; GPUs {', '.join(devices())}.\n")
    print(f"| setting | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    for name, row in values.items():
        cells = [middle(row.get(column, [])) for column in COLUMNS]
        print(f"| {name} | {' | '.join(cells)} |" + (f" failed: {failed[name]}" if name in failed else ""))


if __name__ == "__main__":
    try:
        main()
    except SlowpathError as error:
        sys.exit(f"tools/gpu_ucx_small.py: error: {error}")
