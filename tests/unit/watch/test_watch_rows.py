# SPDX-License-Identifier: Apache-2.0
"""Rows of messages and exchanges that could be one, and exchanges in one buffer."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from slowpath.findings.program_pattern import Activity
from slowpath.slowpaths.program import calls as cost_of_calls
from support.program_plants import small_collectives
from support.watched_program import HERE, ITERATIONS, THERE, Program, calls_in_turn


@pytest.mark.parametrize(("lengths", "is_named"), [(3, True), (1, False)])
def test_exchanges_by_one_buffer_are_of_several_elements_where_their_lengths_vary(
    lengths: int, is_named: bool, tmp_path: Path
) -> None:
    """A count and as many numbers, 40 times in turn; of one length it may be a loop whose steps need each other."""
    program = Program(2)
    for _ in range(ITERATIONS):
        program.compute(20e-6)
        for number in range(40):
            for site, size in ((HERE, 4), (THERE, 8 * (number % lengths))):
                sent = [program.send(rank, 1 - rank, size, site=site) for rank in (0, 1)]
                for rank in (0, 1):
                    program.receive(rank, 1 - rank, sent[1 - rank], size, site=site)
    found = [each for each in program.watched(tmp_path).findings if each.name == "many small messages"]
    assert len(found) == is_named, "both places are one change"
    assert all("80 in a row in exchanges with one rank" in each.text for each in found)
    assert all("if none needs what another brought" in (each.change or "") for each in found)


@pytest.mark.parametrize(("fields", "answers", "is_named"), [(3, False, True), (2, False, False), (3, True, False)])
def test_fields_of_an_element_are_one_message(fields: int, answers: bool, is_named: bool, tmp_path: Path) -> None:
    """Each field has a place of its own, and so few are in a row that one alone would be no row. answers: to each."""
    program = Program(2)
    for _ in range(150):
        program.compute(20e-6)
        for number in range(fields):
            program.receive(1, 0, program.send(0, 1, site=1 + number, offset=64 * number), site=1 + number)
            if answers:
                program.message(1, 0)
    assert ("many small messages" in [finding.name for finding in program.watched(tmp_path).findings]) is is_named


@pytest.mark.parametrize(("fields", "between_s", "is_named"), [(3, 0.1e-6, True), (2, 0.1e-6, False), (3, 2e-6, False)])
def test_reductions_of_several_places_that_always_come_together_are_one(
    fields: int, between_s: float, is_named: bool, tmp_path: Path
) -> None:
    """What is computed between two may be what the next one is about."""
    program = Program(4)
    for turn in range(150 * fields):
        program.compute(between_s if turn % fields else 1e-4)
        program.all(site=1 + turn % fields, offset=64 * (turn % fields), took_s=4e-6)
    found = [each for each in program.watched(tmp_path).findings if each.name == "small collectives in a row"]
    assert [each.saved_s for each in found] == [pytest.approx(150 * 2 * 4e-6, rel=0.05)] * is_named


@pytest.mark.parametrize(("call", "is_named"), [("MPI_Exscan", True), ("MPI_Neighbor_alltoallv", False)])
def test_what_neighbours_bring_into_one_buffer_is_a_step_of_a_loop(call: str, is_named: bool, tmp_path: Path) -> None:
    program = Program(4)
    small_collectives(program, False, call, step=0)
    assert bool(program.watched(tmp_path).findings) is is_named


@pytest.mark.parametrize(
    ("call", "size", "detail", "saved_s"),
    [("Sendrecv_replace", 2**20, -1, 0.8e-6), ("Sendrecv_replace", 8, -1, 0), ("Accumulate", 5000, 1, 0.3e-6),
     ("Accumulate", 5000, 0, 0)],
)  # fmt: skip
def test_a_cheaper_call_of_the_same_meaning(call: str, size: int, detail: int, saved_s: float) -> None:
    """A long exchange in one buffer is copied, 0.8 of its time at most; what replaces is a put of 0.7 us."""
    columns = {
        "bytes": np.full(1600, size),
        "detail": np.full(1600, detail),
        "is_one_sided": np.full(1600, detail >= 0),
    }
    seen = cost_of_calls.see(calls_in_turn((f"MPI_{call}", "MPI_Barrier"), 400, **columns))
    each_s = [pattern.saved_s[0, 0] for pattern in seen if pattern.name.startswith(("accumulates", "exchange"))]
    assert each_s == [pytest.approx(saved_s)] * (saved_s > 0)


@pytest.mark.parametrize(("group", "is_named"), [(4, True), (1, False)])
def test_epochs_are_for_the_ranks_that_data_goes_to(group: int, is_named: bool) -> None:
    names = ("MPI_Win_post", "MPI_Win_start", "MPI_Put", "MPI_Win_complete", "MPI_Win_wait")
    calls = calls_in_turn(names, 100, detail=np.full(1000, group))
    seen = [pattern for pattern in cost_of_calls.see(calls) if "groups of those ranks" in pattern.change]
    assert [pattern.saved_s[:, 0].sum() for pattern in seen] == [pytest.approx(0.75 * 800e-6)] * is_named


@pytest.mark.parametrize(
    ("kind", "also", "waits"), [(1, "MPI_Put", True), (0, "MPI_Put", False), (1, "MPI_Get", False)]
)
def test_exclusive_locks_wait_for_the_rank_that_holds_one(kind: int, also: str, waits: bool) -> None:
    """Rank 0 holds the lock for 7 us; rank 1 asks for it 3 us before that ends. Who reads and writes needs it."""
    columns = {"detail": np.full(800, kind), "site": np.zeros(800, int), "target": np.zeros(800, int)}
    calls = calls_in_turn(("MPI_Win_lock", "MPI_Put", also, "MPI_Win_unlock"), 100, **columns)
    start_s = np.tile(np.repeat(np.arange(100) * 40e-6, 4) + np.tile([0.0, 2e-6, 4e-6, 7e-6], 100), 2)
    waits_s = 5e-6 * ((calls.rank == 1) & (calls.call == 0))
    start_s, end_s = start_s + 10e-6 * calls.rank - waits_s, start_s + 10e-6 * calls.rank + 1e-6
    every = cost_of_calls.see(dataclasses.replace(calls, start_s=start_s, end_s=end_s))
    seen = [pattern for pattern in every if "MPI_LOCK_SHARED" in pattern.change]
    assert [pattern.saved_s[:, 0].sum() for pattern in seen] == [pytest.approx(100 * 3e-6)] * waits


def test_calls_that_complete_generalized_requests_go_with_them() -> None:
    columns = {"counted": np.array([[1, 1, 0, 5000], [1, 1, 1, 5000]]), "counted_s": np.array([0.1, 0.1])}
    columns |= {"brings": np.tile([True, False], 40), "call": np.zeros(80, int)}
    (pattern,) = cost_of_calls.see(calls_in_turn(("MPI_Waitall", "MPI_Grequest_start"), 20, **columns))
    assert pattern.saved_s[:, 0].sum() == pytest.approx(40 * 1e-6, rel=1e-3)


@pytest.mark.parametrize(("other", "waits"), [("MPI_Barrier", 0.8), ("MPI_Rget", 0.0)])
def test_what_completes_small_nonblocking_transfers_of_a_file_goes_with_them(other: str, waits: float) -> None:
    """A wait may be for a request of a window, where there are some."""
    names = ("MPI_Wait", other, "MPI_File_iwrite_at")
    columns = {"counted": np.array([[2, 1, 0, 2000]]), "counted_s": np.array([0.1]), "moved": np.array([[24000, 0]])}
    every = cost_of_calls.see(calls_in_turn(names, 20, call=np.tile([0, 1, 0], 40), **columns))
    (pattern,) = [each for each in every if each.name == "small nonblocking transfers of a file"]
    assert "call MPI_File_write_at where the program waits at once" in pattern.change
    assert pattern.more_s[0] == pytest.approx(0.8 * 0.1)
    assert pattern.saved_s[:, 0].sum() == pytest.approx(waits * 80e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("found", "also", "is_named"),
    [(0, "Send", True), (1, "Send", False), (0, "Irecv", False), (0, "Win_create", False)],
)
def test_probes_that_never_find_anything_are_named(found: int, also: str, is_named: bool) -> None:
    """One that waits ends with a message; one may be there so that the library goes on with what was started."""
    columns = {"counted": np.array([[0, 1, 0, 10**5], [1, 1, 0, 1]]), "counted_s": np.array([0.1, 0.0])}
    calls = calls_in_turn(("MPI_Iprobe", f"MPI_{also}"), 50, in_vain=np.arange(200) % 2 == 0, **columns)
    calls.in_vain[:found] = False
    seen = [each for each in cost_of_calls.see(calls) if each.name == "probes that never find anything"]
    assert [each.more_s[0] for each in seen] == [pytest.approx(0.095)] * is_named


@pytest.mark.parametrize(
    ("writes", "size", "is_named"),
    [(6400, 2**14, True), (6400, 2**20, False), (100, 2**20, False), (20, 2**14, False), (6400, 10, False)],
)
def test_transfers_of_a_file_that_are_many_system_calls_are_named(writes: int, size: int, is_named: bool) -> None:
    """Rank 0 writes for both: 32 calls of 3.1 MiB by the library's buffer; or what it writes are other files."""
    columns = {"counted": np.array([[1, 1, rank, 16] for rank in (0, 1)]), "counted_s": np.array([0.3, 0.1])}
    columns |= {"moved": np.array([[16 * 3276800, 0]] * 2), "call": np.zeros(80, int)}
    calls = calls_in_turn(("MPI_Barrier", "MPI_File_write_at_all"), 20, **columns)
    done = Activity(1.0, 9, {}, 1.0, 0.0, 0.5, 0.0, 0.0, float(writes * size), 0.0, writes)
    calls = dataclasses.replace(calls, activity=lambda rank, *_: dataclasses.replace(done) if rank == 0 else None)
    every = [each for each in cost_of_calls.see(calls) if "go to the system in pieces of 16 KiB" in each.change]
    assert [each.more_s[0] for each in every] == [pytest.approx(0.5 * 0.4 / 2)] * is_named


