# SPDX-License-Identifier: Apache-2.0
"""Programs that look like a pattern and have none are not named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.watched_program import CALL_S, ELSEWHERE, HERE, THERE, Program


def ping_pong(program: Program) -> None:
    for _ in range(400):
        program.message(0, 1)
        program.message(1, 0)


def halo(program: Program) -> None:
    """Three fields to each neighbour."""
    for _ in range(100):
        program.compute(5e-6)
        for step in (1, program.ranks - 1):
            sent = [[program.send(rank, (rank + step) % program.ranks, 64) for _ in range(3)] for rank in range(4)]
            for rank in range(4):
                for at in sent[(rank - step) % program.ranks]:
                    program.receive(rank, (rank - step) % program.ranks, at, 64)


def farm(program: Program) -> None:
    """Rank 0 hands out work and takes results."""
    for number in range(300):
        worker = 1 + number % (program.ranks - 1)
        program.message(0, worker)
        program.now[worker] += 5e-6
        program.message(worker, 0)


def pipeline(program: Program) -> None:
    """Each element is sent once it was computed, so that the receiver can begin."""
    for _ in range(300):
        program.now[0] += 20e-6
        program.message(0, 1)


def until_converged(program: Program) -> None:
    """One variable is reduced again and again, with little computing, in rows of one length."""
    for _ in range(20):
        program.compute()
        for _ in range(10):
            program.compute(1e-6)
            program.all(took_s=4e-6)


def until_converged_at_once(program: Program) -> None:
    """The same without computing, in rows of any length."""
    for row in range(20):
        program.compute()
        for _ in range(5 + 3 * row % 7):
            program.all(took_s=4e-6)


def token(program: Program) -> None:
    """What comes is passed on: from the same buffer."""
    for _ in range(100):
        program.compute(20e-6)
        at = program.send(0, 1, 2048)
        for rank in (1, 2, 3):
            program.receive(rank, rank - 1, at, 2048)
            at = program.send(rank, (rank + 1) % 4, 2048)
        program.receive(0, 3, at, 2048)


def sweep(program: Program) -> None:
    """Each rank computes from what came before it sends."""
    for _ in range(100):
        at = program.send(0, 1, 2048, offset=64)
        for rank in (1, 2, 3):
            program.receive(rank, rank - 1, at, 2048, offset=4096)
            program.now[rank] += 20e-6
            at = program.send(rank, (rank + 1) % 4, 2048, offset=64)
        program.receive(0, 3, at, 2048, offset=4096)


def all_to_all(program: Program) -> None:
    """Each rank sends to all others at one place."""
    for _ in range(40):
        program.compute(20e-6)
        sent = {
            (rank, other): program.send(rank, other, 2048) for rank in range(4) for other in range(4) if rank != other
        }
        for (rank, other), at in sent.items():
            program.receive(other, rank, at, 2048)


def rounds_of_work(program: Program) -> None:
    """Parts of different lengths for all, after which one waits for each result."""
    for number in range(40):
        for worker in (1, 2, 3):
            program.message(0, worker, 1500 + 100 * ((number + worker) % 3))
        program.compute(20e-6)
        for worker in (1, 2, 3):
            program.receive(0, worker, program.send(worker, 0, 1500 + 100 * worker), 1500 + 100 * worker)


def taken_slowly(program: Program) -> None:
    """A receiver that computes while messages pile up takes them in order, the colder the more there are."""
    sent = [program.send(0, 1, 2048, tag=number) for number in range(600)]
    program.now[1] = program.now[0]
    for number, at in enumerate(sent):
        program.now[1] += 5e-6
        program.call_s = CALL_S + (600 - number) * 5e-9
        program.receive(1, 0, at, 2048, tag=number)


def receiver_computes_more(program: Program) -> None:
    """The same, but all that rank 1 computes is more than others do: in any order it comes last."""
    for _ in range(40):
        start = program.now[0]
        program.now[1] += 1e-3
        went = program.now[1] + 100e-6
        program.at(0).send(1, start_s=start, end_s=went, message_bytes=2**20, site=HERE)
        program.at(1).receive(0, start_s=program.now[1], end_s=went, message_bytes=2**20, site=THERE)
        program.now[:2] = [went, went + 100e-6]
        program.all(size=2048, site=ELSEWHERE)


def flood(program: Program) -> None:
    """Many messages come before their receives, which take no longer for that."""
    sent = [program.send(0, 1, 2048) for _ in range(600)]
    program.now[1] = program.now[0]
    for at in sent:
        program.receive(1, 0, at, 2048)


def made_in_a_row(program: Program) -> None:
    """All communicators that are needed later, in one loop; they are never freed."""
    for _ in range(30):
        program.all("MPI_Comm_dup", size=0, took_s=30e-6)
    for _ in range(20):
        program.compute()
        program.all(size=2048, site=ELSEWHERE)


def timed(program: Program) -> None:
    """A barrier, then the computing that it separates from the reduction."""
    for _ in range(500):
        program.all("MPI_Barrier", size=0, site=THERE, took_s=2e-6)
        program.compute(10e-6)
        program.all(size=64, took_s=4e-6)
        program.compute(10e-6)


CLEAN = (
    ping_pong,
    halo,
    farm,
    pipeline,
    until_converged,
    until_converged_at_once,
    made_in_a_row,
    timed,
    token,
    sweep,
    all_to_all,
    rounds_of_work,
    flood,
    taken_slowly,
    receiver_computes_more,
)


@pytest.mark.parametrize("clean", CLEAN, ids=lambda one: one.__name__)
def test_what_looks_alike_is_not_named(clean: Callable[[Program], None], tmp_path: Path) -> None:
    program = Program(4)
    clean(program)
    assert list(program.watched(tmp_path).findings) == []
