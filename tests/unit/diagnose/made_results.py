# SPDX-License-Identifier: Apache-2.0
"""Results without a launch: planted times in the structs of results.json, each with no more than tests are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult, MetricEstimate, RoleWitness
from slowpath.core.results import (
    ContrastResult,
    EnvironmentResult,
    Finding,
    LaunchCounts,
    LawResult,
    Leg,
    Legs,
    LimitBracket,
    MpiResult,
    RemedyResult,
    RemovedRatio,
    Results,
    Snippet,
    Verdict,
)
from slowpath.diagnose.tasks import DiagnosisStep, Task, WitnessTask
from slowpath.stats.contrast import judge, paired
from support.results import (
    a_cell,
    a_contrast,
    a_finding,
    a_law,
    a_leg,
    a_metric,
    a_placement,
    a_remedy,
    a_run,
    a_side,
    an_environment,
    an_estimate,
)
from support.results import results as whole_results

METRIC = "half_round_trip_latency_s"
MPICH = MpiResult(mpi="mpich", unavailable=None, name="mpich", version="5.0.2")


def cell(
    number: int,
    parameters: Mapping[str, str],
    times_s: Sequence[float] = (),
    experiment: str = "p2p",
    environment: str = "default",
    placement: str = "bound",
    witness: Mapping[str, Mapping[str, RoleWitness | None]] | None = None,
) -> CellResult:
    """times_s: of METRIC, one for each launch."""
    times = {"steady": estimate(times_s)} if len(times_s) else {}
    return a_cell(
        number, group="lengths", experiment=experiment, parameters=dict(parameters), environment=environment,
        placement=placement, metrics={METRIC: a_metric(phases=times)},
        witness={phase: dict(roles) for phase, roles in witness.items()} if witness else None,
    )  # fmt: skip


def estimate(times_s: Sequence[float]) -> MetricEstimate:
    """Of launches that took so long."""
    return an_estimate(
        float(np.median(times_s)), interval=None, interval_kind="none", level=None, samples=10 * len(times_s),
        launch_values=[float(value) for value in times_s], p90=None, p99=None, min=float(min(times_s)),
        max=float(max(times_s)), steady_class=None, within_ratio=None, between_ratio=None, quantum_ratio=None,
    )  # fmt: skip


def contrast(
    group: str, pairs_s: Sequence[tuple[float, float]] = (), a: int = 0, b: int = 1, **more: Any
) -> ContrastResult:
    """`b` over `a` of cells with these numbers, judged by its pairs."""
    made = a_contrast(
        f"c-{group}", None, group=group, question=f"{group}?", a=a_side(a, "a"), b=a_side(b, "b"), default_side=None,
        reason=None,
    )  # fmt: skip
    if not len(pairs_s):
        return replace(made, **more)
    a_s, b_s = np.array(pairs_s, dtype=np.float64).T
    estimate = paired(a_s, b_s, made.minimum_effect)
    verdict = judge(estimate, estimate.p)
    judged = {"verdict": verdict.word, "reason": verdict.reason, "more_pairs": verdict.more_pairs}
    judged |= {name: getattr(estimate, name) for name in ("ratio", "interval", "level", "p")}
    pairs = tuple((float(time_s), float(other)) for time_s, other in pairs_s)
    values = {"a_value_s": float(np.median(a_s)), "b_value_s": float(np.median(b_s)), "launches": len(a_s)}
    return replace(made, **(judged | values | {"pairs": pairs} | more))


def planted_contrast(
    group: str, a_s: float, b_s: float, pairs: int = 10, noise: float = 0.01, seed: int = 1
) -> ContrastResult:
    """A contrast with planted times, noise in each pair and a drift that both of its sides share."""
    generator = np.random.default_rng([seed, len(group)])
    shared = 1 + 0.1 * generator.standard_normal(pairs)
    a = a_s * shared * (1 + noise * generator.standard_normal(pairs))
    b = b_s * shared * (1 + noise * generator.standard_normal(pairs))
    return contrast(group, list(zip(a.tolist(), b.tolist(), strict=True)), a_value_s=a_s, b_value_s=b_s)


def environment(name: str, unset: Sequence[str] = (), **variables: str) -> EnvironmentResult:
    """Of every MPI, without a state of a name."""
    return an_environment(name, variables, unset=list(unset))


def results(
    cells: Sequence[CellResult] = (),
    contrasts: Sequence[ContrastResult] = (),
    findings: Sequence[Finding] = (),
    environments: Sequence[EnvironmentResult] = (environment("default"),),
    binds: Mapping[str, str] | None = None,
) -> Results:
    """binds: of placements, by name."""
    placements = [a_placement(name, bind=bind, observed=[]) for name, bind in (binds or {"bound": "core"}).items()]
    run = a_run(
        id="run", folder="run", campaign="made", title="Made", started=None, finished=None, wall_s=None, seed=None,
        engine=None, slowpath="0", mpis=[MPICH], machine={}, launches=LaunchCounts(planned=0, done=0, failed=0),
        rounds=5, environments=list(environments), placements=placements, quantum_ns=None,
    )  # fmt: skip
    verdict = Verdict(headline="", lines=[], state="clear", answer="Fine.")
    return whole_results(cells, contrasts, run=run, verdict=verdict, findings=list(findings))


def leg(state: str = "missing", text: str = "nothing yet") -> Leg:
    """One leg of a finding."""
    return a_leg(state, text)


def finding(rule: str = "SP013", excess_s: float = 2e-5, number: int = 0, **changed: Any) -> Finding:
    """An observed one of cells 0 (slow) and 1 (fast).  Args: number: makes its id another one."""
    made = a_finding(
        rule, id=f"{rule}:{number:08x}", title="a title", text="It is slow.", about="switch", where="host memory",
        ratio=3.5, interval=(3.4, 3.6), excess_s=excess_s, contrasts=[], slow_cells=[0], fast_cells=[1],
        legs=Legs(observed=leg("shown"), explained=leg(), proven=leg()),
        missing=["explained: nothing yet", "proven: nothing yet"],
    )  # fmt: skip
    return replace(made, **changed)


def law(*limits: tuple[float, float]) -> LawResult:
    """Segments with these limits of message_bytes."""
    brackets = [LimitBracket(covariate="message_bytes", above=low, up_to=high) for low, high in limits]
    return a_law(
        name="segments", formula="t = a_i + n / b_i", brackets=brackets, refused=None, points=20, launches=5,
        text="segments",
    )  # fmt: skip


def remedy(
    name: str, verdict: str = "not tried", removed: tuple[float, float, float] | None = None, **more: Any
) -> RemedyResult:
    """removed: share of the gap, and its interval."""
    ratio = RemovedRatio(value=removed[0], interval=removed[1:]) if removed else None
    fields = {"text": f"Take {name}.", "snippet": Snippet(), "reason": "no trial was run", "removed_ratio": ratio}
    return a_remedy(name, **(fields | {"verdict": verdict} | more))


def step(number: int, task: Task | None = None) -> DiagnosisStep:
    """One that is over; the task of a witness where none is given."""
    task = task or WitnessTask()
    return DiagnosisStep(
        number=number, folder=f"{number:02d}-{task.kind}", why="", estimate_s=1.0, task=task, wall_s=1.0
    )
