# SPDX-License-Identifier: Apache-2.0
"""Programs in mpi4py with one needless pattern each, and their corrected twins.

patterns.py PATTERN faulty|clean ITERATIONS COMPUTE_US
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

ELEMENTS, NUMBERS, BYTES = 256, 32, 1 << 20
COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
kept = {}


def compute(seconds: float) -> None:
    """On this rank's own core."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def small_messages(faulty: bool) -> None:
    """Each element for itself."""
    values = np.ones(ELEMENTS)
    for i in range(ELEMENTS) if faulty else [slice(None)]:
        part = values[i : i + 1] if faulty else values
        if RANK == 0:
            COMM.Send(part, 1)
        elif RANK == 1:
            COMM.Recv(part, 0)
    COMM.Barrier()


def small_reductions(faulty: bool) -> None:
    """The sum of each element for itself."""
    values = np.ones(NUMBERS)
    if faulty:
        for i in range(NUMBERS):
            values[i] = COMM.allreduce(values[i])
    else:
        COMM.Allreduce(MPI.IN_PLACE, values)


def new_buffers(faulty: bool) -> None:
    """Sent from and received into arrays that are new each time."""
    if faulty or not kept:
        kept.update(sent=np.empty(BYTES, np.uint8), received=np.empty(BYTES, np.uint8))
    sent, received = kept["sent"], kept["received"]
    sent[:] = RANK
    COMM.Sendrecv(sent, (RANK + 1) % SIZE, 1, received, (RANK - 1) % SIZE, 1)
    if faulty:
        kept.clear()


PATTERNS = {"small-messages": small_messages, "small-reductions": small_reductions, "new-buffers": new_buffers}
if __name__ == "__main__":
    pattern, twin, iterations, compute_us = sys.argv[1:]
    COMM.Barrier()
    start = time.perf_counter()
    for _ in range(int(iterations)):
        compute(int(compute_us) * 1e-6)
        PATTERNS[pattern](twin == "faulty")
    if RANK == 0:
        print(f"loop {time.perf_counter() - start:.6f} s")
