# SPDX-License-Identifier: Apache-2.0
"""The experiment `cannon`: a distributed multiplication in many communication styles, and what a cell costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Level, Line
from slowpath.core.study_results import CannonGroup, CannonResults
from slowpath.core.units import plural
from slowpath.experiments.cannon.entry import build_cannon
from slowpath.experiments.cannon.observed import EXPERIMENT, Observed
from slowpath.experiments.cannon.points import ROLES
from slowpath.experiments.cannon.runs import DGEMM, PARTS, TOTAL, Disturbance, Mask, Runs, disturbance, read_runs
from slowpath.experiments.experiment import EXPOSED, Concluded, Experiment, Metric, Pattern, Study
from slowpath.experiments.measured import (
    BLOCK_BYTES,
    EVENT_BYTES,
    SAMPLE_BYTES,
    Absent,
    Derived,
    LaunchContext,
    MetricSamples,
    SampleBlock,
)
from slowpath.stats.estimate import Floats

Parameters = Mapping[str, str]


@dataclass(frozen=True)
class RankGrid:
    """Ranks as rows x columns; steps: panels into which the inner dimension is cut."""

    rows: int
    columns: int

    @property
    def steps(self) -> int:
        return math.lcm(self.rows, self.columns)


def grid_of(ranks: int, shape: str) -> RankGrid:
    """The grid that the engine takes.

    Args: shape: auto, as square as can be with no more rows than columns; ring, 1 x ranks.
    """
    if shape == "ring":
        return RankGrid(1, ranks)
    rows = max(row for row in range(1, math.isqrt(ranks) + 1) if ranks % row == 0)
    return RankGrid(rows, ranks // rows)


# The BLAS, and the plain loop under each set of compiler options.
FLOPS_PER_S = {"blas": 60e9, "loop_O0": 0.4e9, "loop_O2": 1.5e9, "loop_O3": 2e9, "loop_native": 3e9}


@dataclass(frozen=True)
class CannonCost:
    """Assumed speeds of a slow machine, as in `P2pCost`."""

    cell_s: float = 0.01  # windows, requests, the record
    flops_per_s: Mapping[str, float] = field(default_factory=lambda: dict(FLOPS_PER_S))  # of one core, by kernel
    element_s: float = 4e-9  # of an n x n matrix: inputs made, buffers poisoned
    moved_element_s: float = 30e-9  # through rank 0 or a file
    checked_element_s: float = 20e-9  # Freivalds' check of one repetition, inputs made anew
    repetition_s: float = 0.5e-3  # barriers, readings of the load
    waited_ratio: float = 0.05  # of the time that a repetition may wait for quiet


def cannon_seconds(parameters: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch, where each rank has a core."""
    cost = CannonCost()
    n = int(parameters["n"])
    moved = 0.0 if parameters["source"] == "in_place" else cost.moved_element_s
    flops_per_s = cost.flops_per_s[parameters.get("kernel", "blas")]
    one_s = 2 * n**3 / (ranks * flops_per_s) + n**2 * (cost.element_s / ranks + moved)
    one_s += cost.repetition_s + cost.waited_ratio * float(parameters["quiet_wait_s"])
    checked_s = 2 * n**2 * cost.checked_element_s / ranks if parameters["validate"] == "on" else 0.0
    return cost.cell_s + repetitions(parameters) * one_s + checked_s


def repetitions(parameters: Parameters) -> int:
    """Of one cell in one launch, warm-up included."""
    return int(parameters["repetitions"]) + int(parameters["warmups"])


