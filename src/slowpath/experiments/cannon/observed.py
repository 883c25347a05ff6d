# SPDX-License-Identifier: Apache-2.0
"""What the launches of a cell show beyond its metrics: disturbances, one timeline, how computation varies. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from slowpath.core.cell_results import RepetitionCounts
from slowpath.core.plan import Cell
from slowpath.core.study_results import CannonComputation, TimelineInterval
from slowpath.experiments.cannon.runs import (
    DGEMM,
    NOT_REPORTED,
    PARTS,
    TOTAL,
    Disturbance,
    Mask,
    Runs,
    counted,
    disturbance,
    over_repetitions,
    read_runs,
)
from slowpath.experiments.measured import ENOUGH_CLEAN, NS, UNSTATED, LaunchContext, SampleBlock
from slowpath.record.events import Repetitions
from slowpath.stats.contrast import SIGNIFICANCE, benjamini_hochberg
from slowpath.stats.estimate import T_LAUNCHES, Floats, estimate_over_launches, mean

LEVEL = 0.95
FEWEST = 4  # repetitions of a launch: fewer have no coefficient worth a mean
ONE_FREQUENCY = "no spread of clock rates or times"


@dataclass(frozen=True)
class LaunchComputation:
    """One launch of a cell.

    spread_ratio, clock_spread_ratio: interquartile range over median, mean over ranks; None: not known.
    correlation: of log time and log frequency; in words: why there is none.
    """

    spread_ratio: float
    clock_spread_ratio: float | None
    correlation: float | str


def of_launch(runs: Runs, events: Sequence[Repetitions]) -> LaunchComputation | None:
    """One launch; None where its ranks do not multiply by themselves, or too few repetitions were made."""
    ranks = [rank for rank in range(runs.size) if (rank, DGEMM) in runs.duration_ns]
    if not ranks or runs.count < FEWEST:
        return None
    times = {rank: runs.spent_s(rank, DGEMM) for rank in ranks}
    if any((spent <= 0).any() for spent in times.values()):
        return None
    clocks = {event.rank: event.clock_hz for event in events}
    known: dict[int, Floats] = {}
    for rank in ranks:
        read = [hz for hz in clocks.get(rank, ()) if hz]
        if len(read) == runs.count:
            known[rank] = np.array(read, dtype=np.float64)
    spread = statistics.fmean(_spread(spent) for spent in times.values())
    if not known:
        why = next((event.clock_from for event in events if event.clock_from and not any(event.clock_hz)), None)
        return LaunchComputation(spread, None, why or NOT_REPORTED)
    return LaunchComputation(
        spread,
        statistics.fmean(_spread(hz) for hz in known.values()),
        _correlation([(times[rank], hz) for rank, hz in known.items()]),
    )


def _spread(values: Floats) -> float:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float((high - low) / middle)


def _correlation(pairs: Sequence[tuple[Floats, Floats]]) -> float | str:
    """Over all ranks, each less its own mean."""
    times, clocks = ([np.log(values) - np.log(values).mean() for values in side] for side in zip(*pairs, strict=True))
    time, clock = np.concatenate(times), np.concatenate(clocks)
    scale = float(np.sqrt((time**2).sum() * (clock**2).sum()))
    return float((time * clock).sum()) / scale if scale > 1e-12 else ONE_FREQUENCY


def computation(
    cells: Mapping[tuple[str, int], Cell], launches_of: Mapping[int, Sequence[LaunchComputation]]
) -> list[CannonComputation]:
    """Each variant at the largest n at which it was measured.

    Args: cells: (variant, n) -> cell, of one group.
    """
    largest: dict[str, int] = {}
    for (variant, n), cell in cells.items():
        if launches_of.get(cell.cell):
            largest[variant] = max(n, largest.get(variant, 0))
    rows = []
    for variant, n in largest.items():
        cell_number = cells[variant, n].cell
        rows.append(_one(variant, n, cell_number, launches_of[cell_number]))
    return _judged(rows, launches_of)


def _judged(
    rows: Sequence[CannonComputation], launches_of: Mapping[int, Sequence[LaunchComputation]]
) -> list[CannonComputation]:
    """The same with `follows`, by p values that are corrected together (Benjamini-Hochberg)."""
    tested: dict[int, float] = {}
    for row in rows:
        p = mean(_known(launches_of[row.cell])).p() if row.interval is not None else None
        if p is not None:
            tested[row.cell] = p
    corrected: Sequence[float] = [float(p) for p in benjamini_hochberg(list(tested.values()))] if tested else []
    adjusted = dict(zip(tested, corrected, strict=True))
    return [
        replace(row, follows=(row.correlation or 0.0) < 0 and adjusted.get(row.cell, 1.0) <= SIGNIFICANCE)
        for row in rows
    ]


def _known(launches: Sequence[LaunchComputation]) -> list[float]:
    return [launch.correlation for launch in launches if not isinstance(launch.correlation, str)]


def _one(variant: str, n: int, cell: int, launches: Sequence[LaunchComputation]) -> CannonComputation:
    spreads = [launch.spread_ratio for launch in launches]
    clocks = [launch.clock_spread_ratio for launch in launches if launch.clock_spread_ratio is not None]
    known = _known(launches)
    reason = next((launch.correlation for launch in launches if isinstance(launch.correlation, str)), None)
    interval = mean(known).interval(LEVEL) if len(known) >= T_LAUNCHES else None
    if known and len(known) < T_LAUNCHES:
        reason = f"fewer than {T_LAUNCHES} launches"
    positive = all(spread > 0 for spread in spreads)
    return CannonComputation(
        variant=variant,
        n=n,
        cell=cell,
        spread_ratio=estimate_over_launches(spreads).value if positive else statistics.fmean(spreads),
        clock_spread_ratio=statistics.fmean(clocks) if clocks else None,
        correlation=statistics.fmean(known) if known else None,
        interval=(max(-1.0, interval.low), min(1.0, interval.high)) if interval else None,
        follows=False,
        launches=len(launches),
        reason=None if known and interval else reason,
    )


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
    seen = _intervals(runs, job, chosen)
    intervals, reason = ([], seen) if isinstance(seen, str) else (seen, None)
    clock_hz = over_repetitions(job.repetitions, chosen)
    return Timeline(launch, chosen, float(length_s[chosen]), job.one_node, intervals, reason, clock_hz)


def _intervals(runs: Runs, job: LaunchContext, repetition: int) -> list[TimelineInterval] | str:
    count = sum(table.shape[1] for table in runs.duration_ns.values())
    if count > MOST_INTERVALS:
        return f"{count} intervals: too many to show"
    steps = {(event.rank, event.part): event.steps for event in job.intervals}
    starts = [int(runs.begin_ns[rank, TOTAL][repetition, 0]) for rank in range(runs.size)]
    intervals = []
    for (rank, part), begins in runs.begin_ns.items():
        of_part = steps.get((rank, part), ())
        if len(of_part) != begins.shape[1]:
            return UNSTATED.format("the step of each interval")
        zero_ns = min(starts) if job.one_node else starts[rank]
        spent = runs.duration_ns[rank, part][repetition]
        for step, begin, length in zip(of_part, begins[repetition], spent, strict=True):
            begin_s, end_s = (float(ns - zero_ns) * NS for ns in (begin, begin + length))
            name = PARTS.get(part, f"part {part}")
            intervals.append(TimelineInterval(rank=rank, part=name, step=step, begin_s=begin_s, end_s=end_s))
    return sorted(intervals, key=lambda interval: (interval.rank, interval.begin_s, -interval.end_s))


EXPERIMENT = "cannon"
_TURNS = "ranks share processors, so switches do not count as disturbances"
_NO_LOAD = UNSTATED.format("the load of other processes")


class Observed:
    """By cell, gathered launch by launch.

    disturbances: one a launch that reported.  why_not: why some launch did not.  timelines: of the first launch.
    repetitions_of: cell -> the events of all ranks and launches.
    computations: cell -> how its local multiplications vary, by launch.
    """

    def __init__(self) -> None:
        self.disturbances: dict[int, list[Disturbance]] = {}
        self.why_not: dict[int, str] = {}
        self.timelines: dict[int, Timeline] = {}
        self.repetitions_of: dict[int, list[Repetitions]] = {}
        self.computations: dict[int, list[LaunchComputation]] = {}

    def add(self, cell: int, launch: int, blocks: Sequence[SampleBlock], job: LaunchContext) -> None:
        """One launch's blocks of a cell of this experiment."""
        runs = read_runs(blocks, job)
        if not isinstance(runs, Runs):
            self.why_not.setdefault(cell, runs.reason)
            return
        self.repetitions_of.setdefault(cell, []).extend(job.repetitions)
        if (varies := of_launch(runs, job.repetitions)) is not None:
            self.computations.setdefault(cell, []).append(varies)
        disturbed = disturbance(runs.length_s(job.one_node), job.repetitions, job.take_turns)
        if isinstance(disturbed, Disturbance):
            self.disturbances.setdefault(cell, []).append(disturbed)
        else:
            self.why_not.setdefault(cell, disturbed)
        if cell not in self.timelines:
            clean = disturbed.clean if isinstance(disturbed, Disturbance) else None
            self.timelines[cell] = timeline(runs, job, launch, clean)

    def repetitions(self, cell: int) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""
        reported = self.disturbances.get(cell)
        if not reported:
            return None, self.why_not.get(cell, "no launch measured the cell")
        counts = counted(reported, ENOUGH_CLEAN)
        whys = [why for count, why in ((counts.switched, _TURNS), (counts.loaded, _NO_LOAD)) if count is None]
        return counts, "; ".join(whys) or None
