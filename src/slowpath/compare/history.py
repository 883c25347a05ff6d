# SPDX-License-Identifier: Apache-2.0
"""Many runs as series: one value a cell, metric, phase and run, in order of time, with its changes. Pure."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
import numpy as np

from slowpath.compare.changes import Change, find_changes
from slowpath.compare.chosen import chosen_metrics, has_ratio
from slowpath.compare.comparison import SCHEMA
from slowpath.compare.facts import Difference, differences
from slowpath.compare.match import plain_label
from slowpath.compare.read import Source, require_measured
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.machine_kind import alike, described, is_stated
from slowpath.core.result import Interval

BY = ("key", "label")


class Point(msgspec.Struct, frozen=True):
    """One run. se_log: standard error of the log value over launches; null with one launch."""

    run: str
    path: str
    started: str
    value: float
    interval: Interval | None
    interval_kind: str
    launches: int
    se_log: float | None
    outlier: bool


class Shift(msgspec.Struct, frozen=True):
    """From `run` on: `ratio` times the level before; worse: in the direction that is not better."""

    run: str
    path: str
    started: str
    position: int
    before: float
    after: float
    ratio: float
    worse: bool
    state: str  # change | candidate
    differences: list[Difference]  # between this run and the one before it in the series


class Series(msgspec.Struct, frozen=True):
    """One cell, metric and phase on one kind of machine. reason: why changes were not looked for, else null."""

    id: str
    label: str
    key: str | None  # null: joined by label over several keys
    experiment: str
    metric: str
    phase: str
    unit: str
    better: str
    machine: list[str | None]
    points: list[Point]
    shifts: list[Shift]
    noise_ratio: float | None
    reason: str | None


class History(msgspec.Struct, frozen=True):
    """Everything that `slowpath history` reports; its JSON is this, field by field."""

    schema: int
    kind: str
    folder: str
    by: str
    minimum_effect: float
    runs: int
    left_out: list[str]
    series: list[Series]


class _Name(NamedTuple):
    cell: Hashable
    machine: tuple[str | None, ...]
    metric: str
    phase: str


@dataclass(frozen=True)
class _Seen:
    source: Source
    cell: CellResult
    estimate: MetricEstimate


def history(
    folder: str,
    sources: Sequence[Source],
    left_out: Sequence[str],
    minimum_effect: float,
    metrics: Collection[str] = (),
    phases: Sequence[str] = ("steady",),
    by: str = "key",
) -> History:
    """Series over all sources that say when they began.

    Args:   by: key, a series is one cell under one library version and one set of variables; label, it goes on where
            these change, and what changed stands beside each shift.
    Raises: UsageError: nothing has such a metric.  RecordError: nothing was measured in any of them.
    """
    measured, empty = _measured(sources)
    dated, undated = _by_time(measured)
    seen: dict[_Name, list[_Seen]] = {}
    odd: list[str] = []
    machines: list[Source] = []
    for source in dated:
        machine = _machine(source, machines)
        for cell in source.results.cells:
            for metric in chosen_metrics([cell], metrics):
                for phase, estimate in cell.metrics[metric].phases.items():
                    if phase in phases and has_ratio(estimate.value):
                        name = _Name(_identity(cell, by), machine, metric, phase)
                        seen.setdefault(name, []).append(_Seen(source, cell, estimate))
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


def _measured(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Those in which anything was measured, and one line for each other."""
    found, empty = [], []
    for source in sources:
        try:
            found.append(require_measured(source))
        except RecordError as error:
            empty.append(str(error))
    return found, empty


def _machine(source: Source, known: list[Source]) -> tuple[str | None, ...]:
    """Its hardware in the words of the first run on such a machine, which joins `known`. Runs that state no machine
    share one name, and their series is not judged.
    """
    mine = source.run.machine
    if not is_stated(mine):
        return (None,) * 5
    first = next((one for one in known if alike(one.run.machine, mine)), None)
    if first is None:
        known.append(first := source)
    return described(first.run.machine)


def _of_one_unit(name: _Name, members: Sequence[_Seen]) -> tuple[list[_Seen], list[str]]:
    """The members whose metric has the unit that most have, and a line for each run with another one."""

    def unit(one: _Seen) -> tuple[str, str]:
        metric = one.cell.metrics[name.metric]
        return metric.unit, metric.better

    usual = Counter(map(unit, members)).most_common(1)[0][0]
    words = "{}: left out of the series of '{}': its {} is in {}, that of most runs in {}"
    odd = [
        words.format(one.source.path, one.cell.label, name.metric, unit(one)[0], usual[0])
        for one in members
        if unit(one) != usual
    ]
    return [one for one in members if unit(one) == usual], odd


def _by_time(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Each run once, by the moment it began, and what is left out and why. A copy of a run has its id and start."""
    found: dict[tuple[str, str | None], tuple[datetime, Source]] = {}
    left_out = []
    for source in sources:
        name, moment = (source.run.id, source.run.started), _moment(source.run.started)
        if moment is None:
            left_out.append(f"{source.path}: does not say when it began")
        elif name in found:
            left_out.append(f"{source.path}: is a copy of {found[name][1].path}")
        else:
            found[name] = (moment, source)
    return [source for _, source in sorted(found.values(), key=lambda one: one[0])], left_out


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


def _series(name: _Name, members: Sequence[_Seen], minimum_effect: float) -> Series:
    last = members[-1].cell
    metric = last.metrics[name.metric]
    errors = [_se_log(one.estimate.launch_values) for one in members]
    found = find_changes([one.estimate.value for one in members], errors, minimum_effect)
    if name.machine[0] is None:
        found = replace(found, changes=(), outliers=(), reason="the runs do not state their machine")
    keys = {one.cell.key for one in members}
    return Series(
        id=hashlib.sha256(repr(name).encode()).hexdigest()[:16],
        label=last.label,
        key=last.key if len(keys) == 1 else None,
        experiment=last.experiment,
        metric=name.metric,
        phase=name.phase,
        unit=metric.unit,
        better=metric.better,
        machine=list(name.machine),
        points=[_point(one, errors[i], i in found.outliers) for i, one in enumerate(members)],
        shifts=[_shift(change, members, metric.better) for change in found.changes],
        noise_ratio=found.noise_ratio,
        reason=found.reason,
    )


def _point(one: _Seen, se_log: float | None, outlier: bool) -> Point:
    run, found = one.source.run, one.estimate
    where = (run.id, str(one.source.path), run.started or "")
    return Point(*where, found.value, found.interval, found.interval_kind, found.launches, se_log, outlier)


def _shift(change: Change, members: Sequence[_Seen], better: str) -> Shift:
    here, before = members[change.at].source, members[change.at - 1].source
    return Shift(
        run=here.run.id,
        path=str(here.path),
        started=here.run.started or "",
        position=change.at,
        before=change.before,
        after=change.after,
        ratio=change.ratio,
        worse=(change.ratio > 1.0) == (better == "lower"),
        state=change.state,
        differences=[one for one in differences(before.run, here.run) if one.what != "began"],
    )


def _se_log(launch_values: Sequence[float]) -> float | None:
    """Standard error of the mean log launch value; None with one launch, or a value that has no logarithm."""
    if len(launch_values) < 2 or not all(map(has_ratio, launch_values)):
        return None
    return float(np.log(launch_values).std(ddof=1)) / math.sqrt(len(launch_values))