def intervals(parameters: Parameters, ranks: int) -> int:
    """Most intervals of one rank in one repetition (engine/studies/cannon/cannon.cpp, most_intervals)."""
    steps = grid_of(ranks, parameters["grid"]).steps
    panel, piece = max(1, int(parameters["n"]) // steps), int(parameters["piece"])
    pieces = panel // (piece if piece < panel else (panel + 1) // 2) + 1
    besides = 12
    return steps * (besides + 2 * pieces) + besides


def cannon_recorded_bytes(parameters: Parameters, ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    samples = repetitions(parameters) * intervals(parameters, ranks)
    return ranks * (len(PARTS) * (2 * BLOCK_BYTES + EVENT_BYTES) + samples * SAMPLE_BYTES)


# Part -> what one rank does in it; the metric PART_s is its mean over ranks.
MEANINGS = {
    "dgemm": "the local multiplications of a rank, mean over ranks",
    "issue": "starting communication that something else completes, mean over ranks",
    "test": "asking whether communication is over, between pieces of the multiplication, mean over ranks",
    "wait": "blocked until communication is over, mean over ranks",
    "copy": "copying between shared memory and a rank's own, mean over ranks",
    "synchronise": "fences, epochs, barriers and flags, mean over ranks",
    "skew": "moving the initial alignment, mean over ranks",
    "distribute": "inputs out of rank 0 or a file, mean over ranks",
    "gather": "the product to rank 0 or into a file, mean over ranks",
    "generate": "making the inputs in place, outside the multiplication, mean over ranks",
}


def multiply(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """One value for each repetition; those that nothing disturbed are marked as clean."""
    runs = read_runs(blocks, job)
    if isinstance(runs, Absent):
        return {"multiply_s": runs}
    length_s = runs.length_s(job.one_node)
    disturbed = disturbance(length_s, job.repetitions, job.take_turns)
    clean = disturbed.clean if isinstance(disturbed, Disturbance) else None
    return {
        "multiply_s": _series(length_s, clean),
        **_parts(p, runs, clean),
        **_exposed(runs, clean, job),
    }


def _series(values: Floats, clean: Mask | None) -> dict[str, MetricSamples]:
    return {"steady": MetricSamples(values, 1, clean=clean)}


def _parts(p: Mapping[str, str], runs: Runs, clean: Mask | None) -> Derived:
    parts: Derived = {}
    for number, part in PARTS.items():
        if number == TOTAL:
            continue
        spent_s = runs.mean_s(number)
        if spent_s is None:
            parts[f"{part}_s"] = Absent(f"no part {part} of variant {p.get('variant', 'of this cell')}")
        else:
            parts[f"{part}_s"] = _series(spent_s, clean)
    return parts


def _exposed(runs: Runs, clean: Mask | None, job: LaunchContext) -> Derived:
    """What the multiplication does not hide.

    Where ranks share cores, a rank that waits lets another one compute: its waiting is no loss, the share says nothing.
    """
    totals_s: Floats = np.array([runs.spent_s(rank, TOTAL) for rank in range(runs.size)])
    dgemms_s: Floats = np.array([runs.spent_s(rank, DGEMM) for rank in range(runs.size)])
    exposed_s = (totals_s - dgemms_s).mean(axis=0)
    share: dict[str, MetricSamples] | Absent
    if job.shared_cores is not None:
        share = Absent(job.shared_cores)
    else:
        share = _series(exposed_s / totals_s.mean(axis=0), clean)
    return {"exposed_s": _series(exposed_s, clean), "exposed_ratio": share}


_SWITCHED, _LOADED = "by a lost processor", "by other load"


def cannon_lines(cannon: CannonResults | None, cells: Sequence[CellResult]) -> list[Line]:
    """Lines of the verdict: the advice of the group with most variants under each MPI, environment and placement,
    and a warning where launches stand for disturbed repetitions.
    """
    if cannon is None:
        return []
    main: dict[tuple[str | None, str, str], CannonGroup] = {}
    for group in cannon.groups:
        key = (group.mpi, group.environment, group.placement)
        if key not in main or _measured(group) > _measured(main[key]):
            main[key] = group
    lines = [_line("info", f"{_name(group)}: {group.advice}") for group in main.values() if group.advice]
    return lines + _disturbed(cells)


def _measured(group: CannonGroup) -> int:
    return sum(bool(variant.points) for variant in group.variants)


def _name(group: CannonGroup) -> str:
    name = EXPERIMENT if group.label == EXPERIMENT else f"{EXPERIMENT}, {group.label}"
    ranks = plural(group.ranks, "rank")
    return name if name.endswith(ranks) else f"{name}, {ranks}"


def _disturbed(cells: Sequence[CellResult]) -> list[Line]:
    """One line where not all repetitions were clean; a warning where some launches had too few clean ones."""
    reported = [repetitions for cell in cells if (repetitions := cell.repetitions) and repetitions.clean is not None]
    every, clean = (
        sum(repetitions.all for repetitions in reported),
        sum(repetitions.clean or 0 for repetitions in reported),
    )
    if every == clean:
        return []
    launches, by_clean = (
        sum(repetitions.launches for repetitions in reported),
        sum(repetitions.launches_of_clean for repetitions in reported),
    )
    counts = {
        _SWITCHED: [repetitions.switched for repetitions in reported],
        _LOADED: [repetitions.loaded for repetitions in reported],
    }
    known = {cause: [count for count in each if count is not None] for cause, each in counts.items()}
    causes = ", ".join(f"{sum(each)} {cause}" for cause, each in known.items() if each)
    text = f"{EXPERIMENT}: {every - clean} of {every} repetitions disturbed ({causes})"
    if by_clean == launches:
        return [_line("ok", f"{text}; not used.")]
    rest = launches - by_clean
    return [
        _line(
            "warning",
            f"{text}; {rest} of {launches} values use them; repeat on a quiet machine.",
        )
    ]


def _line(level: Level, text: str) -> Line:
    return Line(level=level, text=text, contrast=None)


_METRICS = (
    Metric("multiply_s", "s", "lower", "one multiplication: from the first rank's start to the last rank's end"),
    *(Metric(f"{part}_s", "s", "lower", meaning) for part, meaning in MEANINGS.items()),
    EXPOSED,
    Metric("exposed_ratio", "1", "lower", "the part of all ranks' time that is no local multiplication"),
)


def _study(concluded: Concluded) -> CannonResults | None:
    return build_cannon(concluded.plan, concluded.measurements, concluded.cells, concluded.skipped)


CANNON = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("multiply", multiply, _METRICS),),
    roles=ROLES,
    seconds=cannon_seconds,
    recorded_bytes=cannon_recorded_bytes,
    observer=Observed,
    study=Study("cannon", _study, cannon_lines),
    views=("cannon",),
    compared=("multiply_s", "dgemm_s", "exposed_s"),
    timelines={"multiply": "multiplication"},
)
