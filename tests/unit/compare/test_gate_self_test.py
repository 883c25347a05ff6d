# SPDX-License-Identifier: Apache-2.0
"""The gate's self-test: rates from the launches of one run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import planted_runs as planted
import pytest
from click.testing import CliRunner

from slowpath.cli.main import slowpath
from slowpath.compare.read import RunSource
from slowpath.compare.self_test import SelfTest, launches_needed, self_test
from slowpath.core.errors import UsageError

TRIALS = 30


def recorded(launches: int = 40, sd: float = 0.015, cells: int = 20) -> RunSource:
    rng = np.random.default_rng(1)
    made = [planted.cell(i, 1e-6 * np.exp(rng.normal(0, sd, launches))) for i in range(cells)]
    return planted.source("run", made)


def test_a_calm_record_meets_both_goals() -> None:
    found = self_test(recorded(), trials=TRIALS)
    assert found.met
    assert found.false_alarms.count == 0
    assert found.caught.count == TRIALS
    assert found.between_ratio == pytest.approx(0.015, rel=0.1)
    assert (found.cells, found.launches, found.in_order.of) == (20, 40, 2)
    assert found.false_alarms.interval is not None
    assert 0.05 < found.false_alarms.interval[1] < 0.2


def test_a_noisy_record_does_not() -> None:
    found = self_test(recorded(sd=0.2), trials=TRIALS)
    assert not found.met
    assert found.caught.count < TRIALS / 2


@pytest.mark.parametrize(("sd", "launches"), [(0.03, 7), (0.05, 18), (0.17, 204)])
def test_how_many_launches_it_takes(sd: float, launches: int) -> None:
    """2 (sd / error)^2, where the error is log 1.08 over the 3.29 of 50 cells and the 1.28 of 90 %."""
    assert launches_needed(sd, 0.08, 0.05, 50) == launches
    assert launches_needed(sd, 0.05, 0.05, 50) is None


def test_nothing_planted_is_not_caught() -> None:
    assert self_test(recorded(), trials=TRIALS, slowdown=0.0).caught.count <= 1


def test_drift_shows_in_the_gates_in_order_alone() -> None:
    """16 launches, the second half 10 % slower in every cell: dealt out at random, both sides get some of it."""
    rng = np.random.default_rng(2)
    level = np.repeat([1e-6, 1.1e-6], 8)
    made = [planted.cell(i, level * np.exp(rng.normal(0, 0.005, 16))) for i in range(20)]
    found = self_test(planted.source("run", made), trials=TRIALS)
    assert (found.in_order.count, found.in_order.of) == (1, 1)
    assert found.false_alarms.count < TRIALS / 2


def test_cells_without_a_value_of_every_launch_are_left_out() -> None:
    rng = np.random.default_rng(3)
    short = planted.cell(9, planted.values(rng, launches=5))
    whole = [planted.cell(i, 1e-6 * np.exp(rng.normal(0, 0.01, 16))) for i in range(4)]
    found = self_test(planted.source("run", [*whole, short]), trials=2)
    assert (found.cells, found.left_out) == (4, 1)


def test_too_few_launches_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"12 launches of each cell, but two sides of 8 need 16: run it with --rounds 16"
    ):
        self_test(recorded(launches=12), trials=1)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    rng = np.random.default_rng(4)
    cells = [planted.cell(i, 1e-6 * np.exp(rng.normal(0, 0.01, 16))) for i in range(5)]
    path.write_bytes(msgspec.json.encode(planted.results(cells)))
    said = CliRunner().invoke(slowpath, ["gate", str(path), "--self-test", "--trials", "5"], standalone_mode=False)
    assert said.return_value == 0, said.output
    assert said.output.startswith("MET: gates of 5 cells, 8 launches a side")
    assert "caught, one cell 8 % slower" in said.output
    told = CliRunner().invoke(
        slowpath, ["gate", str(path), "--self-test", "--trials", "2", "--json"], standalone_mode=False
    )
    assert msgspec.json.decode(told.output, type=SelfTest).false_alarms.of == 2


@pytest.mark.parametrize("more", [["--baseline", "x"], ["--remeasure"], ["--metric", "all"], ["--format", "github"]])
def test_what_does_not_go_with_it_is_refused(more: list[str]) -> None:
    done = CliRunner().invoke(slowpath, ["gate", "run", "--self-test", *more], standalone_mode=False)
    assert isinstance(done.exception, UsageError)


def test_a_gate_without_baseline_is_refused() -> None:
    done = CliRunner().invoke(slowpath, ["gate", "run"], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "--baseline" in str(done.exception)
