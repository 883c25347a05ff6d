# SPDX-License-Identifier: Apache-2.0
"""Parts of results.json for tests, each complete: a test names only what it is about.

Every builder takes the fields of its struct by name, so that a field which is renamed turns its tests red.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from slowpath.core.cell_results import (
    CallCounts,
    CellResult,
    MetricEstimate,
    MetricResult,
    RoleWitness,
)
from slowpath.core.result import Phase, Role
from slowpath.core.results import (
    RESULTS_SCHEMA,
    ContrastResult,
    ContrastSide,
    EnvironmentResult,
    Finding,
    LaunchCounts,
    LawResult,
    Leg,
    Legs,
    MpiResult,
    PlacementResult,
    RankPlace,
    RemedyResult,
    Reproduce,
    Results,
    RunResult,
    SkippedRow,
    Snippet,
    Verdict,
)

Parsed = Any  # what a JSON parser returns
METRIC = "half_round_trip_latency_s"
LAUNCHES = 8


def as_json(value: object) -> Parsed:
    """As a reader of results.json gets it, for its schema."""
    return json.loads(msgspec.json.encode(value))


def an_estimate(value: float = 1e-6, **changes: Any) -> MetricEstimate:
    """Of 8 launches within 1 % of each other."""
    values = [value * (0.99 + 0.02 * i / (LAUNCHES - 1)) for i in range(LAUNCHES)]
    launch_values = changes.get("launch_values", values)
    estimate = MetricEstimate(
        value=value,
        interval=(min(launch_values), max(launch_values)),
        interval_kind="signed-rank 95 %",
        level=0.95,
        launches=len(launch_values),
        location=0.5,
        launch_values=launch_values,
        samples=40 * len(launch_values),
        cut_samples=0,
        p50=value,
        p90=1.01 * value,
        p99=1.02 * value,
        p999=None,
        p999_reason="fewer than 10000 samples",
        min=0.98 * value,
        max=1.03 * value,
        steady_class="flat",
        within_ratio=0.02,
        between_ratio=0.01,
        batch=1,
        quantum_ratio=0.001,
    )
    return replace(estimate, **changes)


def a_metric(steady: float | MetricEstimate | None = None, **changes: Any) -> MetricResult:
    """Of a time. steady: seconds, or the whole estimate; None: give `phases`."""
    estimate = an_estimate(steady) if isinstance(steady, float) else steady
    phases: dict[Phase, MetricEstimate] = {} if estimate is None else {"steady": estimate}
    metric = MetricResult(unit="s", better="lower", phases=phases, by_repetition=None)
    return replace(metric, **changes)


def a_cell(number: int = 0, **changes: Any) -> CellResult:
    """A cell of p2p that measured one latency."""
    cell = CellResult(
        cell=number,
        key=f"key{number}",
        label=f"cell {number}",
        group="group",
        experiment="p2p",
        parameters={"pattern": "ping_pong", "message_bytes": "8"},
        mpi="mpich",
        environment="default",
        placement="bound",
        status="ok",
        metrics={METRIC: a_metric(1e-6)},
        absent={},
        who_pays_reason="only cells with pattern=one_way on one node are split",
        instructions_reason="experiment p2p does not count instructions",
        repetitions_reason="experiment p2p does not report disturbed repetitions",
        over_floor_reason="the launches measured nothing without MPI",
        calls_reason="no witnessed launch of this cell in the run",
    )
    return replace(cell, **changes)


def a_side(cell: int = 0, value: str = "default", phase: Phase = "steady", label: str | None = None) -> ContrastSide:
    """label: None: `cell N`."""
    return ContrastSide(cell=cell, phase=phase, label=label or f"cell {cell}", value=value)


def a_contrast(name: str = "c1", ratio: float | None = 2.0, **changes: Any) -> ContrastResult:
    """Cell 1 over cell 0, which is that of the unchanged environment. ratio: b over a; None: not measured.

    Its verdict is what the ratio says: same below 3 %, else slower or faster.
    """
    contrast = ContrastResult(
        id=name,
        group="path",
        question="Which environment is faster?",
        axis="environment",
        a=a_side(0, "default"),
        b=a_side(1, "other"),
        where="",
        default_side="a",
        metric=METRIC,
        control=False,
        explains=False,
        minimum_effect=0.03,
        suspect=[],
        reason="no samples of b",
        interleaved=True,
        reproduce=Reproduce(a=None, b=None),
    )
    if ratio is not None:
        contrast = replace(
            contrast,
            a_value_s=1e-6,
            b_value_s=ratio * 1e-6,
            ratio=ratio,
            interval=(0.9 * ratio, 1.1 * ratio),
            interval_kind="signed-rank 95 %",
            level=0.95,
            verdict="slower" if ratio > 1.03 else "faster" if ratio < 0.97 else "same",
            reason="the interval lies on one side",
            p=0.01,
            p_adjusted=0.01,
            family=f"p2p {METRIC}",
            family_size=1,
            launches=LAUNCHES,
            pairs=((1e-6, ratio * 1e-6),) * LAUNCHES,
            within_launch=False,
        )
    return replace(contrast, **changes)


def a_leg(state: str = "shown", text: str = "8 of 8 launches.", evidence: Sequence[str] = ()) -> Leg:
    """With a text, as each leg has one."""
    return Leg(state=state, text=text, evidence=list(evidence))  # type: ignore[arg-type]


def a_law(**changes: Any) -> LawResult:
    """A law without a name, since nothing told the candidates apart."""
    law = LawResult(
        name=None,
        formula=None,
        coefficients=[],
        brackets=[],
        residual_ratio=None,
        runner_up=None,
        refused="too few points",
        points=2,
        launches=LAUNCHES,
        text="No law: too few points.",
    )
    return replace(law, **changes)


def a_remedy(name: str = "one-buffer", **changes: Any) -> RemedyResult:
    """A remedy that nobody tried."""
    remedy = RemedyResult(
        name=name,
        text="Keep the buffer.",
        snippet=Snippet(shell="export A=1"),
        removed_ratio=None,
        side_effects=[],
        verdict="not tried",
        reason="not tried in this run",
    )
    return replace(remedy, **changes)


def a_finding(rule: str = "SP001", **changes: Any) -> Finding:
    """An observed finding on cell 1, whose users change nothing."""
    finding = Finding(
        id=f"{rule}:0123abcd",
        rule=rule,
        title="The first message of a buffer is slow",
        text="The first message takes 2.0 times as long.",
        about="cell 1",
        where="8 B",
        mpi="mpich",
        environment="default",
        placement="bound",
        status="observed",
        affects_default=True,
        ratio=2.0,
        interval=(1.8, 2.2),
        excess_s=1e-6,
        metric=METRIC,
        phase="steady",
        law=None,
        legs=Legs(observed=a_leg(), explained=a_leg("missing", "No law."), proven=a_leg("missing", "Nothing tried.")),
        missing=["explained: no law."],
        cause=None,
        contrasts=["c1"],
        cells=[0, 1],
        slow_cells=[1],
        fast_cells=[0],
        merged=[],
        doubts=[],
        remedies=[],
        next=[],
        kind="fault",
    )
    return replace(finding, **changes)


def a_skipped_row(**changes: Any) -> SkippedRow:
    """A cell that was not measured."""
    row = SkippedRow(
        cell=2, label="cell 2", status="skipped", reason="no GPU driver", launches=0, log=None, output=None
    )
    return replace(row, **changes)


def an_mpi(short_name: str | None = "mpich", **changes: Any) -> MpiResult:
    """An MPI that is there."""
    mpi = MpiResult(mpi=short_name, unavailable=None, library="MPICH 5.0.2", standard="4.1", name="mpich")
    return replace(replace(mpi, version="5.0.2"), **changes)


def an_environment(
    name: str = "default", variables: Mapping[str, str] | None = None, **changes: Any
) -> EnvironmentResult:
    """One without variables is the user's own."""
    environment = EnvironmentResult(
        name=name, mpi=None, setting=None, variables=dict(variables or {}), unset=[], witness=False, unavailable=None
    )
    return replace(environment, **changes)


