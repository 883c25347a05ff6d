# SPDX-License-Identifier: Apache-2.0
"""What a run states of its machines, places and libraries, and what it could not measure."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import planted
import planted_runs
import pytest
from msgspec.structs import replace
from planted import SLOW_NS, add_launch, events, make_run, ping_pong

from slowpath.analyse.build import _at_once, build_results, differences, groups_of, library_lines, run_facts
from slowpath.cli.main import exit_code
from slowpath.core.machine import differing
from slowpath.core.plan import Placement
from slowpath.core.results import MpiResult, Results, nothing_measured
from slowpath.findings.conclude import conclude
from slowpath.record.events import Rank
from slowpath.record.folder import LaunchInfo, read_launches, read_run, write_launch, write_run
from support.results import LaunchCounts, a_cell, a_contrast, a_run, a_skipped_row, results

A: dict[str, Any] = {
    **{"host": "a", "processor": "Old", "processors": 8, "processors_allowed": "0-3", "kernel": "6.1"},
    **{"memory_bytes": 8 * 2**30, "gpus": []},
}
B = {**A, "host": "b", "processor": "New"}


def resumed(folder: Path, other: dict[str, Any], rounds: int) -> Results:
    """The planted run, whose last `rounds` rounds were measured on `other`, three times as slow on side b."""
    run = planted.make_run(folder)
    write_run(run, replace(read_run(run), machine=A, machines=[other]))
    for info in read_launches(run):
        if info.round >= planted.ROUNDS - rounds:
            write_launch(run, replace(info, machine=1))
    return build_results(run)


def launches(results: Results) -> int:
    return next(contrast.launches for contrast in results.contrasts if contrast.id == "environment") or 0


def test_only_launches_of_the_machine_with_most_of_them_count(tmp_path: Path) -> None:
    run = resumed(tmp_path / "r", B, 3)
    assert launches(run) == planted.ROUNDS - 3
    assert (run.run.machine["host"], run.run.launches.done) == ("a", 10)
    first = run.verdict.lines[0]
    assert first.level == "warning"
    assert first.text == (
        "The machines differ in processor: only the 10 launches on a (Old, 8 processors, kernel 6.1) are "
        "used, not the 6 on b (New, 8 processors, kernel 6.1)."
    )


def test_another_node_of_the_same_kind_stands_with_the_first_and_is_noted(tmp_path: Path) -> None:
    run = resumed(tmp_path / "r", {**A, "host": "b", "processors_allowed": "4-7"}, 3)
    assert launches(run) == planted.ROUNDS
    assert "6 launches on b, like a" in run.notes
    assert all("Measured on" not in line.text for line in run.verdict.lines)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"host": "b"}, []),
        ({"processor": "New"}, ["processor"]),
        ({"processors": 4}, ["processors"]),
        ({"processors_allowed": "0-1"}, ["processors allowed"]),
        ({"processors_allowed": "0-99999999999999"}, ["processors allowed"]),
        ({"processors_allowed": ["no"]}, []),
        ({"memory_bytes": 16 * 2**30}, ["memory"]),
        ({"memory_bytes": 8 * 2**30 - 100 * 2**20}, []),
        ({"gpus": ["H200"]}, ["GPUs"]),
        ({"kernel": "6.2"}, ["kernel"]),
        ({"kernel": None}, []),
        ({"engines": {"mpich": "key"}}, []),
    ],
)
def test_what_makes_machines_unlike(change: dict[str, Any], differs: list[str]) -> None:
    assert [difference.fact for difference in differing(A, {**A, **change})] == differs


BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_second_launch_of_a_round_changes_nothing_and_is_noted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    before = build_results(run)
    for number, round_ in ((16, 0), (17, 1)):
        slow = ping_pong(np.random.default_rng(9), number, 1, 6 * SLOW_NS)
        add_launch(run, number, round_, "other", slow, events([1]))
    after = build_results(run)
    assert after.cells == before.cells
    assert after.contrasts == before.contrasts
    (note,) = [note for note in after.notes if note not in before.notes]
    assert note == "measured twice, and not used: 2 cells in launches 16 and 17"


def launch(number: int, begin_s: float, end_s: float, wall_s: float | None = None) -> LaunchInfo:
    begin, end = (BEGIN + timedelta(seconds=at) for at in (begin_s, end_s))
    wall_s = end_s - begin_s if wall_s is None else wall_s
    return LaunchInfo(number, 0, "e", "p", started=begin.isoformat(), finished=end.isoformat(), wall_s=wall_s)


def test_launches_at_the_same_time_are_named() -> None:
    (note,) = _at_once([launch(1, 0, 10), launch(2, 10, 20), launch(3, 12, 18), launch(4, 21, 30)])
    assert note.startswith("launches 2 and 3 ran at the same time")


CRAY_9 = "MPI VERSION    : CRAY MPICH version 9.0.0.113 (ANL base 4.1.2)"


def test_another_version_is_a_warning() -> None:
    (line,) = library_lines([MpiResult(name="craympich", version="8.1.32", library=CRAY_9)])
    assert (line.level, line.text) == ("warning", f"asked for Cray MPICH 8.1.32, but got {CRAY_9}.")


def test_another_library_is_a_warning() -> None:
    (line,) = library_lines([MpiResult(name="mpich", version="5.0.2", library=CRAY_9)])
    assert "asked for MPICH 5.0.2" in line.text


@pytest.mark.parametrize(
    ("name", "version", "library"),
    [
        ("craympich", "9.0.0", CRAY_9),
        ("intelmpi", "2021.18.1", "Intel(R) MPI Library 2021.18 for Linux* OS"),
        ("mpich", "5.0.2", "MPICH Version:      5.0.2"),
        ("parastation", "5.9.2", "MPICH Version:      4.1.1"),  # the first line of a text that says more
        ("openmpi", None, "Open MPI v5.0.11, package: Open MPI"),
        ("unknown", None, "Some Other MPI"),
        (None, None, None),
    ],
)
def test_what_was_asked_for_is_none(name: str | None, version: str | None, library: str | None) -> None:
    assert library_lines([MpiResult(name=name, version=version, library=library)]) == []


# Two sockets of two core groups of two cores with one thread each.
GROUPS = groups_of(
    {
        "processor_groups": {
            "core": [str(cpu) for cpu in range(8)],
            "core_group": ["0-1", "2-3", "4-5", "6-7"],
            "socket": ["0-3", "4-7"],
        }
    }
)


def ranks(*there: str) -> list[Rank]:
    """`n1:0-1`: host and allowed processors of each rank."""
    return [
        Rank(number, place.partition(":")[0], cpus_allowed=place.partition(":")[2])
        for number, place in enumerate(there)
    ]


@pytest.mark.parametrize(
    ("placement", "there"),
    [
        (Placement("p"), ranks("n1:0", "n1:1")),
        (Placement("p", "socket"), ranks("n1:0-3", "n1:4-7")),
        (Placement("p", "none"), ranks("n1:0-7", "n1:0-7")),
        (Placement("p", nodes=2, ranks_per_node=1), ranks("n1:0", "n2:0")),
        (Placement("p", nodes=2, ranks_per_node=1, hosts=["n1", "n2"]), ranks("n1.cluster:0", "n2.cluster:0")),
        (Placement("p", spread="core", nodes=1, ranks_per_node=2), ranks("n1:0", "n1:1")),
        (Placement("p", spread="core_group", nodes=1, ranks_per_node=2), ranks("n1:0", "n1:2")),
        (Placement("p", spread="socket", nodes=1, ranks_per_node=2), ranks("n1:0", "n1:4")),
        (Placement("p", "unknown"), ranks("n1:0", "n1:0")),
        (Placement("p"), ranks("n1:64", "n1:65")),  # processors that this node does not have: another kind of node
        (Placement("p"), []),
    ],
)
def test_as_asked(placement: Placement, there: list[Rank]) -> None:
    assert differences(placement, there, GROUPS) == []


@pytest.mark.parametrize(
    ("placement", "there", "text"),
    [
        (Placement("p"), ranks("n1:0-7", "n1:0"), "asked for a core, but rank 0 has 0-7"),
        (Placement("p"), ranks("n1:0", "n1:0"), "ranks of n1 share one"),
        (Placement("p", "socket"), ranks("n1:0-4", "n1:4-7"), "asked for a socket, but rank 0 has 0-4"),
        (Placement("p", "none"), ranks("n1:0-7", "n1:3"), "asked for no binding, but rank 1 has 3"),
        (Placement("p", nodes=2, ranks_per_node=1), ranks("n1:0", "n1:1"), "asked for 2 nodes"),
        (Placement("p", nodes=2, ranks_per_node=2), ranks("n1:0", "n1:1", "n1:2", "n2:0"), "3 on n1, 1 on n2"),
        (Placement("p", nodes=2, hosts=["n1", "n2"]), ranks("n1:0", "n3:0"), "asked for nodes n1, n2"),
        (Placement("p", spread="core"), ranks("n1:0", "n1:4"), "asked for neighbouring cores"),
        (Placement("p", spread="socket"), ranks("n1:0", "n1:1"), "asked for another socket"),
        (Placement("p", spread="core_group"), ranks("n1:0", "n1:1"), "asked for another core group"),
    ],
)
def test_not_as_asked(placement: Placement, there: list[Rank], text: str) -> None:
    (difference,) = differences(placement, there, GROUPS)
    assert text in difference


sys.path.insert(0, str(Path(__file__).parents[1] / "compare"))


def test_the_reason_is_what_happened_most() -> None:
    rows = [
        a_skipped_row(cell=1, reason="no GPU driver."),
        a_skipped_row(cell=2, status="crashed", reason="signal 11", launches=8),
    ]
    dead = [a_cell(i, status="failed", reason="see what was skipped", metrics={}) for i in range(3)]
    assert nothing_measured(results(dead, skipped=rows)) == "signal 11"
    assert nothing_measured(results(dead, skipped=rows[:1])) == "no GPU driver"
    none = a_run(launches=LaunchCounts(planned=8, done=0, failed=8))
    assert nothing_measured(results(dead, run=none)) == "no launch ended well"
    assert nothing_measured(results(dead)) == "the launches hold no samples"
    assert nothing_measured(results([])) == "there is no cell"
    assert nothing_measured(results([*dead, a_cell(9)])) is None


@pytest.mark.parametrize("asked", [True, False])
def test_the_verdict_of_nothing_claims_nothing(asked: bool) -> None:
    contrasts = [a_contrast("x", None)] if asked else []
    dead = [a_cell(0, status="skipped", reason="no GPU driver", metrics={})]
    whole = results(dead, contrasts, skipped=[a_skipped_row(cell=0)])
    verdict = conclude(contrasts, [], run_facts(whole)).verdict
    assert verdict.headline == "Nothing was measured: no GPU driver."
    assert (verdict.state, verdict.slow_paths) == ("not measured", 0)
    assert verdict.count is not None
    assert verdict.count.startswith("nothing measured")
    assert "0 of 1 cells measured" in verdict.count
    assert "o slow path" not in verdict.headline + verdict.count


def test_the_verdict_of_a_part_states_which_part() -> None:
    same = [a_contrast(f"c{i}", 1.0, interval=(0.99, 1.01)) for i in range(2)]
    cells = [a_cell(0), a_cell(1), a_cell(2, status="failed", reason="crashed", metrics={})]
    verdict = conclude(same, [], run_facts(results(cells, same))).verdict
    assert verdict.headline == "No slow path in 1 question; 2 of 3 cells measured"
    assert verdict.count is not None
    assert "2 of 3 cells measured" in verdict.count
    whole = conclude(same, [], run_facts(results(cells[:2], same))).verdict
    assert whole.headline == "No slow path in 1 question"
    unasked = conclude([], [], run_facts(results(cells))).verdict
    assert unasked.headline == "2 of 3 cells measured; not a campaign about slow paths"
    lost = conclude([a_contrast("c1", 0.3)], [], run_facts(results(cells))).verdict
    assert lost.state == "slow"
    assert "2 of 3 cells measured" in (lost.count or "")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """good; nothing: no launch; empty: launches without samples."""
    parent = tmp_path_factory.mktemp("runs")
    planted_runs.folder(parent / "good", 1)
    planted_runs.folder(parent / "nothing", 2, launches=0)
    (parent / "nothing" / "launches").mkdir(exist_ok=True)
    planted_runs.folder(parent / "empty", 3)
    for samples in (parent / "empty").rglob("samples.blk"):
        samples.unlink()
    return parent


@pytest.mark.parametrize("bad", ["nothing", "empty"])
@pytest.mark.parametrize(
    "command",
    [
        ("report", "BAD"),
        ("report", "BAD", "--format", "json"),
        ("table", "BAD"),
        ("table", "BAD", "--json"),
        ("gate", "BAD", "--baseline", "GOOD", "--accept", "incomplete,hardware,mpi,engine,placement,settings"),
        ("gate", "GOOD", "--baseline", "BAD", "--undecided", "pass"),
        ("gate", "BAD", "--baseline", "GOOD", "--json"),
        ("compare", "GOOD", "BAD"),
        ("reference", "add", "BAD"),
    ],
)
def test_each_command_ends_with_4(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: str, command: tuple[str, ...]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(folders / bad, run)
    names = {"BAD": str(run), "GOOD": str(folders / "good")}
    assert exit_code([names.get(word, word) for word in command]) == 4
    printed = capsys.readouterr()
    assert "nothing was measured" in printed.err
    assert "o slow path found" not in printed.out
    assert "PASS" not in printed.out
    if "report" in command and "json" in command:
        assert json.loads(printed.out)["verdict"]["headline"].startswith("Nothing was measured: ")
