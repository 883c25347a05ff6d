# SPDX-License-Identifier: Apache-2.0
"""What two runs must share before a gate judges: one thing off at a time, and what the user may accept."""

from __future__ import annotations

from typing import Any

import numpy as np
import planted_runs as planted
import pytest
from msgspec.structs import replace

from slowpath.compare.comparison import ACCEPTABLE, compare
from slowpath.compare.gate import Gate, gate
from slowpath.compare.read import RunSource
from slowpath.compare.views import render_comparison, render_gate
from slowpath.core.cell_results import CellResult
from slowpath.core.machine import is_stated, unlike
from slowpath.core.results import LaunchCounts
from support.results import a_placement, an_environment, an_mpi

GIB = 2**30


def cells(count: int = 3, seed: int = 1, **changes: Any) -> list[CellResult]:
    rng = np.random.default_rng(seed)
    return [replace(planted.cell(i, planted.values(rng)), **changes) for i in range(count)]


def base(**run: Any) -> RunSource:
    return planted.source("base", cells(seed=1), **run)


def new(**run: Any) -> RunSource:
    return planted.source("new", cells(seed=2), **run)


def kinds(judged: Gate) -> list[str]:
    return [doubt.kind for doubt in judged.doubts]


def machine(**changes: Any) -> dict[str, Any]:
    return {**planted.MACHINE, **changes}


def test_equal_runs_pass_without_a_doubt() -> None:
    """Another host of the same kind, kernel, date, folder and seed are no reason."""
    other = machine(host="n2", kernel="6.12", memory_bytes=8 * GIB - 100 * 2**20, load=[3.0, 1.0, 1.0])
    judged = gate(new(machine=other, seed=7, started="2026-02-01T00:00:00+00:00"), base())
    assert (judged.outcome, judged.doubts, judged.comparison.uncompared) == ("pass", [], [])


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"machine": machine(processor="Q")}, "hardware", "processor: P in A, Q in B"),
        ({"machine": machine(processors=4)}, "hardware", "processors: 2 in A, 4 in B"),
        ({"machine": machine(memory_bytes=16 * GIB)}, "hardware", "memory: 8 GiB in A, 16 GiB in B"),
        ({"machine": machine(gpus=["H200", "H200"])}, "hardware", "GPUs: not stated in A, 2 x H200 in B"),
        ({"machine": {}}, "hardware", "machine not stated in B"),
        ({"mpis": [an_mpi(version="6.0")]}, "mpi", "MPI: mpich 5.0.2 in A, mpich 6.0 in B"),
        ({"mpis": [an_mpi(name="openmpi")]}, "mpi", "mpich 5.0.2 in A, openmpi 5.0.2 in B"),
        (
            {"mpis": [an_mpi(library="MPICH 5.0.2 (built twice)")]},
            "mpi",
            "MPICH 5.0.2 (built twice) in B",
        ),
        ({"mpis": [an_mpi(name=None, version=None)]}, "mpi", "not stated in B"),
        ({"engine": "0.2.0"}, "engine", "engine: 0.1.0 in A, 0.2.0 in B"),
        ({"mpis": [an_mpi(engine={"key": "k2"})]}, "engine", "engine build: not stated in A, k2 in B"),
        ({"imported": True}, "engine", "engine: 0.1.0 in A, another program's logs in B"),
        (
            {"placements": [a_placement(nodes=2, bind="none", observed=[])]},
            "placement",
            "core in A, none in B",
        ),
        ({"placements": [a_placement()]}, "placement", "ranks: not stated in A, 2 in B"),
        ({"environments": [an_environment(variables={"X": "1"})]}, "settings", "no variables in A, X=1 in B"),
        ({"environments": [an_environment(unset=["Y"])]}, "settings", "no variables in A, unset Y in B"),
        ({"status": "interrupted"}, "incomplete", "B is interrupted: 16 of 16 launches"),
        ({"launches": LaunchCounts(planned=16, done=15, failed=0)}, "incomplete", "B is incomplete: 15 of 16"),
    ],
)
def test_what_is_off_makes_the_gate_undecided_until_it_is_accepted(
    changes: dict[str, Any], kind: str, said: str
) -> None:
    judged = gate(new(**changes), base())
    assert (judged.outcome, judged.exit_code) == ("undecided", 3)
    assert kind in kinds(judged)
    assert set(kinds(judged)) <= {kind, "mpi"} if "machine" not in changes else kinds(judged) == [kind]
    assert any(said in doubt.reason for doubt in judged.doubts)
    assert said[:20].lower() in " ".join(render_gate(judged).split()).lower()
    assert render_gate(judged).startswith("UNDECIDED: ")
    assert gate(new(**changes), base(), accept=[other for other in ACCEPTABLE if other != kind]).outcome == "undecided"
    accepted = gate(new(**changes), base(), accept=[kind, "mpi"])
    assert accepted.outcome == "pass"
    assert all(doubt.accepted for doubt in accepted.doubts)


