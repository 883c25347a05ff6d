# SPDX-License-Identifier: Apache-2.0
"""Cells and contrasts with invented numbers that scatter as measured ones do, for the report's tests."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from msgspec.structs import replace

from slowpath.core.cell_results import Allocations, CellResult, MetricEstimate
from slowpath.core.result import Phase
from slowpath.core.results import (
    ContrastResult,
    Reproduce,
)
from support import results as model

LAUNCHES = 8
KIB, MIB = 1024, 1024 * 1024


def label_bytes(size: int) -> str:
    """Short name of a message size."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def median(values: list[float]) -> float:
    """Middle value."""
    return float(np.median(values))


def estimate(
    rng: random.Random, centre: float, spread: float, launches: int = LAUNCHES, samples: int = 200
) -> MetricEstimate:
    """One whose launch medians scatter by `spread` about `centre`."""
    values = [centre * math.exp(rng.gauss(0, spread)) for _ in range(launches)]
    interval: tuple[float, float] | None
    if launches >= 6:
        kind, interval = "signed-rank 95 %", (sorted(values)[1], sorted(values)[-2])
        level: float | None = 0.961
    elif launches == 1:
        kind, interval, level = "order statistics within one launch", (centre * 0.97, centre * 1.04), 0.95
    else:
        kind, interval, level = "range of 2 launches, no interval", None, None
    value = median(values)
    tail = math.exp(abs(rng.gauss(0.2, 0.1)))
    few = samples * launches < 2000
    return model.an_estimate(
        value,
        interval=interval,
        interval_kind=kind,
        level=level,
        launch_values=values,
        samples=samples * launches,
        p90=value * 1.04 * tail,
        p99=value * 1.2 * tail**2,
        p999=None if few else value * 2.1 * tail**3,
        p999_reason="needs 2995 samples" if few else None,
        max=value * 3.4 * tail**3,
        min=value * 0.93,
        within_ratio=spread * 1.7,
        between_ratio=spread,
        quantum_ratio=10e-9 / value,
        steady_class=rng.choice(["flat", "flat", "flat", "warm-up"]),
    )


def cell(number: int, group: str, label: str, parameters: dict[str, str], environment: str = "default") -> CellResult:
    """A cell without its metrics."""
    flags = " ".join(f"--{k.replace('_', '-')} {v}" for k, v in parameters.items())
    prefix = "MPIR_CVAR_CH4_CMA_ENABLE=0 " if environment == "no single copy" else ""
    return model.a_cell(
        number,
        key=f"{number * 7919:016x}",
        label=label,
        group=group,
        parameters=parameters,
        mpi=None,
        environment=environment,
        metrics={},
        witness={},
        allocations=Allocations(
            count=32, reused_address=9, pages_observed={"small": 32}, huge_ratio=0.0, mpi_memory_kinds=["system"]
        ),
        validated_bytes=32 * 8 * int(parameters.get("message_bytes", 8)),
        wrong_bytes=0,
        reproduce=f"{prefix}mpiexec -n 2 -bind-to core slowpath-engine p2p {flags}",
    )


def measure(
    rng: random.Random,
    target: CellResult,
    name: str,
    steady_s: float,
    first_s: float | None = None,
    spread: float = 0.02,
    launches: int = LAUNCHES,
    **steady: Any,
) -> CellResult:
    """`target` with a metric in seconds, and the bandwidth that is the same turned over. steady: of that phase."""
    phases: dict[Phase, MetricEstimate] = {"steady": replace(estimate(rng, steady_s, spread, launches), **steady)}
    if first_s is not None:
        phases["first"] = estimate(rng, first_s, 2 * spread, launches, 4)
    if name != "send_barrier_s":
        size = int(target.parameters.get("message_bytes", 0))
        phases = {phase: _with_bandwidth(estimate, size) for phase, estimate in phases.items()}
    return replace(target, metrics={**target.metrics, name: model.a_metric(phases=phases)})


def _with_bandwidth(estimate: MetricEstimate, size_bytes: int) -> MetricEstimate:
    low, high = estimate.interval or (None, None)
    turned = (size_bytes / high, size_bytes / low) if low and high else None
    return replace(estimate, bandwidth_bytes_per_s=size_bytes / estimate.value, bandwidth_interval=turned)


def common(a: str, b: str) -> str:
    """The parts that two labels share."""
    return ", ".join(part for part in a.split(", ") if part in b.split(", "))


def contrast(
    cells: list[CellResult],
    number: int,
    group: str,
    question: str,
    axis: str,
    a: tuple[int, Phase, str],
    b: tuple[int, Phase, str],
    metric: str,
    **more: Any,
) -> ContrastResult:
    """A contrast of two estimates, pair by pair."""
    by = {c.cell: c for c in cells}
    left, right = (by[s[0]].metrics[metric].phases[s[1]] for s in (a, b))
    pairs = tuple(zip(left.launch_values, right.launch_values, strict=True))
    logs = sorted(math.log(y / x) for x, y in pairs)
    ratio, low, high = math.exp(median(logs)), math.exp(logs[0]), math.exp(logs[-1])
    beyond = (ratio > 1.03 and low > 1) or (ratio < 0.97 and high < 1)
    verdict = ("slower" if ratio > 1 else "faster") if beyond else "same" if low > 0.97 and high < 1.03 else "undecided"
    sides = [model.a_side(s[0], s[2], s[1], by[s[0]].label) for s in (a, b)]
    made = model.a_contrast(
        f"c{number:02d}",
        ratio,
        group=group,
        question=question,
        axis=axis,
        a=sides[0],
        b=sides[1],
        where=common(sides[0].label, sides[1].label),
        default_side=None,
        metric=metric,
        a_value_s=left.value,
        b_value_s=right.value,
        interval=(low, high),
        level=0.961,
        verdict=verdict,
        reason=None,
        p=0.0078,
        p_adjusted=0.0117 if beyond else 0.21,
        family=f"p2p {metric}",
        family_size=22,
        launches=len(pairs),
        pairs=pairs,
        within_launch=axis != "environment",
        more_pairs=11 if verdict == "undecided" else None,
        reproduce=Reproduce(a=by[a[0]].reproduce, b=by[b[0]].reproduce),
    )
    return replace(made, **more)