@pytest.mark.parametrize(("makes", "is_named"), [(("allocate_shared",), True), (("allocate_shared", "create"), False)])
def test_memory_that_ranks_share_is_read_in_place(makes: tuple[str, ...], is_named: bool) -> None:
    """Where all windows are of such memory."""
    columns = {"counted": np.array([[2 + i, 3, 0, 1] for i in range(len(makes))]), "bytes": np.full(1600, 16)}
    calls = calls_in_turn(("MPI_Get", "MPI_Win_flush"), 400, counted_s=np.zeros(len(makes)), **columns)
    calls = dataclasses.replace(calls, names=(*calls.names, *(f"MPI_Win_{name}" for name in makes)))
    seen = [pattern for pattern in cost_of_calls.see(calls) if "MPI_Win_shared_query" in pattern.change]
    assert [pattern.saved_s[:, 0].sum() for pattern in seen] == [pytest.approx(1600 * 1e-6, rel=0.01)] * is_named


@pytest.mark.parametrize(("step", "end", "goes"), [(16, "epoch", 1600e-6), (0, "epoch", 960e-6), (0, "flush", 800e-6)])
def test_gets_into_buffers_of_their_own_need_not_wait_for_each_other(step: int, end: str, goes: float) -> None:
    names = ("MPI_Win_lock", "MPI_Get", "MPI_Win_unlock") if end == "epoch" else ("MPI_Put", "MPI_Win_flush")
    offset = np.tile(np.repeat(np.arange(400) * step, len(names)), 2)
    every = cost_of_calls.see(calls_in_turn(names, 400, bytes=np.full(offset.size, 16), offset=offset))
    (pattern,) = [each for each in every if each.name == f"one {end} for each transfer"]
    assert pattern.saved_s[:, 0].sum() == pytest.approx(goes, rel=0.01)
    assert ("within one epoch" in pattern.change) == (end == "epoch")


@pytest.mark.parametrize(("lengths", "is_named"), [(1, True), (2, False)])
def test_probes_before_messages_of_one_length_are_needless(lengths: int, is_named: bool) -> None:
    turn = np.tile(np.arange(400), 2)
    columns = {"bytes": 8 * (turn % 2) * (1 + turn // 2 % lengths), "is_message": turn >= 0, "brings": turn >= 0}
    seen = cost_of_calls.see(calls_in_turn(("MPI_Probe", "MPI_Recv"), 200, is_one_sided=turn < 0, **columns))
    named = [pattern.saved_s[:, 0].sum() for pattern in seen if "receive at once" in pattern.change]
    assert named == [pytest.approx(400 * 1e-6)] * is_named


@pytest.mark.parametrize("targets", [1, 3])
def test_epochs_with_one_rank_after_the_other_are_one(targets: int) -> None:
    target = np.tile(np.arange(300) // 3 % targets, 2)
    seen = cost_of_calls.see(calls_in_turn(("MPI_Win_lock", "MPI_Put", "MPI_Win_unlock"), 100, target=target))
    assert [p.saved_s[:, 0].sum() for p in seen if "one epoch" in p.name] == [pytest.approx(400e-6, rel=0.05)]
