# SPDX-License-Identifier: Apache-2.0
"""Watches against watches: counts exactly, seconds never from one watch a side, and the exit codes of a gate."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowpath.cli.main import exit_code
from slowpath.watch.compare.comparison import WatchRow, compare_watches, gate_watches
from slowpath.watch.compare.measures import WatchSide, is_polling, is_watch_source, read_side
from slowpath.watch.compare.text import render_watch_comparison
from slowpath.watch.report.write import write_watch
from slowpath.watch.results import CallCount, WatchResults
from support.watch_results import a_class, a_finding, a_program, a_rank, classes, results

EFFECT = 0.05
Run = Callable[..., tuple[int, str, str]]


def a_side(name: str, *watches: WatchResults) -> WatchSide:
    return WatchSide(Path(name), tuple(f"w{number}" for number in range(len(watches))), watches)


def row(found: Sequence[WatchRow], of: str, name: str) -> WatchRow:
    return next(one for one in found if (one.of, one.name) == (of, name))


def more_calls(one: WatchResults, name: str, factor: float) -> WatchResults:
    calls = tuple(
        replace(call, calls=round(call.calls * factor), bytes=round(call.bytes * factor)) if call.name == name else call
        for call in one.calls
    )
    return replace(one, calls=calls)


def slower(one: WatchResults, factor: float) -> WatchResults:
    ranks = tuple(replace(rank, mpi_s=rank.mpi_s * factor) for rank in one.ranks)
    return replace(one, ranks=ranks, program=replace(one.program, wall_s=one.program.wall_s * factor))


def noisy(count: int, factor: float = 1.0, seed: int = 1) -> list[WatchResults]:
    noise = random.Random(seed)
    return [slower(results(), factor * (1 + 0.01 * noise.gauss(0, 1))) for _ in range(count)]


def test_equal_counts_are_the_same_and_times_are_described() -> None:
    found = compare_watches(a_side("a", results()), a_side("b", slower(results(), 3.0)), EFFECT).rows
    assert row(found, "the run", "messages").verdict == "same"
    assert {one.verdict for one in found if one.is_exact} == {"same"}
    assert {one.verdict for one in found if not one.is_exact} == {"described"}
    wall = row(found, "the run", "wall seconds")
    assert (wall.ratio, wall.interval) == (pytest.approx(3.0), None)


def test_a_class_that_changes_its_memory_is_seen() -> None:
    huge = replace(a_class(), page_bytes=2**21)
    found = compare_watches(a_side("a", results()), a_side("b", results(classes=(huge, *classes()[1:]))), EFFECT).rows
    changed = {one.of: one.verdict for one in found if one.name == "bytes" and one.verdict != "same"}
    assert len(changed) == 2
    assert {words: verdict for words, verdict in changed.items() if "2 MiB pages" in words}.popitem()[1] == "more"
    assert {words: verdict for words, verdict in changed.items() if "4 KiB pages" in words}.popitem()[1] == "fewer"


def test_a_place_that_moved_is_the_same_class() -> None:
    moved = tuple(replace(site, line=(site.line or 0) + 7, offset=site.offset + 64) for site in results().sites)
    found = compare_watches(a_side("a", results()), a_side("b", results(sites=moved)), EFFECT).rows
    assert {one.verdict for one in found if one.is_exact} == {"same"}


def test_shares_are_of_the_whole() -> None:
    found = compare_watches(a_side("a", results()), a_side("b", results()), EFFECT).rows
    shares = [one.a_share or 0.0 for one in found if one.name == "bytes" and one.is_judged]
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize(("factor", "outcome", "code"), [(1.0, "pass", 0), (1.04, "pass", 0), (1.2, "regression", 1)])
def test_one_watch_a_side_judges_counts_alone(factor: float, outcome: str, code: int) -> None:
    new = slower(more_calls(results(), "MPI_Sendrecv", factor), 10.0)
    found = gate_watches(a_side("new", new), a_side("old", results()), EFFECT)
    assert (found.outcome, found.exit_code, found.judged) == (outcome, code, "calls and bytes")
    assert all(one.row.is_exact for one in found.rows)


def test_polling_is_no_regression() -> None:
    polled = CallCount(name="MPI_Iprobe", family="point to point", calls=10**6, time_s=0.1, bytes=0)
    new = results(calls=(*results().calls, polled))
    assert gate_watches(a_side("new", new), a_side("old", results()), EFFECT).outcome == "pass"
    assert (is_polling("MPI_Testany"), is_polling("MPI_Waitany")) == (True, False)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"command": ("./lmp", "-in", "other")}, "settings"),
        ({"ranks": 8, "recorded_ranks": 8}, "placement"),
        ({"library": "Open MPI v5.0.11"}, "mpi"),
        ({"recorded_ranks": 3}, "incomplete"),
        ({"exit_code": 1}, "incomplete"),
    ],
)
def test_what_is_not_alike_is_undecided_until_accepted(change: dict[str, Any], kind: str) -> None:
    sides = a_side("new", results(program=a_program(**change))), a_side("old", results())
    found = gate_watches(*sides, EFFECT)
    assert (found.outcome, [one.kind for one in found.doubts]) == ("undecided", [kind])
    assert gate_watches(*sides, EFFECT, [kind]).outcome == "pass"


def test_a_fact_that_differs_is_listed_once_whatever_the_doubt_about_it_says() -> None:
    found = compare_watches(a_side("a", results(program=a_program(library="other"))), a_side("b", results()), EFFECT)
    doubts = [replace(doubt, reason="another sentence") for doubt in found.doubts]
    assert [doubt.fact for doubt in doubts] == ["MPI"]
    text = render_watch_comparison(replace(found, doubts=doubts))
    assert (text.count("differs "), text.count("another sentence")) == (1, 0)


def test_a_killed_rank_makes_it_incomplete() -> None:
    cut = results(ranks=(a_rank(0), a_rank(1, ended="killed")))
    assert gate_watches(a_side("new", cut), a_side("old", results()), EFFECT).outcome == "undecided"


def test_several_watches_a_side_judge_seconds() -> None:
    old = a_side("old", *noisy(8))
    same = gate_watches(a_side("new", *noisy(8, seed=2)), old, EFFECT)
    assert (same.outcome, same.judged) == ("pass", "calls, bytes and seconds")
    worse = gate_watches(a_side("new", *noisy(8, 1.3, seed=2)), old, EFFECT)
    assert worse.outcome == "regression"
    assert {one.row.name for one in worse.rows if one.outcome == "regression"} == {
        "wall seconds", "seconds in MPI a rank"
    }  # fmt: skip
    few = gate_watches(a_side("new", *noisy(4, seed=2)), a_side("old", *noisy(4)), EFFECT)
    assert few.outcome == "undecided"  # a pass takes 8
    assert {one.reason for one in few.rows if one.outcome == "undecided"} == {"4 watches on a side, a pass needs 8"}


def test_counts_that_vary_within_a_side_are_no_regression() -> None:
    old = a_side("old", *(more_calls(one, "MPI_Sendrecv", f) for one, f in zip(noisy(3), (1, 1.5, 1.2), strict=True)))
    new = a_side("new", *(more_calls(one, "MPI_Sendrecv", f) for one, f in zip(noisy(3), (1.3, 1.7, 1), strict=True)))
    found = compare_watches(old, new, EFFECT).rows
    assert row(found, "point to point", "bytes").verdict == "varies"
    assert {one.outcome for one in gate_watches(new, old, EFFECT).rows if one.row.is_exact} == {"pass", "undecided"}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = []
    for name, found in (("a", results()), ("b", more_calls(results(findings=(a_finding(),)), "MPI_Send", 2.0))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "watch.json").write_text("{}")
        write_watch(folder, found)
        made.append(folder)
    return made[0], made[1]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line: exit code, stdout, stderr."""

    def go(*arguments: object) -> tuple[int, str, str]:
        code = exit_code([str(one) for one in arguments])
        return code, *capsys.readouterr()

    return go


