# SPDX-License-Identifier: Apache-2.0
"""Calls from several lines in Python, and what a watch must not change: prints what the program can see of itself.

places.py. On one rank.
"""

from __future__ import annotations

import gc
import sys
import threading

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_SELF
ONE, TWO = np.ones(1), np.zeros(1)
collections = []


def exchange(tag: int) -> None:
    """One message from this line."""
    COMM.Sendrecv(ONE, 0, tag, TWO, 0, tag)


def lines(rounds: int) -> None:
    """Three times as many calls from the second line as from the first; both call at one place in C."""
    for _ in range(rounds):
        COMM.Allreduce(ONE, TWO)  # one
        for _ in range(3):
            COMM.Allreduce(ONE, TWO)  # three


def phases(rounds: int) -> None:
    for _ in range(rounds):
        COMM.Barrier()  # first phase
    for _ in range(rounds):
        COMM.Barrier()  # second phase


class CallsAtItsEnd:
    """MPI is called while an exception is on its way."""

    def __del__(self) -> None:
        COMM.Barrier()


def raises() -> None:
    kept = CallsAtItsEnd()
    raise KeyError(repr(type(kept)))


def beside_a_thread(messages: int) -> None:
    """With two threads the interpreter is not asked: its lock may be another one's."""

    def receive() -> None:
        number = np.zeros(1)
        for _ in range(messages):
            COMM.Recv(number, 0, 5)

    receiver = threading.Thread(target=receive)
    receiver.start()
    for _ in range(messages):
        COMM.Ssend(ONE, 0, 5)
    receiver.join()


gc.callbacks.append(lambda phase, _: collections.append(phase))
references = sys.getrefcount(exchange.__code__), sys.getrefcount(lines.__code__)
for number in range(3000):
    exchange(number % 7)
lines(10000)
phases(40000)
try:
    raises()
except KeyError as error:
    print("raised", error)
print("references", references == (sys.getrefcount(exchange.__code__), sys.getrefcount(lines.__code__)))
print("collections", len(collections))
if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
    beside_a_thread(200)
print("sum", TWO[0])
