# SPDX-License-Identifier: Apache-2.0
"""Reductions of objects by a binding: rows of MPI calls with pickling between them, and what a row takes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from slowpath.findings.program_pattern import Messages, ProgramCalls
from slowpath.slowpaths.program import sp051_small_reductions
from slowpath.watch.analysis import object_collective
from support.watched_program import CALL_S

ALLREDUCE = "mpi4py.MPI.Comm.allreduce"


@pytest.mark.parametrize(
    ("between_s", "in_a_row", "named"), [(12e-6, 32, 20 * 32), (12e-6, 3, None), (200e-6, 32, None)]
)
def test_reductions_of_objects_in_a_row_are_named_and_those_with_computing_between_are_not(
    between_s: float, in_a_row: int, named: int | None
) -> None:
    """Each is two broadcasts, of a length and of the bytes, 1 us apart; `between_s` before the next."""
    found = list(sp051_small_reductions.see(reductions_of_objects(between_s, in_a_row)))
    assert [one.count for one in found] == ([] if named is None else [named])
    for one in found:
        assert f"{ALLREDUCE} of an object in {{place}}, 32 in a row, each of them 2.0 MPI calls" in one.text
        assert "call comm.Allreduce once" in one.change
        assert one.sites == (0, 1)
        less_s = 20 * (32 * (2 * CALL_S + 1e-6) + 31 * between_s) * 31 / 32  # a rank; before a row is not in it
        assert one.more_s == pytest.approx((less_s, 0.0, less_s), rel=0.01)


def test_what_a_rank_waits_for_within_a_row_is_anothers_pickling_and_goes_with_it() -> None:
    """Half of each call is a wait. In the first reduction of a row it is one for a rank that came late, which stays."""
    calls = reductions_of_objects(12e-6, 32)
    waits = dataclasses.replace(calls, own_s=calls.own_s / 2)
    (one,) = sp051_small_reductions.see(calls)
    (with_waits,) = sp051_small_reductions.see(waits)
    in_first_s = 20 * 2 * CALL_S / 2 * 31 / 32  # of each row, a rank
    assert one.more_s[0] - with_waits.more_s[0] == pytest.approx(in_first_s, rel=1e-6)
    assert (with_waits.saved_s[:, [0, 2]] == 0.0).all()
    assert with_waits.saved_s[:, 1].sum() < one.saved_s[:, 1].sum()


def reductions_of_objects(between_s: float, in_a_row: int) -> ProgramCalls:
    """Of two ranks, 20 rows with 1 ms between them."""
    rows = [(rank, row, number) for rank in range(2) for row in range(20) for number in range(2 * in_a_row)]
    rank, row, number = np.array(rows, dtype=np.int64).T
    each_s = between_s + 1e-6 + 2 * CALL_S
    start_s = row * (in_a_row * each_s + 1e-3) + number // 2 * each_s + number % 2 * (CALL_S + 1e-6)
    n, zero = rank.size, np.zeros(rank.size, dtype=np.int64)
    no = zero == 1
    none = zero[:0]
    messages = Messages(none, none, none, none, none, none, none, no[:0])
    return ProgramCalls(
        rank=rank, thread=rank, start_s=start_s, end_s=start_s + CALL_S, own_s=np.full(n, CALL_S), call=zero,
        site=number % 2, communicator=zero, bytes=np.where(number % 2, 120, 8), root=zero, offset=zero,
        is_collective=~no, is_message=no, is_one_sided=no, brings=~no, group=zero, weight=np.ones(n),
        names=("MPI_Bcast",), messages=messages, counted=np.zeros((0, 4), np.int64), counted_s=np.zeros(0),
        members=(2,), ranks=2, span_s=1.0, within=(ALLREDUCE, ALLREDUCE, ""),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("functions", "binding"),
    [
        (("mpi4py.MPI.PyMPI_recv_p2p", "mpi4py.MPI.PyMPI_reduce_p2p", ALLREDUCE, "main"), ALLREDUCE),
        (("mpi4py.MPI.Comm.Allreduce", "main"), None),
        (("solver.allreduce", "main"), None),
    ],
)
def test_what_a_binding_makes_of_objects_is_known_by_its_functions(
    functions: tuple[str, ...], binding: str | None
) -> None:
    assert object_collective(functions) == binding
