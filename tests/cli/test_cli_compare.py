# SPDX-License-Identifier: Apache-2.0
"""slowpath compare and gate as users start them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import planted_runs as planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.core.results import MOST_LINES

Slowpath = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """base, equal (to it), slow (one cell of three by 10 %)."""
    parent = tmp_path_factory.mktemp("runs")
    planted.folder(parent / "base", 1)
    planted.folder(parent / "equal", 2)
    planted.folder(parent / "slow", 3, {1: 1.1})
    return parent


def test_compare_says_what_differs(slowpath: Slowpath, runs: Path) -> None:
    done = slowpath("compare", str(runs / "base"), str(runs / "slow"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("B is slower than A in ")
    assert len(done.stdout.splitlines()) <= MOST_LINES
    full = slowpath("compare", str(runs / "base"), str(runs / "slow"), "--full").stdout
    assert "Not interleaved" in full
    assert "began: 2026-01-02" in full
    document = json.loads(slowpath("compare", str(runs / "base"), str(runs / "slow"), "--json").stdout)
    assert document["caution"].startswith("Not interleaved")
    assert {row["b_cell"]: row["verdict"] for row in document["rows"] if row["phase"] == "steady"}[1] == "slower"
    steady = slowpath("compare", str(runs / "base"), str(runs / "slow"), "--json", "--phase", "steady").stdout
    assert {row["phase"] for row in json.loads(steady)["rows"]} == {"steady"}


def test_a_gate_uses_what_was_measured_again_next_to_what_the_user_named(
    slowpath: Slowpath, runs: Path, tmp_path: Path
) -> None:
    """Of a diagnosis its survey; and an `-again` that is complete starts nothing."""
    survey = planted.folder(tmp_path / "diagnosis" / "01-survey", 3, {1: 1.1})
    step = {"number": 1, "folder": survey.name, "why": "survey"}
    info = {"schema": 1, "started": "2026-01-02T00:00:00+00:00", "steps": [step]}
    (tmp_path / "diagnosis" / "diagnosis.json").write_text(json.dumps(info))
    run = planted.folder(tmp_path / "run", 3, {1: 1.1})
    (run / "results.json").write_bytes(msgspec.json.encode(build_results(run)))
    for named, again in (("diagnosis", "diagnosis-again"), ("run/results.json", "run-again")):
        planted.folder(tmp_path / again, 5)
        done = slowpath("gate", named, "--baseline", str(runs / "base"), "--again", "--json")
        assert done.returncode in (0, 1), done.stderr
        assert f"{again}) judges" in json.loads(done.stdout)["notes"][0]


def test_an_undecided_gate_and_what_to_make_of_it(slowpath: Slowpath, runs: Path, tmp_path: Path) -> None:
    short = planted.folder(tmp_path / "short", 4, launches=4)
    for given, code in (("undecided", 3), ("pass", 0), ("fail", 1)):
        words = ["--undecided", given, "--junit", str(tmp_path / "gate.xml")]
        done = slowpath("gate", str(short), "--baseline", str(runs / "base"), *words)
        assert done.returncode == code
        marked = '<failure message="undecided: ' if given == "fail" else '<skipped message="undecided: '
        assert (tmp_path / "gate.xml").read_text().count(marked) == 1
        assert "not measured again: a cell has 4 of 8 launches" in done.stderr
        assert "again (a gate needs 8 launches), with --rounds 16." in done.stdout
        assert "1. " not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["compare", "base", "nowhere"], 4, "nowhere"),
        (["compare", "base", "base"], 2, "the same run"),
        (["compare", "base", "equal", "--metric", "nope"], 2, "half_round_trip_latency_s"),
        (["compare", "base", "equal", "--minimum-effect", "5"], 2, "write for example 5% or 0.05"),
        (["compare", "base", "equal", "--minimum-effect", "0%"], 2, "write for example 5% or 0.05"),
        (["compare", "base", "old.json"], 4, "use the slowpath that wrote it"),
        (["compare", "base", "bad.json"], 4, "cannot be read"),
        (["gate", "equal"], 2, "--baseline"),
        (
            ["gate", "equal", "--baseline", "base", "--accept", "hardware,luck"],
            2,
            "unknown kind to --accept: 'luck'; choose from: hardware, mpi",
        ),
        (["gate", "equal", "--baseline", "base", "--junit", "no/x"], 4, "cannot write"),
        (["gate", "slow.json", "--baseline", "base", "--again"], 2, "name its run folder"),
    ],
)
def test_wrong_input(
    slowpath: Slowpath, runs: Path, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    for name in ("base", "equal"):
        (tmp_path / name).symlink_to(runs / name)
    (tmp_path / "old.json").write_text('{"schema": 0}')
    (tmp_path / "bad.json").write_text("no")
    (tmp_path / "slow.json").write_bytes(msgspec.json.encode(build_results(runs / "slow")))
    done = slowpath(*arguments)
    assert done.returncode == code, done.stderr
    first = done.stderr.splitlines()[0]
    assert first.startswith("slowpath: error: ")
    assert said in first
    assert done.stdout == ""
