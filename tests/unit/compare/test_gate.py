# SPDX-License-Identifier: Apache-2.0
"""The gate: what it catches, how often it is wrong, and when it does not know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import planted_runs as planted
import pytest
from msgspec.structs import replace

from slowpath.compare.comparison_text import render_gate
from slowpath.compare.gate import EXIT_CODES, Gate, flagged, gate, with_again
from slowpath.compare.read import read_source
from slowpath.compare.remeasure import confirm, mpi_name, remeasure_plan
from slowpath.core.results import Results
from slowpath.run.prepare import prepare_plan
from support.results import an_environment

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


@pytest.mark.parametrize("launches", [1, 2, 3, 7])
def test_too_few_launches_do_not_pass(launches: int) -> None:
    rng = np.random.default_rng(5)
    found = gate(planted.run_of(rng, "b", 3, launches=launches), planted.run_of(rng, "a", 3, launches=launches))
    assert found.outcome == "undecided"
    assert found.exit_code == 3
    assert "launches on a side" in found.rows[0].reason


def test_noise_is_undecided_and_not_a_pass() -> None:
    rng = np.random.default_rng(6)
    loud = [planted.cell(0, planted.values(rng, sd=0.3))]
    assert (
        gate(planted.source("b", loud), planted.source("a", [planted.cell(0, planted.values(rng))])).outcome
        == "undecided"
    )


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


def test_a_machine_that_became_faster_may_hide_a_slowdown_and_the_gate_says_so() -> None:
    rng = np.random.default_rng(7)
    found = gate(planted.run_of(rng, "b", 6, dict.fromkeys(range(5), 0.7)), planted.run_of(rng, "a", 6))
    assert found.notes[0].startswith("the median of all ratios is 0.")
    assert gate(planted.run_of(rng, "b", 6), planted.run_of(rng, "a", 6)).notes == []


def flagged_gate(rng: np.random.Generator) -> Gate:
    found = gate(planted.run_of(rng, "b", 3, {0: 1.3, 2: 1.3}), planted.run_of(rng, "a", 3))
    assert [row.b_cell for row in flagged(found)] == [0, 2]
    return found


def test_fresh_pairs_confirm_or_acquit() -> None:
    rng = np.random.default_rng(8)
    found = flagged_gate(rng)
    drift = np.exp(rng.normal(0, 0.2, 8))  # of the machine, common to both halves of a pair
    fresh = {
        0: (planted.values(rng) * drift, planted.values(rng, 1.3) * drift),
        1: (planted.values(rng) * drift, planted.values(rng) * drift),
    }
    again = confirm(flagged(found), fresh, True, 0.05)
    after = with_again(found, again, "gate-1", ["a note"])
    assert outcomes(after) == {0: "regression", 1: "pass", 2: "pass"}
    assert after.outcome == "regression"
    assert after.remeasured == "gate-1"
    assert after.rows[2].again is not None
    assert after.rows[2].again.verdict in ("same", "undecided")
    assert "measured again" in render_gate(after)
    acquitted = with_again(found, confirm(flagged(found), {0: fresh[1], 1: fresh[1]}, True, 0.05), "gate-1", [])
    assert acquitted.outcome == "pass"


def test_a_flagged_row_without_fresh_values_stays_flagged() -> None:
    found = flagged_gate(np.random.default_rng(8))
    assert with_again(found, {}, "gate-1", []).outcome == "regression"


def test_the_reduced_plan_holds_the_flagged_cells_alone_in_interleaved_launches() -> None:
    rng = np.random.default_rng(9)
    base = planted.run_of(rng, "a", 3, environments=[an_environment(variables={"X": "1"})])
    run = planted.run_of(rng, "b", 3, {1: 1.3})
    assert flagged(gate(run, base)) == []  # under other variables nothing is judged
    rows = flagged(gate(run, base, accept=["settings"]))
    names = [mpi_name(side, "mpich") for side in ("now", "baseline")]
    plan = remeasure_plan(rows, run.results, base.results, {name: name for name in names}, 2, 1, 0.05)
    assert [(one.mpi, one.key) for one in plan.cells] == [(names[0], "key1"), (names[1], "key1")]
    assert plan.environment("default", names[1]).variables == {"X": "1"}
    assert plan.environment("default", names[0]).variables == {}
    assert plan.rounds == 8
    assert [(one.nodes, one.ranks_per_node) for one in plan.placements] == [(2, 1)]
    by_round: dict[int, list[str | None]] = {}
    for launch in prepare_plan(plan, b"", [], {}).plan.launches:
        by_round.setdefault(launch.round, []).append(launch.mpi)
    assert {tuple(sorted(map(str, order))) for order in by_round.values()} == {tuple(sorted(names))}
    assert len({tuple(map(str, order)) for order in by_round.values()}) == 2  # both orders occur
    assert len(plan.contrasts) == len(rows) == 1
    alone = remeasure_plan(rows, run.results, None, {names[0]: "x"}, 2, 1, 0.05)
    assert len(alone.cells) == 1
    assert alone.contrasts == []
    assert isinstance(run.results, Results)


def test_exit_codes() -> None:
    assert EXIT_CODES == {"pass": 0, "regression": 1, "undecided": 3}
