#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who pays for the first message from an over-allocated buffer, and for what?

Over-allocates the sender's buffer, the receiver's, both and neither, under each way in which UCX can fetch or write.
Shows from both ranks' time stamps how long the first message took, and how long each rank was inside its call. Beside
it stand the driver's own times for sharing such buffers, without MPI, and what UCX reports it does.

    tools/gpu_who_pays.py OUT --mpi cuda [--rounds 3] [--limit 150]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from gpu_jobs import JobError, Settings, TimeLeft, middle, run_cells

from slowpath.core.errors import SlowpathError
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.ucx_report import LOG_FILE, VARIABLES, in_words, moving, protocols
from slowpath.record.blocks import BlockIndex, read
from slowpath.run.engine.build import engine_for

MESSAGE_BYTES = 1 << 20
ALLOCATIONS = 4
SIDES = {"neither": "0", "sender": "1:0", "receiver": "0:1", "both": "1"}
CELL = (
    "pattern=one_way memory=device device=0 buffer_bytes=1073741824 messages=4 validate=off "
    f"message_bytes={MESSAGE_BYTES} allocations={ALLOCATIONS}"
)
SCHEMES = {
    "default": {},
    "receiver fetches": {"UCX_RNDV_SCHEME": "get_zcopy"},
    "sender writes": {"UCX_RNDV_SCHEME": "put_zcopy"},
}
TIMES = ("first, one way", "first, in MPI_Send", "first, in MPI_Recv", "later, one way")
Times = dict[str, list[float]]


def times_of(index: BlockIndex, cell: int, into: Times) -> None:
    """Adds this launch's times, seconds: from the start of MPI_Send to the end of MPI_Recv, and inside each call."""
    for phase, one_way in (("first", TIMES[0]), ("steady", TIMES[3])):
        sent, received = (index.select(cell=cell, rank=rank, phase=phase) for rank in (0, 1))
        for at_sender, at_receiver in zip(sent, received, strict=True):
            a, b = read(index, int(at_sender)), read(index, int(at_receiver))
            if a.start_ns is None or b.start_ns is None:
                continue  # not a record of one_way
            # Starts count from the block's own t0_ns, on one clock within a node.
            apart_ns = int(index.headers["t0_ns"][at_receiver]) - int(index.headers["t0_ns"][at_sender])
            whole = (b.start_ns + b.duration_ns - a.start_ns + apart_ns) * 1e-9
            into.setdefault(one_way, []).extend(whole.tolist())
            if phase == "first":
                into.setdefault(TIMES[1], []).extend((a.duration_ns * 1e-9).tolist())
                into.setdefault(TIMES[2], []).extend((b.duration_ns * 1e-9).tolist())


class Seen:
    """What the launches showed: times by way and over-allocated side, and what UCX said or how it failed, by way."""

    def __init__(self) -> None:
        self.times: dict[tuple[str, str], Times] = {(scheme, side): {} for scheme in SCHEMES for side in SIDES}
        self.reported: dict[str, str] = {}

    def launch(self, mpi: Mpi, engine: Path, scheme: str, folder: Path) -> None:
        """One launch with all four cells; its record stays in `folder`."""
        cells = [f"{CELL} overalloc_bytes={sides}" for sides in SIDES.values()]
        with tempfile.TemporaryDirectory(prefix="slowpath-who-") as logs:
            settings = Settings({**SCHEMES[scheme], **VARIABLES, LOG_FILE: f"{logs}/%p.log"})
            try:
                index = run_cells(mpi, engine, cells, folder, settings)
            except JobError as error:
                self.reported[scheme] = f"failed: {error}"
                return
            for i, side in enumerate(SIDES):
                times_of(index, i, self.times[scheme, side])
            said = "\n".join(path.read_text(errors="replace") for path in Path(logs).iterdir())
            self.reported[scheme] = in_words(moving(protocols(said), MESSAGE_BYTES)) or "nothing"

    def table(self) -> str:
        lines = [f"| way | over-allocated | {' | '.join(TIMES)} |", "|---" * (len(TIMES) + 2) + "|"]
        for (scheme, side), times in self.times.items():
            lines.append(f"| {scheme} | {side} | {' | '.join(middle(times.get(name, [])) for name in TIMES)} |")
        return "\n".join([*lines, *(f"\nUCX, {scheme}: {words}" for scheme, words in self.reported.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder; gets the records")
    parser.add_argument("--mpi", default="cuda", help="as for slowpath run; must use UCX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=150, help="seconds; no launch is started that may end later")
    options = parser.parse_args()
    mpi = find_mpi(options.mpi)
    engine = engine_for(mpi).program
    seen = Seen()
    left = TimeLeft(options.limit)
    for number in range(options.rounds):
        for scheme in random.sample(list(SCHEMES), len(SCHEMES)):
            if left.for_another():
                seen.launch(mpi, engine, scheme, options.out / f"who-pays-{number}-{scheme.replace(' ', '-')}")
    print("1 MiB out of 1 GiB, 1 B over-allocated, both ranks on one GPU. Median (range) over messages, us.\n")
    print(seen.table())
    print("\nThe same lengths at the driver, without MPI:\n", flush=True)
    words = ["--allocation-bytes", "1GiB", "--overalloc-bytes", "0,1", "--repetitions", "5"]
    subprocess.run([str(engine.parent / "slowpath-ipc"), *words], timeout=60, check=False)


if __name__ == "__main__":
    try:
        main()
    except (SlowpathError, subprocess.TimeoutExpired) as error:
        sys.exit(f"tools/gpu_who_pays.py: error: {error}")