def test_commands_take_watches(folders: tuple[Path, Path], run: Run) -> None:
    a, b = folders
    code, text, _ = run("compare", a, b)
    assert code == 0
    assert "Seconds are described, not judged: 1 watch on a side." in text
    assert "finding of A alone: SP015:libplugin.so+1f40" in text
    code, text, _ = run("gate", b, "--baseline", a / "results.json")
    assert (code, text.splitlines()[0]) == (0, "PASS: calls and bytes (smallest growth that counts: 5 %)")
    assert run("gate", b, "--baseline", a, "--minimum-effect", "0.1%")[0] == 1
    found = json.loads(run("compare", a, b, "--json")[1])
    assert found["kind"] == "watch comparison"
    rows = list(csv.DictReader(io.StringIO(run("compare", a, b, "--format", "csv")[1])))
    assert len(rows) == len(found["rows"])


def test_a_folder_of_watches_is_a_side(folders: tuple[Path, Path], tmp_path: Path) -> None:
    assert is_watch_source(tmp_path)
    assert read_side(tmp_path).names == ("a", "b")
    assert not is_watch_source(tmp_path / "none")


def test_what_cannot_be_compared_is_one_line(folders: tuple[Path, Path], tmp_path: Path, run: Run) -> None:
    a, b = folders
    assert run("compare", a, a)[0::2] == (2, f"slowpath: error: {a} and {a} are the same; name two watches\n")
    code, _, line = run("compare", a, b, "--metric", "bandwidth_bytes_per_s")
    assert (code, "--metric, --phase and --html are not for watches" in line) == (2, True)
    (tmp_path / "empty").mkdir()
    code, _, line = run("compare", a, tmp_path / "empty")
    assert (code, "contains no watch" in line) == (4, True)
    (b / "results.json").unlink()
    code, _, line = run("compare", a, b)
    assert (code, f"has no results.json yet; make it: slowpath report {b}" in line) == (4, True)
