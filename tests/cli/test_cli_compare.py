# SPDX-License-Identifier: Apache-2.0
"""slowpath compare, gate and history as users start them; --remeasure under real MPIs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import planted_runs as planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.core.brief import MOST_LINES
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine

MPI_OPTIONS = [option for option in os.environ.get("SLOWPATH_TEST_MPIS", "").split(":") if option]
Slowpath = Callable[..., subprocess.CompletedProcess[str]]
# A round trip of 1 us takes a time slice of some ms, or many, where ranks share their cores.
FASTER, FAR = 1e10, 1e5
CAMPAIGN = """
[campaign]
name = "two"
title = "Two cells"
ranks = 2
rounds = 8
[[cells]]
name = "latency"
experiment = "p2p"
[cells.parameters]
message_bytes = ["8", "64KiB"]
samples = "20"
time_limit_s = "0.01"
"""


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
    found = json.loads(slowpath("compare", str(runs / "base"), str(runs / "slow"), "--json").stdout)
    assert found["interleaved"] is False
    assert {row["b_cell"]: row["verdict"] for row in found["rows"] if row["phase"] == "steady"}[1] == "slower"
    table = slowpath("compare", str(runs / "base"), str(runs / "slow"), "--format", "csv", "--phase", "steady").stdout
    assert len(table.splitlines()) == 4


@pytest.mark.parametrize(
    ("name", "more", "code"), [("equal", [], 0), ("slow", [], 1), ("slow", ["--undecided", "pass"], 1)]
)
def test_gate_exit_codes(slowpath: Slowpath, runs: Path, name: str, more: list[str], code: int) -> None:
    done = slowpath("gate", str(runs / name), "--baseline", str(runs / "base"), *more)
    assert done.returncode == code, done.stderr + done.stdout
    assert done.stdout.startswith(("PASS: ", "REGRESSION: ")[code])


def test_an_undecided_gate_and_what_to_make_of_it(slowpath: Slowpath, runs: Path, tmp_path: Path) -> None:
    short = planted.folder(tmp_path / "short", 4, launches=4)
    for given, code in (("undecided", 3), ("pass", 0), ("fail", 1)):
        words = ["--undecided", given, "--export", f"junit={tmp_path / 'gate.xml'}"]
        done = slowpath("gate", str(short), "--baseline", str(runs / "base"), *words)
        assert done.returncode == code
        marked = {"undecided": "<error ", "pass": "<skipped ", "fail": "<failure "}[given]
        assert marked in (tmp_path / "gate.xml").read_text()
        assert "measure with --rounds 8" in done.stdout


def test_gate_writes_exports(slowpath: Slowpath, runs: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    words = ["--export", "junit=j.xml", "--export", f"github-summary={summary}", "--format", "github"]
    done = slowpath("gate", str(runs / "slow"), "--baseline", str(runs / "base"), *words)
    assert done.returncode == 1
    assert done.stdout.startswith("::error title=slowpath gate::")
    assert (tmp_path / "j.xml").read_text().startswith("<?xml")
    assert summary.read_text().startswith("## ")


def test_history_of_a_folder(slowpath: Slowpath, runs: Path) -> None:
    done = slowpath("history", str(runs))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 runs, 3 series, 0 with enough runs")
    assert json.loads(slowpath("history", str(runs), "--json").stdout)["runs"] == 3
    assert slowpath("history", str(runs), "--format", "svg").stdout.startswith("<svg ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["compare", "base", "nowhere"], 4, "nowhere"),
        (["compare", "base", "base"], 2, "the same run"),
        (["compare", "base", "equal", "--metric", "nope"], 2, "half_round_trip_latency_s"),
        (["compare", "base", "equal", "--minimum-effect", "5"], 2, "write for example 5% or 0.05"),
        (["compare", "base", "equal", "--minimum-effect", "0%"], 2, "write for example 5% or 0.05"),
        (["compare", "base", "old.json"], 4, "old schema 0"),
        (["compare", "base", "bad.json"], 4, "not a results.json"),
        (["gate", "equal"], 2, "--baseline"),
        (["gate", "equal", "--baseline", "base", "--accept", "hardware,luck"], 2, "'luck': is none of hardware, mpi"),
        (["gate", "equal", "--baseline", "base", "--export", "pdf=x"], 2, "junit"),
        (["gate", "equal", "--baseline", "base", "--export", "junit=no/x"], 4, "cannot be written"),
        (["gate", "slow.json", "--baseline", "base", "--remeasure"], 2, "name the folder of a run"),
        (["history", "nowhere"], 4, "nowhere"),
        (["history", "bad.json"], 4, "is not a folder"),
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


@pytest.fixture
def env(mpi: Mpi, engine: Engine) -> dict[str, str]:
    return {"SLOWPATH_MPI": str(mpi.mpiexec), "SLOWPATH_CACHE_DIR": str(engine.program.parents[2])}


def measured(slowpath: Slowpath, env: dict[str, str], tmp_path: Path, out: str, mpi: Mpi) -> Path:
    (tmp_path / "two.toml").write_text(CAMPAIGN)
    done = slowpath("run", "two.toml", "--mpi", str(mpi.mpiexec), "--out", out, env=env)
    assert done.returncode == 0, done.stderr
    return tmp_path / out


def faster(run: Path, path: Path, factor: float) -> Path:
    """Results as if the run's cells had been faster by `factor`: a baseline against which it is slow."""
    found: dict[str, Any] = json.loads((run / "results.json").read_text())
    found["run"]["id"] = "base"  # else it would be a copy of the run
    for cell in found["cells"]:
        for metric in cell["metrics"].values():
            for phase in metric["phases"].values():
                phase["launch_values"] = [value / factor for value in phase["launch_values"]]
                phase["value"] /= factor
                phase["interval"] = None
    path.write_text(json.dumps(found))
    return path


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_remeasured_by_the_same_library_it_is_compared_with_the_old_values(
    slowpath: Slowpath, env: dict[str, str], mpi: Mpi, tmp_path: Path
) -> None:
    run = measured(slowpath, env, tmp_path, "now", mpi)
    base = faster(run, tmp_path / "base.json", FASTER)
    words = ["--remeasure", "--out", "again", "--json", "--minimum-effect", "30%"]
    done = slowpath("gate", "now", "--baseline", str(base), *words, env=env)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["remeasured"] == "again"
    assert "the same MPI and engine" in found["notes"][0]
    again = [row["again"] for row in found["rows"]]
    assert len(again) == 2
    assert all(one["interleaved"] is False and one["launches"] == 8 and one["ratio"] > FAR for one in again), again
    assert json.loads((tmp_path / "again" / "run.json").read_text())["status"] == "complete"
    assert slowpath("report", "again").returncode == 0


