# SPDX-License-Identifier: Apache-2.0
"""One fault of each of two kinds under a real MPI; tools/faults does all kinds, hundreds of times."""

from __future__ import annotations

import os
import random
import tempfile
import time
from pathlib import Path

import pytest

from faults.campaign import Faults, Told, campaign, table
from faults.check import differences
from faults.kinds import FAULTS, Fault
from faults.writers import WRITERS
from slowpath.core.errors import SlowpathError
from slowpath.mpi.find import find_mpi
from slowpath.run.engine.build import engine_for

# One that the run mends itself, one that takes the whole of it down, and one of several that want its folder.
KINDS = ("rank: SIGKILL", "power cut in a write", "several resumes at once")


@pytest.fixture(scope="module")
def faults(engine_cache: Path, blankless_of_session: Path) -> Faults:
    """An undisturbed run to compare with. Of the MPIs to test with only MPICH: the kinds know its processes by name."""
    try:
        mpi = find_mpi("embedded")
    except SlowpathError as error:
        pytest.skip(f"{error}")
    environ = {**os.environ, "SLOWPATH_MPI": str(mpi.mpiexec), "SLOWPATH_CACHE_DIR": str(engine_cache)}
    engine_for(mpi, environ)
    made = Faults(Path(tempfile.mkdtemp(dir=blankless_of_session)), environ, cell_timeout_s=300)
    made.undisturbed()
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_hit_is_resumed_and_equals_another(kind: str, faults: Faults) -> None:
    fault = next(fault for fault in (*FAULTS, *WRITERS) if fault.name == kind)
    told = faults.one(fault, random.Random(kind))
    assert told.hit
    assert told.faults == ()


class Drawing(Faults):
    """Does nothing but draw."""

    def __init__(self) -> None:
        pass

    def one(self, fault: Fault, chance: random.Random) -> Told:
        time.sleep(0.02 * random.random())
        return Told(fault.name, True, False, chance.random(), ())


def test_the_faults_of_a_seed_are_the_same_however_many_are_done_at_the_same_time() -> None:
    alone, together, other = (
        campaign(Drawing(), 20, seed, lambda line: None, FAULTS, workers) for seed, workers in ((1, 1), (1, 7), (2, 7))
    )
    assert alone == together
    assert alone != other
    assert [one.kind for one in alone][: len(FAULTS)] == [fault.name for fault in FAULTS]


def test_a_difference_is_told() -> None:
    whole = {"k": {"label": "8 B", "metrics": {"m": {"steady": (3, 120)}}}}
    short = {"k": {"label": "8 B", "metrics": {"m": {"steady": (2, 80)}}}}
    assert differences(whole, whole) == []
    assert "8 B" in differences(whole, short)[0]
    assert differences(whole, {}) == ["1 cells expected, 0 there"]


def test_the_table_counts_by_kind() -> None:
    told = [Told("a", True, False, 1.0, ()), Told("a", True, True, 3.0, ("x",)), Told("b", False, False, 2.0, ())]
    lines = [line.split() for line in table(told).splitlines()[2:]]
    assert lines == [
        ["a", "2", "2", "1", "1", "3.0", "s"],
        ["b", "1", "0", "0", "0", "2.0", "s"],
        ["all", "3", "2", "1", "1", "3.0", "s"],
    ]
