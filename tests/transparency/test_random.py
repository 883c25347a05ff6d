# SPDX-License-Identifier: Apache-2.0
"""Random MPI calls give, watched and with their collectives replaced, byte for byte what the library's own give.

A sample under the embedded MPI. With SLOWPATH_TRANSPARENCY_MINUTES every family in every way for so long under each of
SLOWPATH_TEST_MPIS as well (`make transparency`); SLOWPATH_TRANSPARENCY_RANKS=2,3,4 sets the numbers of ranks.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from random_programs import (
    BOTH,
    COLLECTIVES,
    FAMILIES,
    NATIVE,
    UNFIT,
    Part,
    Runner,
    mockups,
    parts,
    seconds_of_each,
    tables,
)

from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine

pytestmark = pytest.mark.needs("minutes")
MPIS = ["embedded", *filter(None, os.environ.get("SLOWPATH_TEST_MPIS", "").split(":"))]
MINUTES = os.environ.get("SLOWPATH_TRANSPARENCY_MINUTES")
SEED = 20261123
SIZES = tuple(int(word) for word in os.environ.get("SLOWPATH_TRANSPARENCY_RANKS", "2,3").split(","))
# Between groups of which one has several ranks, MPICH 5.0.2 stalls after some thousand calls (docs/results).
OF_TWO_RANKS = ("inter-moves",)


@pytest.fixture(scope="session", params=MPIS if MINUTES else MPIS[:1])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """The MPI under test. Open MPI and Intel MPI fail some families without any preload."""
    return find_mpi(request.param)


@pytest.fixture(scope="session")
def runner(mpi: Mpi, engine: Engine, blankless_of_session: Path) -> Runner:
    """The program for the MPI under test."""
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    return Runner(mpi, engine.program.parent, blankless_of_session / mpi.name)


def chosen(mpi: Mpi, family: str) -> list[Part]:
    """Return every part, or of the sample both at once: watched and replaced, with each table on one of the sizes."""
    sizes = SIZES[:1] if family in OF_TWO_RANKS else SIZES
    every = parts(mpi, sizes, family)
    if MINUTES:
        return every
    both = [part for part in every if part.way == BOTH]
    of_tables = [part for part in both if part.table is not None and SIZES[part.table % 2] == part.ranks]
    return [Part(family, NATIVE, SIZES[0]), *(of_tables if len(both) > len(SIZES) else both)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_byte_and_every_error_code_is_the_library_s_own(runner: Runner, family: str) -> None:
    if (fault := UNFIT.get(runner.mpi.name, {}).get(family)) is not None:
        pytest.skip(f"fails natively: {fault}")
    count = sum(len(chosen(runner.mpi, name)) for name in FAMILIES)
    seconds = seconds_of_each(float(MINUTES or 3), count)
    wrong = [
        line
        for number, part in enumerate(chosen(runner.mpi, family))
        for line in runner.wrong(part, SEED + number, seconds)
    ]
    assert not wrong, "\n".join(wrong)


def test_each_mockup_is_in_a_table(runner: Runner) -> None:
    """And each of these tables is taken by the sample."""
    named = {(row["collective"], row["mockup"]) for table in tables(runner.mpi) for row in json.loads(table)["rows"]}
    assert named == {(collective, mockup) for collective, ways in mockups().items() for mockup in ways}
    for family in COLLECTIVES:
        taken = {part.table for part in chosen(runner.mpi, family)} - {None}
        assert taken == set(range(len(tables(runner.mpi))))