def test_a_regression_on_another_machine_is_none_and_with_a_lost_cell_it_is() -> None:
    rng = np.random.default_rng(3)
    slow = planted.run_of(rng, "new", 3, {0: 1.5}, machine=machine(processor="Q"))
    elsewhere = gate(slow, base())
    assert elsewhere.outcome == "undecided"
    assert {row.outcome for row in elsewhere.rows} == {"undecided"}
    assert "none of 3 judged" in render_gate(elsewhere)
    fewer = planted.run_of(rng, "new", 2, {0: 1.5})
    assert gate(fewer, base()).outcome == "regression"


@pytest.mark.parametrize(("unit", "better"), [("ms", "lower"), ("s", "higher")])
def test_another_unit_is_never_compared(unit: str, better: str) -> None:
    other = cells(seed=2)
    metric = other[1].metrics[planted.METRIC]
    other[1] = replace(other[1], metrics={planted.METRIC: replace(metric, unit=unit, better=better)})
    judged = gate(planted.source("new", other), base(), accept=["incomplete"])
    assert [row.row.b_cell for row in judged.rows] == [0, 2]
    assert f"in A; {unit}, {better} is better in B" in judged.comparison.uncompared[0].reason
    assert gate(planted.source("new", other), base()).outcome == "undecided"
    every = [replace(cell, metrics={planted.METRIC: replace(metric, unit=unit, better=better)}) for cell in other]
    assert gate(planted.source("new", every), base(), accept=ACCEPTABLE).outcome == "undecided"


def test_what_both_runs_skip_is_set_aside_and_what_failed_is_not() -> None:
    def with_last(name: str, seed: int, status: str) -> RunSource:
        made = cells(seed=seed)
        made[2] = replace(made[2], status=status, reason="no GPU driver", metrics={})
        return planted.source(name, made)

    both = gate(with_last("new", 2, "skipped"), with_last("base", 1, "skipped"))
    assert (both.outcome, both.comparison.set_aside) == ("pass", 1)
    assert "1 cell" in render_gate(both)
    for run, baseline in (("failed", "failed"), ("skipped", "ok"), ("failed", "skipped")):
        judged = gate(with_last("new", 2, run), base() if baseline == "ok" else with_last("base", 1, baseline))
        assert (judged.outcome, [uncompared.label for uncompared in judged.comparison.uncompared]) == (
            "undecided",
            ["cell 2"],
        )


def test_a_cell_that_missed_rounds_is_named() -> None:
    made = cells(seed=2)
    made[1] = replace(made[1], status="partial", reason="measured in 8 of 9 rounds")
    judged = gate(planted.source("new", made), base())
    assert judged.doubts[0].reason == "1 of 3 cells of B incomplete: cell 1"
    assert judged.outcome == "undecided"


def test_imported_logs_that_state_no_machine_are_judged_only_if_accepted() -> None:
    log: dict[str, Any] = {
        "machine": {},
        "imported": True,
        "engine": None,
        "mpis": [an_mpi(None, name=None, version=None)],
    }
    judged = gate(new(**log), base(**log))
    assert kinds(judged) == ["hardware", "mpi"]
    assert judged.doubts[0].reason.startswith("machine not stated in A and B")
    assert gate(new(**log), base(**log), accept=["hardware", "mpi"]).outcome == "pass"


def test_compare_names_the_same_at_its_head_and_judges() -> None:
    comparison = compare(base(), new(machine=machine(processor="Q")), 0.03)
    assert [(doubt.kind, doubt.reason) for doubt in comparison.doubts] == [("hardware", "processor: P in A, Q in B")]
    said = render_comparison(comparison)
    assert said.index("The runs differ in more than the code") < said.index("cell 0: half round-trip")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ({}, {}, True),
        ({"memory_bytes": 62.49 * GIB}, {"memory_bytes": 62.51 * GIB}, True),
        ({"memory_bytes": 512 * GIB}, {"memory_bytes": 503 * GIB}, True),
        ({"memory_bytes": 512 * GIB}, {"memory_bytes": 480 * GIB}, False),
        ({"memory_bytes": 8 * GIB}, {"memory_bytes": 7 * GIB}, False),
        ({"processors_allowed": "0-3"}, {"processors_allowed": "4-7"}, True),
        ({"processors_allowed": "0-3"}, {"processors_allowed": "0-1"}, False),
        ({"gpus": []}, {"gpus": ["H200"]}, False),
        ({"gpus": ["H200", "A100"]}, {"gpus": ["A100", "H200"]}, True),
        ({"processor": None}, {"processor": None}, False),
    ],
)
def test_the_same_kind_of_machine(a: dict[str, Any], b: dict[str, Any], same: bool) -> None:
    first, other = (machine(**{k: int(v) if isinstance(v, float) else v for k, v in each.items()}) for each in (a, b))
    for mine, theirs in ((first, other), (other, first)):
        assert (is_stated(mine) and is_stated(theirs) and not unlike(mine, theirs)) is same
    assert bool(unlike(first, other)) is not same or None in (first["processor"], other["processor"])
