# SPDX-License-Identifier: Apache-2.0
"""A run without a value is no run without a slow path: what it says instead, and the exit code of each command."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "compare"))

import planted_runs

from slowpath.analyse.build import run_facts
from slowpath.cli.main import exit_code
from slowpath.core.results import nothing_measured
from slowpath.findings.conclude import conclude
from support.results import LaunchCounts, a_cell, a_contrast, a_run, a_skipped_row, results


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
    assert unasked.headline == "2 of 3 cells measured; this run asks no question about slow paths"
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
        ("reference", "show", "BAD"),
        ("reference", "add", "BAD"),
    ],
    ids=" ".join,
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
