# SPDX-License-Identifier: Apache-2.0
"""Random MPI calls give, watched and with their collectives replaced, byte for byte what the library's own give.

A sample of what tools/transparency runs, under the embedded MPI; SLOWPATH_TRANSPARENCY_MINUTES sets its length.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from transparency_suite.campaign import Part, Runner, parts, seconds_of_each
from transparency_suite.programs import COLLECTIVES, FAMILIES, program_for
from transparency_suite.tables import mockups, tables
from transparency_suite.ways import BOTH, NATIVE

from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine

pytestmark = pytest.mark.needs("minutes")
MINUTES = float(os.environ.get("SLOWPATH_TRANSPARENCY_MINUTES", "3"))
SEED = 20261123
SIZES = (2, 3)  # ranks; from three on a rank differs from the first and the last one


#: Between groups of which one has several ranks, MPICH 5.0.2 stalls after some thousand calls (docs/results).
OF_TWO_RANKS = ("inter-moves",)


@pytest.fixture(scope="session")
def mpi() -> Mpi:
    """The embedded one. Open MPI and Intel MPI fail some families without any preload (docs/results)."""
    return find_mpi("embedded")


@pytest.fixture(scope="session")
def runner(mpi: Mpi, engine: Engine, blankless_of_session: Path) -> Runner:
    """The program for the MPI under test."""
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    folder = blankless_of_session / mpi.name
    return Runner(mpi, program_for(mpi, folder), engine.program.parent, folder / "run")


def sample(mpi: Mpi, family: str) -> list[Part]:
    """In both at once, which is watched and replaced: with each table, in turn on two and three ranks."""
    sizes = SIZES[:1] if family in OF_TWO_RANKS else SIZES
    found = [part for ranks in sizes for part in parts(mpi, [ranks], [family]) if part.way == BOTH]
    of_tables = [part for part in found if part.table is not None and SIZES[part.table % 2] == part.ranks]
    return [Part(family, NATIVE, SIZES[0]), *(of_tables if len(found) > len(SIZES) else found)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_byte_and_every_error_code_is_the_library_s_own(runner: Runner, family: str) -> None:
    count = sum(len(sample(runner.mpi, name)) for name in FAMILIES)
    seconds = seconds_of_each(MINUTES, count)
    outcomes = [runner.run(part, SEED + number, seconds) for number, part in enumerate(sample(runner.mpi, family))]
    wrong = [
        (outcome.way, outcome.table, outcome.ranks, *outcome.lines) for outcome in outcomes if not outcome.is_right
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_each_mockup_is_in_a_table(runner: Runner) -> None:
    """And each of these tables is taken by the sample."""
    named = {(row["collective"], row["mockup"]) for table in tables(runner.mpi) for row in json.loads(table)["rows"]}
    assert named == {(collective, mockup) for collective, found in mockups().items() for mockup in found}
    for family in COLLECTIVES:
        taken = {part.table for part in sample(runner.mpi, family)} - {None}
        assert taken == set(range(len(tables(runner.mpi))))
