# SPDX-License-Identifier: Apache-2.0
"""Skeletons of real programs on real ranks: played call for call, and a change saves what the corrected twin saves."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from ranks import Ranks

from slowpath.core.files import read_bytes
from slowpath.watch.attributed import attributed
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.record.job import read_job
from slowpath.watch.report.write import rebuild
from slowpath.watch.skeleton.changes import Changed, changes_of
from slowpath.watch.skeleton.derive import Skeleton, skeleton_of
from slowpath.watch.skeleton.measure import Played
from slowpath.watch.skeleton.replay import measured_skeleton, planned
from slowpath.watch.skeleton.script import Refused, Script, text_of
from slowpath.watch.skeleton_results import read_skeleton, skeleton_lines

SOURCE = Path(__file__).parents[1] / "watch" / "patterns.c"
RANKS, ITERATIONS, MORE_ITERATIONS, COMPUTE_US = 2, 2, 3, 10


@pytest.fixture(scope="module")
def program(ranks: Ranks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if ranks.mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    made = tmp_path_factory.mktemp("patterns") / "patterns"
    argv = [str(ranks.mpi.mpicxx.with_name("mpicc")), "-O1", "-g", "-o", made, SOURCE]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    return made


def seen(
    ranks: Ranks, library: Path, program: Path, folder: Path, pattern: str, iterations: int = ITERATIONS,
    size: int = RANKS,
) -> Skeleton | Refused:  # fmt: skip
    """The skeleton of one watched run."""
    (folder / "ranks").mkdir(parents=True)
    words = (str(program), pattern, "faulty", str(iterations), str(COMPUTE_US))
    of_ranks = {"LD_PRELOAD": str(library), "SLOWPATH_WATCH": str(folder / "ranks")}
    done = ranks.start(*words, ranks=size, of_ranks=of_ranks)
    assert done.returncode == 0, done.stderr
    return skeleton_of(attributed(read_job(folder)))


def play(ranks: Ranks, script: Script, folder: Path) -> Played:
    """One launch of a script."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(len(script.ranks)):
        (folder / f"rank-{rank}.txt").write_text(text_of(script, rank))
    out = folder / "times.json"
    player = ranks.engine.program.with_name("slowpath-skeleton")
    done = ranks.start(str(player), str(folder), str(out), ranks=len(script.ranks))
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(read_bytes(out, within=folder), type=Played)


@pytest.mark.parametrize(
    "pattern", ["small-messages", "small-nonblocking", "small-reductions", "datatype", "barriers", "chain", "leak"]
)
def test_each_call_of_the_program_is_played_once(
    ranks: Ranks, watch_library: Path, program: Path, tmp_path: Path, pattern: str
) -> None:
    found = seen(ranks, watch_library, program, tmp_path, pattern)
    assert isinstance(found, Skeleton), found
    played = play(ranks, found.script, tmp_path / "scripts")
    for rank, recorded in enumerate(found.recorded.kinds):
        counted = {kind: row.calls for kind, row in played.ranks[rank].kinds.items() if kind != "compute"}
        assert counted == {kind: calls for kind, (calls, _) in recorded.items()}
        computed_s = sum(one.seconds for one in found.script.ranks[rank])
        assert played.ranks[rank].kinds["compute"].length_ns >= 0.999e9 * computed_s - 1e5
    assert played.total_s >= ITERATIONS * COMPUTE_US * 1e-6


def test_a_window_made_in_each_iteration_is_refused(
    ranks: Ranks, watch_library: Path, program: Path, tmp_path: Path
) -> None:
    found = seen(ranks, watch_library, program, tmp_path, "window")
    assert isinstance(found, Refused)
    assert "MPI_Win_allocate is not played" in found.reason


def test_a_broadcast_by_hand_is_played_as_one_by_the_library(
    ranks: Ranks, watch_library: Path, program: Path, tmp_path: Path
) -> None:
    found = seen(ranks, watch_library, program, tmp_path, "broadcast", size=4)
    assert isinstance(found, Skeleton), found
    changed = changes_of(found.script, {})["use MPI_Bcast"]
    assert isinstance(changed, Changed)
    played = play(ranks, changed.script, tmp_path / "scripts")
    for rank in played.ranks:
        assert {kind: row.calls for kind, row in rank.kinds.items() if kind != "compute"} == {
            "barrier": 1,
            "bcast": ITERATIONS,
        }


def test_joined_messages_take_less_time_to_send(
    ranks: Ranks, watch_library: Path, program: Path, tmp_path: Path
) -> None:
    """Of 512 sends one is left; what the ranks compute in between stays, so only the time of the sends is compared."""
    found = seen(ranks, watch_library, program, tmp_path, "small-messages", MORE_ITERATIONS)
    assert isinstance(found, Skeleton), found
    joined = changes_of(found.script, {})["aggregate"]
    assert isinstance(joined, Changed)
    sent = Counter(one.kind for one in joined.script.ranks[0])["send"]
    assert sent == MORE_ITERATIONS
    usual_ns, joined_ns = [], []
    for turn in range(3):
        usual_ns.append(send_ns(play(ranks, found.script, tmp_path / f"usual-{turn}")))
        joined_ns.append(send_ns(play(ranks, joined.script, tmp_path / f"joined-{turn}")))
    assert min(joined_ns) < 0.5 * min(usual_ns)


def send_ns(played: Played) -> int:
    """Of rank 0, in all of its sends."""
    return played.ranks[0].kinds["send"].length_ns


def test_a_script_of_another_rank_or_of_nonsense_ends_the_job_with_one_line(ranks: Ranks, tmp_path: Path) -> None:
    player = str(ranks.engine.program.with_name("slowpath-skeleton"))
    for text, words in (("slowpath-skeleton 1\nrank 1 of 9\n", "rank 1 of 9"), ("walk\n", "line 1")):
        for rank in range(RANKS):
            (tmp_path / f"rank-{rank}.txt").write_text(text)
        begun = time.monotonic()
        done = ranks.start(player, str(tmp_path), str(tmp_path / "out"), ranks=RANKS)
        assert done.returncode != 0
        assert words in done.stderr
        assert time.monotonic() - begun < 60


def test_a_replay_judges_the_skeleton_and_keeps_each_launch(
    ranks: Ranks, engine_cache: Path, watch_library: Path, program: Path, tmp_path: Path
) -> None:
    seen(ranks, watch_library, program, tmp_path, "small-reductions")
    info = WatchInfo(
        slowpath="1", command=(), started="2026-01-01T00:00:00Z", working_folder="/", host="n",
        library=str(watch_library), wall_s=1.0, exit_code=0,
    )  # fmt: skip
    write_watch(tmp_path, info)
    environ = {**os.environ, "SLOWPATH_CACHE_DIR": str(engine_cache)}
    plan = planned(tmp_path)
    assert isinstance(plan.changes["fuse"], Changed)
    assert plan.changes["fuse"].rules == ("SP051",)
    found = measured_skeleton(tmp_path, plan, environ, str(ranks.mpi.mpiexec), 1, 600.0, lambda _: None)
    assert read_skeleton(tmp_path) == found
    assert found.fidelity is not None
    assert found.fidelity.is_faithful == bool(found.changes)
    assert all(run.failed is None for run in found.runs)
    assert found.operations == sum(row.calls for row in found.fidelity.kinds)
    results = rebuild(tmp_path)
    assert results.verdict[1].strip() == skeleton_lines(found)[0]
