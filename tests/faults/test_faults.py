# SPDX-License-Identifier: Apache-2.0
"""One fault of each of two kinds under a real MPI; tools/faults does all kinds, hundreds of times."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest

from faults.campaign import Faults, Told, table
from faults.check import differences
from faults.kinds import FAULTS
from slowpath.core.errors import SlowpathError
from slowpath.mpi.find import find_mpi
from slowpath.run.engine.build import engine_for

# One that the run mends itself, and one that takes the whole of it down.
KINDS = ("rank: SIGKILL", "power cut in a write")


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
    fault = next(fault for fault in FAULTS if fault.name == kind)
    told = faults.one(fault, random.Random(kind))
    assert told.hit
    assert told.faults == ()


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
