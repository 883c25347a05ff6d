# SPDX-License-Identifier: Apache-2.0
"""What every rank did when, in one repetition that stands for a launch. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cannon_results import TimelineInterval
from slowpath.experiments.cannon.clock import over_repetitions
from slowpath.experiments.cannon.disturbance import Mask
from slowpath.experiments.cannon.runs import PARTS, TOTAL, Runs
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.reduce import ENOUGH_CLEAN
from slowpath.experiments.measured.series import NS
from slowpath.record.events import Intervals

MOST_INTERVALS = 4000  # of one repetition in results.json; the record holds them all


@dataclass(frozen=True)
class Timeline:
    """One repetition. intervals: as in docs/reference/results.md, by rank and begin; empty where `reason` says why."""

    launch: int
    repetition: int
    length_s: float
    one_clock: bool
    intervals: list[TimelineInterval]
    reason: str | None
    clock_hz: float | None = None


def timeline(runs: Runs, job: LaunchContext, launch: int, clean: Mask | None) -> Timeline:
    """The repetition of median length among those that stand for the launch; of two in the middle the shorter one."""
    length_s = runs.length_s(job.one_node)
    candidates = np.arange(runs.count)
    if clean is not None and int(clean.sum()) >= ENOUGH_CLEAN:
        candidates = candidates[clean]
    chosen = int(candidates[np.argsort(length_s[candidates], kind="stable")[(candidates.size - 1) // 2]])
    found = _intervals(runs, job, chosen)
    intervals, reason = ([], found) if isinstance(found, str) else (found, None)
    clock_hz = over_repetitions(job.repetitions, chosen)
    return Timeline(launch, chosen, float(length_s[chosen]), job.one_node, intervals, reason, clock_hz)


def _intervals(runs: Runs, job: LaunchContext, repetition: int) -> list[TimelineInterval] | str:
    count = sum(table.shape[1] for table in runs.duration_ns.values())
    if count > MOST_INTERVALS:
        return f"{count} intervals are too many to show; the record holds them"
    steps = _steps(job.intervals)
    starts = [int(runs.begin_ns[rank, TOTAL][repetition, 0]) for rank in range(runs.size)]
    found = []
    for (rank, part), begins in runs.begin_ns.items():
        of_part = steps.get((rank, part), ())
        if len(of_part) != begins.shape[1]:
            return "the engine did not say which step each interval belongs to"
        zero_ns = min(starts) if job.one_node else starts[rank]
        spent = runs.duration_ns[rank, part][repetition]
        for step, begin, length in zip(of_part, begins[repetition], spent, strict=True):
            begin_s, end_s = (float(ns - zero_ns) * NS for ns in (begin, begin + length))
            name = PARTS.get(part, f"part {part}")
            found.append(TimelineInterval(rank=rank, part=name, step=step, begin_s=begin_s, end_s=end_s))
    return sorted(found, key=lambda one: (one.rank, one.begin_s, -one.end_s))


def _steps(said: Sequence[Intervals]) -> dict[tuple[int, int], tuple[int, ...]]:
    return {(event.rank, event.part): event.steps for event in said}