def a_placement(name: str = "bound", cpus: Sequence[str] = ("0", "1"), **changes: Any) -> PlacementResult:
    """Ranks on cores of one node. cpus: the processors that each rank may use."""
    ranks = [RankPlace(rank=rank, host="n1", cpus_allowed=allowed, cpu=0) for rank, allowed in enumerate(cpus)]
    return replace(PlacementResult(name=name, bind="core", observed=ranks, differs=[]), **changes)


def a_run(**changes: Any) -> RunResult:
    """A complete run of 16 launches under one MPI. mpi: the first of `mpis` unless it is given."""
    mpis = changes.setdefault("mpis", [an_mpi()])
    changes.setdefault("mpi", mpis[0])
    run = RunResult(
        id="20260101-000000",
        folder="runs/20260101-000000",
        campaign="planted",
        title="Planted",
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:01:00+00:00",
        wall_s=60.0,
        seed=1,
        engine="0.1.0",
        slowpath="0.1.0",
        imported=False,
        mpi=mpis[0],
        mpis=mpis,
        machine={"host": "n1", "processor": "P", "processors": 2, "memory_bytes": 8 * 2**30, "kernel": "6.1"},
        launches=LaunchCounts(planned=16, done=16, failed=0),
        rounds=LAUNCHES,
        status="complete",
        command=None,
        environments=[an_environment()],
        placements=[a_placement()],
        quantum_ns=10.0,
    )
    return replace(run, **changes)


def results(cells: Sequence[CellResult] = (), contrasts: Sequence[ContrastResult] = (), **changes: Any) -> Results:
    """A whole results.json."""
    whole = Results(
        schema=RESULTS_SCHEMA,
        run=a_run(),
        verdict=Verdict(
            headline="Measured; this run asks for no comparison",
            lines=[],
            state="clear",
            answer="Measured; this run asks for no comparison",
        ),
        cells=list(cells),
        contrasts=list(contrasts),
        findings=[],
        cannon=None,
        node_pairs=[],
        skipped=[],
        notes=[],
    )
    return replace(whole, **changes)


def a_witness(system_time_s: float = 0.0, minor_faults: float = 0.0, **changes: Any) -> RoleWitness:
    """What the kernel did for one rank per operation, over 40 operations."""
    witness = RoleWitness(
        minor_faults_per_op=minor_faults,
        major_faults_per_op=0.0,
        system_time_s_per_op=system_time_s,
        involuntary_switches=0,
        operations=40,
    )
    return replace(witness, **changes)


def calls(**per_operation: float) -> dict[str, CallCounts]:
    """Calls without a length: kind -> how many per operation."""
    return {
        kind: CallCounts(calls_per_op=count, bytes_per_op=None, failed_per_op=0.0)
        for kind, count in per_operation.items()
    }


def witnessed(phase: Phase, **roles: RoleWitness | None) -> dict[Phase, dict[Role, RoleWitness | None]]:
    """`witness` of a cell: of one phase, by role."""
    return {phase: {"send": roles.get("send"), "receive": roles.get("receive")}}
