# SPDX-License-Identifier: Apache-2.0
"""One fault of each of two kinds under a real MPI; tools/faults does all kinds, hundreds of times."""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from pathlib import Path

import msgspec
import pytest

from faults.campaign import Faults, RunFacts, campaign, table
from faults.check import differences
from faults.commands import PROVE, WATCH, watched
from faults.kinds import FAULTS, OF_COMMANDS, Fault
from faults.world import World
from faults.writers import WRITERS
from slowpath.core.errors import SlowpathError
from slowpath.mpi.find import find_mpi
from slowpath.run.engine.build import engine_for
from slowpath.watch.folder import write_watch
from slowpath.watch.proof import write_proof
from support.watch_results import a_proof

pytestmark = pytest.mark.needs("minutes")
# One that the run mends itself, one that takes the whole of it down, one of several that want its folder, and some of
# other commands.
NAMES = (
    *("rank: SIGKILL", "power cut in a write", "several resumes at once"),
    *("prove FAST=1: SIGKILL", "prove FAIL=1: signals inherited", "watch: SIGTERM"),
)
KINDS = [fault for fault in (*FAULTS, *WRITERS, *OF_COMMANDS) if fault.name in NAMES]


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
    made.undisturbed(KINDS)
    return made


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.name)
def test_what_was_hit_is_resumed_and_equals_another(fault: Fault, faults: Faults) -> None:
    told = faults.one(fault, random.Random(fault.name))
    assert told.hit
    assert told.faults == ()


class Drawing(Faults):
    """Does nothing but draw."""

    def __init__(self) -> None:
        pass

    def one(self, fault: Fault, chance: random.Random) -> RunFacts:
        time.sleep(0.02 * random.random())
        return RunFacts(fault.name, True, False, chance.random(), ())


def test_the_faults_of_a_seed_are_the_same_however_many_are_done_at_the_same_time() -> None:
    alone, together, other = (
        campaign(Drawing(), 20, seed, lambda line: None, FAULTS, workers) for seed, workers in ((1, 1), (1, 7), (2, 7))
    )
    assert alone == together
    assert alone != other
    assert [one.kind for one in alone][: len(FAULTS)] == [fault.name for fault in FAULTS]


def test_what_is_not_begun_in_time_is_left_out() -> None:
    said: list[str] = []
    assert campaign(Drawing(), 20, 1, said.append, FAULTS, 2, within_s=-1.0) == []
    assert said == ["the time was over after 0 of 20"]


def test_what_ends_before_and_after_ctrl_c_is_counted() -> None:
    stopped = threading.Event()

    class Slow(Drawing):
        def one(self, fault: Fault, chance: random.Random) -> RunFacts:
            if fault == FAULTS[0]:
                stopped.wait(5)
            return RunFacts(fault.name, True, False, 1.0, ("wrong",))

    def tell(line: str) -> None:
        if not stopped.is_set():
            stopped.set()
            raise KeyboardInterrupt

    assert [one.kind for one in campaign(Slow(), 2, 1, tell, FAULTS, 2)] == [FAULTS[0].name, FAULTS[1].name]


@pytest.mark.parametrize(
    ("remedy", "verdict", "code", "runs", "said"),
    [
        ("FAST=1", "proven", 0, (0, 0), None),
        ("FAIL=1", "failed", 1, (0, 9), None),
        ("FAIL=1", "proven", 0, (0, 9), "proven, with runs"),
        ("FAST=1", "proven", 0, (0, None), "proven, with runs"),
        ("FAST=1", "undecided", 0, (0, 0), "exit code 0"),
        ("FAST=1", "failed", 1, (0, 0), "failed"),
    ],
)
def test_a_proof_that_is_none_is_told(
    remedy: str, verdict: str, code: int, runs: tuple[int | None, ...], said: str | None, tmp_path: Path
) -> None:
    run = a_proof().runs[0]
    rows = tuple(
        msgspec.structs.replace(run, number=number, exit_code=one, failed=f"exit code {one}" if one else None)
        for number, one in enumerate(runs, 1)
    )
    (tmp_path / "run" / "proof-1").mkdir(parents=True)
    write_proof(
        tmp_path / "run" / "proof-1",
        msgspec.structs.replace(a_proof(), remedy=remedy, verdict=verdict, runs=rows),
    )
    found = PROVE.wrong(World(tmp_path, {}, 3), code)
    assert bool(found) == (said is not None)
    assert said is None or said in found[0]


@pytest.mark.parametrize(
    ("words", "code", "wrong"),
    [
        (("watch", "--out", "run"), 2, False),
        (("watch", "--out", "run"), 4, True),
        (("watch", "--from", "run"), 4, False),  # a rank left no record
        (("watch", "--from", "run"), 0, False),
        (("watch", "--from", "run"), 2, True),
    ],
)
def test_the_program_s_exit_code_is_that_of_its_watch_and_not_of_what_concludes(
    words: tuple[str, ...], code: int, wrong: bool, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    write_watch(tmp_path / "run", msgspec.structs.replace(watched(World(tmp_path, {}, 3)), exit_code=2))
    assert bool(WATCH.wrong(World(tmp_path, {}, 3, words=words), code)) == wrong


def test_a_difference_is_told() -> None:
    whole = {"k": {"label": "8 B", "metrics": {"m": {"steady": (3, 120)}}}}
    short = {"k": {"label": "8 B", "metrics": {"m": {"steady": (2, 80)}}}}
    assert differences(whole, whole) == []
    assert "8 B" in differences(whole, short)[0]
    assert differences(whole, {}) == ["1 cells expected, 0 there"]


def test_the_table_counts_by_kind() -> None:
    told = [
        RunFacts("a", True, False, 1.0, ()),
        RunFacts("a", True, True, 3.0, ("x",), 4.0),
        RunFacts("b", False, False, 2.0, ()),
    ]
    lines = [line.split() for line in table(told).splitlines()[2:]]
    assert lines == [
        ["a", "2", "2", "1", "1", "3.0", "s", "4.0", "s"],
        ["b", "1", "0", "0", "0", "2.0", "s", "0.0", "s"],
        ["all", "3", "2", "1", "1", "3.0", "s", "4.0", "s"],
    ]
    assert table([]).splitlines()[2].split() == ["all", "0", "0", "0", "0", "0.0", "s", "0.0", "s"]
