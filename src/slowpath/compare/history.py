# SPDX-License-Identifier: Apache-2.0
"""Histories of many runs: a series for each cell, metric and phase in order of time, with its changes of level. Pure.

Levels are found as mean shifts of log values by optimal partitioning, with a penalty of 4 ln n (1 + 40 / n) per level,
because the noise of short series is known less well. A single value that the next one takes back is an outlier. A shift
that only the last run shows is a candidate, because a run can be bad by chance.
Source: Jackson et al. 2005, doi 10.1109/LSP.2001.838216.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from slowpath.compare.comparison import SCHEMA
from slowpath.compare.facts import RunDifference, differences
from slowpath.compare.pairs import chosen_metrics, has_ratio, plain_label
from slowpath.compare.read import RunSource, require_measured
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.machine_kind import alike, described, is_stated
from slowpath.core.result import Interval
from slowpath.stats.inputs import Floats, positive
from slowpath.stats.warmup import partition

# Calibrated so that at most one flat series in fifty is split, from 7 runs to 60 (tests/unit/compare/test_changes.py).
FEWEST_POINTS = 7
_FEW_POINTS_PENALTY = 40.0
_NOISE_FLOOR_LOG = 1e-3
_MAD_TO_SD = 1.4826
_SURE_POINTS = 2  # at the new level, from which on a change is more than a candidate


@dataclass(frozen=True)
class LevelChange:
    """A change of level: from point `at` on, the level is `ratio` times the level before, in the unit of the values."""

    at: int
    before: float
    after: float
    ratio: float
    state: Literal["change", "candidate"]


@dataclass(frozen=True)
class LevelChanges:
    """The changes by position, the outliers (points that belong to no level), or why nothing was judged."""

    changes: tuple[LevelChange, ...]
    outliers: tuple[int, ...]
    noise_ratio: float | None  # standard deviation of a point about its level, relative
    reason: str | None = None


def find_changes(values: Sequence[float], se_logs: Sequence[float | None], minimum_effect: float) -> LevelChanges:
    """Return changes of level beyond the minimum effect.

    Args: values: shape (runs,), > 0, in order of time. se_logs: standard error of each log value over its launches, or
          None if unknown; a smaller spread between runs is not believed. minimum_effect: smallest relative change that
          counts.
    Raises: ValueError: the lengths differ, or a value is not positive.
    """
    if len(values) != len(se_logs):
        raise ValueError(f"find_changes: {len(values)} values and {len(se_logs)} standard errors")
    if len(values) < FEWEST_POINTS:
        return LevelChanges(
            (), (), None, f"{len(values)} runs; distinguishing a change from noise needs {FEWEST_POINTS}"
        )
    logs: Floats = np.log(positive(values))
    noise = _noise(logs, [se for se in se_logs if se is not None])
    kept = list(range(len(values)))
    while True:
        starts = _starts(logs[kept], noise, math.log1p(minimum_effect))
        lone = _lone(starts, len(kept))
        if lone is None or len(kept) <= FEWEST_POINTS:
            break
        del kept[lone]
    outliers = tuple(i for i in range(len(values)) if i not in set(kept))
    return LevelChanges(_changes(logs[kept], starts, kept), outliers, noise)


def _noise(logs: Floats, se_logs: Sequence[float]) -> float:
    steps = np.diff(logs)
    between = _MAD_TO_SD * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2.0)
    return max(between, float(np.median(se_logs)) if se_logs else 0.0, _NOISE_FLOOR_LOG)


def _starts(logs: Floats, noise: float, least_log: float) -> list[int]:
    """Return the starts of the levels. Neighbours closer than the minimum effect are one level."""
    n = logs.size
    penalty = 4.0 * math.log(n) * (1.0 + _FEW_POINTS_PENALTY / n)
    starts = partition((logs - logs.mean()) / noise, penalty)
    while len(starts) > 1:
        levels = [float(part.mean()) for part in np.split(logs, starts[1:])]
        steps = [abs(b - a) for a, b in itertools.pairwise(levels)]
        smallest = int(np.argmin(steps))
        if steps[smallest] >= least_log:
            break
        del starts[smallest + 1]
    return starts


def _lone(starts: Sequence[int], n: int) -> int | None:
    """Return the first point that is a level of its own although others follow, or None."""
    ends = [*starts[1:], n]
    return next((s for s, e in zip(starts, ends, strict=True) if e - s == 1 and e < n), None)


def _changes(logs: Floats, starts: Sequence[int], kept: Sequence[int]) -> tuple[LevelChange, ...]:
    parts = np.split(logs, list(starts[1:]))
    levels = [math.exp(float(part.mean())) for part in parts]
    return tuple(
        LevelChange(
            kept[start],
            before,
            after,
            after / before,
            "change" if part.size >= _SURE_POINTS else "candidate",
        )
        for start, part, before, after in zip(starts[1:], parts[1:], levels, levels[1:], strict=False)
    )


class HistoryPoint(msgspec.Struct, frozen=True):
    """The value of a run. `se_log` is the standard error of the log value over launches, or None with one launch."""

    run: str
    path: str
    started: str
    value: float
    interval: Interval | None
    interval_kind: str
    launches: int
    se_log: float | None
    outlier: bool


class HistoryShift(msgspec.Struct, frozen=True):
    """A change of level: from `run` on, `ratio` times the level before. `worse`: whether it became worse."""

    run: str
    path: str
    started: str
    position: int
    before: float
    after: float
    ratio: float
    worse: bool
    state: str  # change | candidate
    differences: list[RunDifference]  # between this run and the one before it in the series


class HistorySeries(msgspec.Struct, frozen=True):
    """A cell, metric and phase on one kind of machine. `reason` states why changes were not looked for."""

    id: str
    label: str
    key: str | None  # null: joined by label over several keys
    experiment: str
    metric: str
    phase: str
    unit: str
    better: str
    machine: list[str | None]
    points: list[HistoryPoint]
    shifts: list[HistoryShift]
    noise_ratio: float | None
    reason: str | None


class History(msgspec.Struct, frozen=True):
    """The result of `slowpath history`, and the format of its JSON."""

    schema: int
    kind: str
    folder: str
    by: str
    minimum_effect: float
    runs: int
    left_out: list[str]
    series: list[HistorySeries]


class _SeriesKey(NamedTuple):
    cell: Hashable
    machine: tuple[str | None, ...]
    metric: str
    phase: str


@dataclass(frozen=True)
class _RunValue:
    source: RunSource
    cell: CellResult
    estimate: MetricEstimate


def history(
    folder: str,
    sources: Sequence[RunSource],
    left_out: Sequence[str],
    minimum_effect: float,
    metrics: Collection[str] = (),
    phases: Sequence[str] = ("steady",),
    by: str = "key",
) -> History:
    """Return the series of all sources that state when they began.

    Args: by: `key`: a series is a cell under one library version and one set of variables; `label`: it continues when
          these change.
    Raises: UsageError: no run has such a metric. RecordError: no run holds a measurement.
    """
    measured, empty = _measured(sources)
    dated, undated = _by_time(measured)
    seen: dict[_SeriesKey, list[_RunValue]] = {}
    odd: list[str] = []
    machines: list[RunSource] = []
    for source in dated:
        machine = _machine(source, machines)
        for cell in source.results.cells:
            for metric in chosen_metrics([cell], metrics):
                for phase, estimate in cell.metrics[metric].phases.items():
                    if phase in phases and has_ratio(estimate.value):
                        name = _SeriesKey(_identity(cell, by), machine, metric, phase)
                        seen.setdefault(name, []).append(_RunValue(source, cell, estimate))
    if not seen:
        if left := [*left_out, *empty, *undated]:
            raise RecordError(f"{folder}: no run in it can be used; the first of {len(left)}: {left[0]}")
        raise UsageError(f"{folder}: no run has {' or '.join(metrics) or 'a metric'} in phase {' or '.join(phases)}")
    series = []
    for name, members in seen.items():
        alike_in_unit, others = _of_one_unit(name, members)
        odd += others
        series.append(_series(name, alike_in_unit, minimum_effect))
    left = list(dict.fromkeys([*left_out, *empty, *undated, *odd]))
    return History(SCHEMA, "history", folder, by, minimum_effect, len(dated), left, series)


def _measured(sources: Sequence[RunSource]) -> tuple[list[RunSource], list[str]]:
    """Return the sources with measurements, and a line for each other source."""
    found, empty = [], []
    for source in sources:
        try:
            found.append(require_measured(source))
        except RecordError as error:
            empty.append(str(error))
    return found, empty


def _machine(source: RunSource, known: list[RunSource]) -> tuple[str | None, ...]:
    """Return the hardware as the first run on such a machine states it, and add the run to `known` if it is new.

    Runs that state no machine share one name, and their series is not judged.
    """
    mine = source.run.machine
    if not is_stated(mine):
        return (None,) * 5
    first = next((other for other in known if alike(other.run.machine, mine)), None)
    if first is None:
        known.append(first := source)
    return described(first.run.machine)


def _of_one_unit(name: _SeriesKey, members: Sequence[_RunValue]) -> tuple[list[_RunValue], list[str]]:
    """Return the members with the most common unit, and a line for each run with another unit."""

    def unit(value: _RunValue) -> tuple[str, str]:
        metric = value.cell.metrics[name.metric]
        return metric.unit, metric.better

    usual = Counter(map(unit, members)).most_common(1)[0][0]
    words = "{}: left out of the series of '{}': its {} is in {}, but most runs use {}"
    odd = [
        words.format(member.source.path, member.cell.label, name.metric, unit(member)[0], usual[0])
        for member in members
        if unit(member) != usual
    ]
    return [member for member in members if unit(member) == usual], odd


def _by_time(sources: Sequence[RunSource]) -> tuple[list[RunSource], list[str]]:
    """Return each run once by its start, and why others are left out. A copy has the id and start of its original."""
    found: dict[tuple[str, str | None], tuple[datetime, RunSource]] = {}
    left_out = []
    for source in sources:
        name, moment = (source.run.id, source.run.started), _moment(source.run.started)
        if moment is None:
            left_out.append(f"{source.path}: does not say when it began")
        elif name in found:
            left_out.append(f"{source.path}: is a copy of {found[name][1].path}")
        else:
            found[name] = (moment, source)
    return [source for _, source in sorted(found.values(), key=lambda dated: dated[0])], left_out


def _moment(started: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(started or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _identity(cell: CellResult, by: str) -> Hashable:
    if by == "key":
        return cell.key
    return cell.experiment, plain_label(cell), cell.environment, cell.placement, cell.copy, cell.mpi


def _series(name: _SeriesKey, members: Sequence[_RunValue], minimum_effect: float) -> HistorySeries:
    last = members[-1].cell
    metric = last.metrics[name.metric]
    errors = [_se_log(member.estimate.launch_values) for member in members]
    found = find_changes([member.estimate.value for member in members], errors, minimum_effect)
    if name.machine[0] is None:
        found = replace(found, changes=(), outliers=(), reason="the runs do not state their machine")
    keys = {member.cell.key for member in members}
    return HistorySeries(
        id=hashlib.sha256(repr(name).encode()).hexdigest()[:16],
        label=last.label,
        key=last.key if len(keys) == 1 else None,
        experiment=last.experiment,
        metric=name.metric,
        phase=name.phase,
        unit=metric.unit,
        better=metric.better,
        machine=list(name.machine),
        points=[_point(run, errors[i], i in found.outliers) for i, run in enumerate(members)],
        shifts=[_shift(change, members, metric.better) for change in found.changes],
        noise_ratio=found.noise_ratio,
        reason=found.reason,
    )


def _point(member: _RunValue, se_log: float | None, outlier: bool) -> HistoryPoint:
    run, found = member.source.run, member.estimate
    where = (run.id, str(member.source.path), run.started or "")
    return HistoryPoint(*where, found.value, found.interval, found.interval_kind, found.launches, se_log, outlier)


def _shift(change: LevelChange, members: Sequence[_RunValue], better: str) -> HistoryShift:
    here, before = members[change.at].source, members[change.at - 1].source
    return HistoryShift(
        run=here.run.id,
        path=str(here.path),
        started=here.run.started or "",
        position=change.at,
        before=change.before,
        after=change.after,
        ratio=change.ratio,
        worse=(change.ratio > 1.0) == (better == "lower"),
        state=change.state,
        differences=[difference for difference in differences(before.run, here.run) if difference.what != "began"],
    )


def _se_log(launch_values: Sequence[float]) -> float | None:
    """Return the standard error of the mean log launch value, or None with one launch or without logarithms."""
    if len(launch_values) < 2 or not all(map(has_ratio, launch_values)):
        return None
    return float(np.log(launch_values).std(ddof=1)) / math.sqrt(len(launch_values))
