# SPDX-License-Identifier: Apache-2.0
"""The gate: what it catches, how often it is wrong, and when it does not know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import planted_runs as planted
import pytest
from msgspec.structs import replace

from slowpath.compare.gate import EXIT_CODES, Gate, gate
from slowpath.compare.read import read_source
from slowpath.compare.views import render_gate

CELLS = 50
TRIALS = 200


def outcomes(found: Gate) -> dict[int, str]:
    return {one.row.b_cell: one.outcome for one in found.rows}


@pytest.mark.needs("minutes")
def test_on_equal_runs_at_most_four_gates_in_a_hundred_fail() -> None:
    rng = np.random.default_rng(2)
    found = [gate(planted.run_of(rng, "b", CELLS), planted.run_of(rng, "a", CELLS)) for _ in range(TRIALS)]
    assert sum(one.outcome == "regression" for one in found) <= 0.04 * TRIALS
    # An undecided gate is no failure, but a gate that never decides is of no use.
    assert sum(one.outcome == "pass" for one in found) >= 0.8 * TRIALS


@pytest.mark.needs("minutes")
@pytest.mark.parametrize("slowdown", [1.08, 1.10])
def test_one_slow_cell_of_fifty_is_caught(slowdown: float) -> None:
    rng = np.random.default_rng(3)
    caught = 0
    for _ in range(TRIALS):
        found = gate(planted.run_of(rng, "b", CELLS, {17: slowdown}), planted.run_of(rng, "a", CELLS))
        caught += outcomes(found)[17] == "regression"
    assert caught >= 0.9 * TRIALS


def test_a_slowdown_of_the_minimum_effect_never_simply_passes() -> None:
    """Of one cell that is 6 % slower with a minimum effect of 5 %, at most 5 in 100 pass."""
    rng = np.random.default_rng(4)
    passed = 0
    for _ in range(TRIALS):
        passed += gate(planted.run_of(rng, "b", 1, {0: 1.06}), planted.run_of(rng, "a", 1)).outcome == "pass"
    assert passed <= 0.07 * TRIALS  # 5 % and two standard deviations of the count


def test_in_run_folders(tmp_path: Path) -> None:
    base = read_source(planted.folder(tmp_path / "a", 1))
    equal = gate(read_source(planted.folder(tmp_path / "b", 2)), base)
    slow = gate(read_source(planted.folder(tmp_path / "c", 3, {1: 1.1})), base)
    assert (equal.outcome, equal.exit_code) == ("pass", 0)
    assert (slow.outcome, slow.exit_code) == ("regression", 1)
    assert outcomes(slow) == {0: "pass", 1: "regression", 2: "pass"}
    assert render_gate(slow).startswith("REGRESSION: 1 of 3 comparisons slower")
    assert render_gate(equal).startswith("PASS: ")


def test_what_the_run_lacks_is_missing_and_wrong_bytes_are_a_regression() -> None:
    rng = np.random.default_rng(7)
    base = planted.run_of(rng, "a", 3)
    fewer = gate(planted.run_of(rng, "b", 2), base)
    assert fewer.outcome == "undecided"
    assert [(one.side, one.label) for one in fewer.comparison.uncompared] == [("a", "cell 2")]
    failed = [planted.cell(i, planted.values(rng)) for i in range(3)]
    failed[1] = replace(failed[1], status="failed", reason="crashed", metrics={})
    crashed = gate(planted.source("b", failed), base)
    assert [(one.side, one.label) for one in crashed.comparison.uncompared] == [("b", "cell 1")]
    assert crashed.outcome == "undecided"
    wrong = [planted.cell(i, planted.values(rng)) for i in range(3)]
    wrong[2] = replace(wrong[2], wrong_bytes=4)
    found = gate(planted.source("b", wrong), base)
    assert found.outcome == "regression"
    assert [one.label for one in found.wrong] == ["cell 2"]
    more = gate(planted.run_of(rng, "b", 4), base)
    assert more.outcome == "undecided"  # a cell that is new was held against nothing
    assert [(one.side, one.label) for one in more.comparison.uncompared] == [("b", "cell 3")]
    assert gate(planted.run_of(rng, "b", 4), base, accept=["incomplete"]).outcome == "pass"


def test_exit_codes() -> None:
    assert EXIT_CODES == {"pass": 0, "regression": 1, "undecided": 3}
