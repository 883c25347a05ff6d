# SPDX-License-Identifier: Apache-2.0
"""The table of guidelines against the mock-ups that the engine has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slowpath.mpi.guidelines import COLLECTIVES, GUIDELINES

ENGINE = Path(__file__).parents[3] / "engine" / "mockups"
IN_ENGINE = {
    (collective, name)
    for source in ENGINE.glob("*.cpp")
    for name, collective in re.findall(r'\{"([^"]+)",\s*Collective::(\w+),', source.read_text(encoding="utf-8"))
}
#: Träff, Gropp, Thakur 2010, and the mock-ups of PGMPITuneLib.
DEMANDED = """
allgather <= allgatherv, allreduce, alltoall, gather+bcast
allreduce <= reduce+bcast, reduce_scatter_block+allgather, reduce_scatter+allgatherv
alltoall <= alltoallv
bcast <= allgatherv, scatter+allgather
gather <= allgather, gatherv, reduce
reduce <= allreduce, reduce_scatter_block+gather, reduce_scatter+gatherv, reduce_scatter
reduce_scatter_block <= reduce+scatter, reduce_scatter, allreduce
reduce_scatter <= allreduce, reduce+scatterv
scan <= exscan+reduce_local, allgather+reduce_local
scatter <= bcast, scatterv
"""


def test_what_the_guidelines_name_is_what_the_engine_has() -> None:
    assert len(IN_ENGINE) > 40
    named = {(one.collective, one.mockup) for one in GUIDELINES if one.mockup is not None}
    assert named == {pair for pair in IN_ENGINE if pair[1] != "nonblocking"}


def test_collectives_are_those_of_the_engine_in_its_order() -> None:
    names = (ENGINE / "names.cpp").read_text(encoding="utf-8")
    assert tuple(re.findall(r'^    "(\w+)",$', names, re.MULTILINE)) == COLLECTIVES


@pytest.mark.parametrize("line", DEMANDED.strip().splitlines())
def test_every_guideline_of_the_literature_is_there(line: str) -> None:
    collective, _, mockups = line.partition(" <= ")
    assert {mockup for one in GUIDELINES if one.collective == collective and (mockup := one.mockup)} >= set(
        mockups.split(", ")
    )