@pytest.mark.needs("other MPIs")
@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_remeasured_with_another_library_the_launches_are_interleaved(
    slowpath: Slowpath, env: dict[str, str], mpi: Mpi, tmp_path: Path
) -> None:
    other = next(found for found in map(find_mpi, MPI_OPTIONS) if found.mpiexec != mpi.mpiexec)
    measured(slowpath, env, tmp_path, "now", mpi)
    base = faster(measured(slowpath, env, tmp_path, "old", other), tmp_path / "base.json", FASTER)
    words = ["--remeasure", "--out", "again", "--json", "--accept", "mpi,placement"]
    done = slowpath("gate", "now", "--baseline", str(base), *words, env=env)
    assert done.returncode in (0, 1, 3), done.stderr
    found = json.loads(done.stdout)
    again = [row["again"] for row in found["rows"]]
    # The baseline's times were far too short; fresh launches of its library say what they really are.
    assert all(one["interleaved"] and one["launches"] == 8 and one["ratio"] < FAR for one in again), again
    plan = json.loads((tmp_path / "again" / "plan.json").read_text())
    assert {one["mpi"] for one in plan["launches"]} == {f"now {mpi.name}", f"baseline {other.name}"}
    starts = [json.loads(path.read_text())["argv"][0] for path in (tmp_path / "again/launches").glob("*/launch.json")]
    assert sorted(starts) == sorted([str(mpi.mpiexec), str(other.mpiexec)] * 8)
