# SPDX-License-Identifier: Apache-2.0
"""Rows of messages and exchanges that could be one, and exchanges in one buffer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.slowpaths.program import calls as cost_of_calls
from support.program_plants import small_collectives
from support.watched_program import HERE, ITERATIONS, THERE, Program, made_calls


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


@pytest.mark.parametrize(("call", "is_named"), [("MPI_Exscan", True), ("MPI_Neighbor_alltoallv", False)])
def test_what_neighbours_bring_into_one_buffer_is_a_step_of_a_loop(call: str, is_named: bool, tmp_path: Path) -> None:
    program = Program(4)
    small_collectives(program, False, call, step=0)
    assert bool(program.watched(tmp_path).findings) is is_named


@pytest.mark.parametrize(("size", "is_named"), [(2**20, True), (8, False)])
def test_long_exchanges_in_one_buffer_are_copied(size: int, is_named: bool) -> None:
    rank = np.repeat([0, 1], 10)
    exchange = {"bytes": size + 0 * rank, "call": 0 * rank, "site": 0 * rank, "names": ("MPI_Sendrecv_replace",)}
    seen = cost_of_calls.see(made_calls(rank, np.tile(np.arange(10) * 1e-2, 2), 1e-3, **exchange))
    assert [pattern.saved_s[0, 0] for pattern in seen] == [pytest.approx(0.1e-9 * size)] * is_named
