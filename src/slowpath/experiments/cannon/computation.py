# SPDX-License-Identifier: Apache-2.0
"""How much the local multiplications vary between repetitions, and whether the clock frequency explains it. Pure.

A multiplication of fixed size takes time in inverse proportion to the clock, so log time over log frequency would
correlate by -1 where nothing else varies. Each rank is compared with its own mean, each launch gives one coefficient,
and the interval is over launches. A correlation is no proof of a cause: heat and other load change both.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from slowpath.core.cannon_results import CannonComputation
from slowpath.core.plan import Cell
from slowpath.experiments.cannon.clock import NOT_REPORTED
from slowpath.experiments.cannon.runs import DGEMM, Runs
from slowpath.record.events import Repetitions
from slowpath.stats import student
from slowpath.stats.estimate import T_LAUNCHES, estimate_over_launches
from slowpath.stats.inputs import Floats
from slowpath.stats.multiplicity import benjamini_hochberg
from slowpath.stats.verdict import SIGNIFICANCE

LEVEL = 0.95
FEWEST = 4  # repetitions of a launch: fewer have no coefficient worth a mean
ONE_FREQUENCY = "the clock read the same after every repetition, or the multiplications took equally long"


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
    found = []
    for variant, n in largest.items():
        cell_number = cells[variant, n].cell
        found.append(_one(variant, n, cell_number, launches_of[cell_number]))
    return _judged(found, launches_of)


def _judged(
    found: Sequence[CannonComputation], launches_of: Mapping[int, Sequence[LaunchComputation]]
) -> list[CannonComputation]:
    """The same with `follows`, by p values that are corrected together (Benjamini-Hochberg)."""
    tested: dict[int, float] = {}
    for one in found:
        p = student.mean(_known(launches_of[one.cell])).p() if one.interval is not None else None
        if p is not None:
            tested[one.cell] = p
    corrected: Sequence[float] = [float(p) for p in benjamini_hochberg(list(tested.values()))] if tested else []
    adjusted = dict(zip(tested, corrected, strict=True))
    return [
        replace(one, follows=(one.correlation or 0.0) < 0 and adjusted.get(one.cell, 1.0) <= SIGNIFICANCE)
        for one in found
    ]


def _known(launches: Sequence[LaunchComputation]) -> list[float]:
    return [launch.correlation for launch in launches if not isinstance(launch.correlation, str)]


def _one(variant: str, n: int, cell: int, launches: Sequence[LaunchComputation]) -> CannonComputation:
    spreads = [launch.spread_ratio for launch in launches]
    clocks = [launch.clock_spread_ratio for launch in launches if launch.clock_spread_ratio is not None]
    known = _known(launches)
    reason = next((launch.correlation for launch in launches if isinstance(launch.correlation, str)), None)
    interval = student.mean(known).interval(LEVEL) if len(known) >= T_LAUNCHES else None
    if known and len(known) < T_LAUNCHES:
        reason = f"{len(known)} launch{'es' * (len(known) > 1)}: an interval needs {T_LAUNCHES}"
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
