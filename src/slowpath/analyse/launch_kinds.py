# SPDX-License-Identifier: Apache-2.0
"""Launches that fall into two kinds, the same in several cells (docs/reference/results.md). Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from slowpath.analyse.shapes import METRICS, BySeries
from slowpath.core.plan import Cell
from slowpath.core.shape_results import KindTimes, LaunchKinds
from slowpath.experiments.measured.fixed_work import fixed_work
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.record.events import FixedWork
from slowpath.stats.inputs import Floats
from slowpath.stats.shapes.kinds import FEWEST_LAUNCHES, Kind, Kinds, kinds_of
from slowpath.stats.student import welch

Job = tuple[str | None, str, str, tuple[int, ...]]  # MPI, environment, placement, launches that measured a cell
Row = tuple[int, str, Floats]  # cell, metric, median of each launch


def fixed_work_s(launches: Iterable[LaunchRecord]) -> dict[int, float]:
    """Launch -> the median of its fixed work, mean over ranks, seconds; without those that recorded none."""
    found = {}
    for launch in launches:
        medians = [float(np.median(one.duration_ns)) * 1e-9 for one in fixed_work(launch.events.of(FixedWork))]
        if medians:
            found[launch.info.launch] = math.fsum(medians) / len(medians)
    return found


def launch_kinds(cells: Iterable[Cell], by_series: BySeries, work_s: Mapping[int, float]) -> list[LaunchKinds]:
    """Of each group of cells that the same launches measured, where those fall apart. work_s: as of fixed_work_s."""
    jobs: dict[Job, list[Row]] = defaultdict(list)
    for cell in cells:
        for metric in METRICS:
            rounds = by_series.get((cell.cell, metric, "steady"))
            if rounds:
                times = {launch: one.centre_s for launch, one in rounds.values()}
                numbers = tuple(sorted(times))
                row = (cell.cell, metric, np.array([times[number] for number in numbers]))
                jobs[cell.mpi, cell.environment, cell.placement, numbers].append(row)
                break
    found = []
    for (_, _, _, numbers), rows in jobs.items():
        kinds = kinds_of(np.array([times for _, _, times in rows])) if len(numbers) >= FEWEST_LAUNCHES else None
        if kinds is not None:
            found.append(_entry(numbers, rows, kinds, work_s))
    return found


def _entry(numbers: Sequence[int], rows: Sequence[Row], kinds: Kinds, work_s: Mapping[int, float]) -> LaunchKinds:
    slow = kinds.slow
    times = sorted((_times(rows[row], slow) for row in kinds.cells), key=lambda one: one.ratio, reverse=True)
    relative = [np.log(rows[row][2] / np.median(rows[row][2][~slow])) for row in kinds.cells]
    return LaunchKinds(
        launches=list(numbers),
        slow=slow.tolist(),
        relative=np.exp(np.mean(relative, axis=0)).tolist(),
        cells=times,
        asked=len(rows),
        order_p=kinds.order_p,
        fixed_work_ratio=_fixed_work_ratio(numbers, slow, work_s),
    )


def _times(row: Row, slow: Kind) -> KindTimes:
    cell, metric, times = row
    apart = welch(np.log(times[~slow]), np.log(times[slow]))
    interval = apart.interval()
    return KindTimes(
        cell=cell,
        metric=metric,
        slow_s=float(np.median(times[slow])),
        fast_s=float(np.median(times[~slow])),
        ratio=math.exp(apart.value),
        interval=None if interval is None else (math.exp(interval.low), math.exp(interval.high)),
    )


def _fixed_work_ratio(numbers: Sequence[int], slow: Kind, work_s: Mapping[int, float]) -> float | None:
    sides = [
        [work_s[number] for number, is_slow in zip(numbers, slow, strict=True) if is_slow == side and number in work_s]
        for side in (True, False)
    ]
    return float(np.median(sides[0]) / np.median(sides[1])) if all(sides) else None
