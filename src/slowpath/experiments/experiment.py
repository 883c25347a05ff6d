# SPDX-License-Identifier: Apache-2.0
"""One experiment: everything that Python has to know of it, in one object, its metrics among it. Pure.

The engine describes the rest. Definitions of metrics: docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import DescribedMetric, recorded
from slowpath.core.errors import unreadable
from slowpath.core.plan import Plan, Roles
from slowpath.core.result import Interval, Result
from slowpath.core.results import ContrastResult, Line, SkippedRow
from slowpath.experiments.measured import (
    Absent,
    Derived,
    LaunchContext,
    Measurements,
    Observer,
    SampleBlock,
    Split,
    recorded_bytes,
)


@dataclass(frozen=True)
class Metric:
    """What a metric's numbers are."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    meaning: str
    bandwidth: bool = False  # of one message in this time
    message_rate: bool = False  # one over this time
    not_across: Mapping[str, str] = field(default_factory=dict, hash=False)  # axis -> why both sides time unlike things


# What follows from a time and the payload; no block holds them.
BANDWIDTH = Metric("bandwidth_bytes_per_s", "B/s", "higher", "payload over time")
MESSAGE_RATE = Metric("message_rate_per_s", "1/s", "higher", "messages, or puts, over time")
RATES = (BANDWIDTH, MESSAGE_RATE)

_COUNTED = "instructions"


def timed(
    experiment: str, pattern: str, *, not_across: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Metric, ...]:
    """Return what the engine of this version says that a pattern yields, without rates and counts.

    Args: not_across: of metrics that have one.
    """
    rates = {metric.name for metric in RATES}
    every = [metric for metric in _described(experiment) if metric.pattern == pattern]
    return tuple(
        _metric(metric, (not_across or {}).get(metric.name, {}))
        for metric in every
        if metric.unit != _COUNTED and metric.name not in rates
    )


def counted(experiment: str) -> tuple[Metric, ...]:
    """Return what is counted in an experiment's cells, as the engine of this version says."""
    return tuple(_metric(metric, {}) for metric in _described(experiment) if metric.unit == _COUNTED)


def _described(experiment: str) -> list[DescribedMetric]:
    return recorded().experiment(experiment).metrics


def _metric(described: DescribedMetric, not_across: Mapping[str, str]) -> Metric:
    return Metric(described.name, described.unit, described.better, described.meaning, described.bandwidth,
                  described.message_rate, not_across)  # fmt: skip


# Of cannon.
EXPOSED = Metric("exposed_s", "s", "lower", "what communication adds to the time of the computation around it")

# Designs of a put that move nothing: the price of the call itself, which has a rate and no bandwidth.
_NOTHING_MOVED = ("empty_call", "empty_call_5")


class Rates(NamedTuple):
    """The same measurement turned over, an interval with it. None: the metric has no such rate, or nothing is moved."""

    bandwidth_bytes_per_s: float | None = None
    bandwidth_interval: Interval | None = None
    message_rate_per_s: float | None = None
    message_rate_interval: Interval | None = None


def rates(metric: Metric, parameters: Mapping[str, str], value_s: float, interval_s: Interval | None) -> Rates:
    """Of a time of this metric, in a cell with these parameters."""
    turned = Rates()
    payload = int(parameters.get("message_bytes", "0")) if parameters.get("design") not in _NOTHING_MOVED else 0
    if metric.bandwidth and payload:
        turned = turned._replace(
            bandwidth_bytes_per_s=payload / value_s, bandwidth_interval=_turned(payload, interval_s)
        )
    if metric.message_rate:
        turned = turned._replace(message_rate_per_s=1.0 / value_s, message_rate_interval=_turned(1, interval_s))
    return turned


def _turned(amount: int, interval_s: Interval | None) -> Interval | None:
    return (amount / interval_s[1], amount / interval_s[0]) if interval_s else None


Parameters = Mapping[str, str]
Derive = Callable[[Parameters, Sequence[SampleBlock], LaunchContext], Derived]
_UNKNOWN_S = 0.1  # of a cell that nothing is known about


@dataclass(frozen=True)
class Pattern:
    """One value of the parameter `pattern`: the metrics that it yields, and how blocks become them."""

    name: str
    derive: Derive
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class SideEffect:
    """Cells in which a remedy that changes one of `axes` might do harm, and the metric that would show it."""

    axes: tuple[str, ...]
    parameters: Mapping[str, str | list[str]]
    metric: str
    safe_values: tuple[str, ...] = ()  # of an axis: with these the cells cannot run, or cannot be harmed


@dataclass(frozen=True)
class Concluded:
    """What a study is built from. cells, contrasts, skipped: as in results.json."""

    plan: Plan
    measurements: Measurements
    cells: Sequence[CellResult]
    contrasts: Sequence[ContrastResult]
    skipped: Sequence[SkippedRow]


BuildStudy = Callable[[Concluded], Result | None]


@dataclass(frozen=True)
class Study:
    """A section of its own in results.json, and the lines that it adds to the verdict.

    section  its name: the field of Results
    build    what was concluded -> the section over all cells of the experiment; None: it has none
    lines    (section, cells) -> lines of the verdict; [] where the section is None
    """

    section: str
    build: BuildStudy
    lines: Callable[[Any, Sequence[CellResult]], list[Line]]


def _unknown_seconds(parameters: Parameters, ranks: int) -> float:
    return _UNKNOWN_S


def _nothing_more(parameters: Parameters, ranks: int, nodes: int) -> float:
    return 0.0


def _as_they_are(parameters: Parameters) -> Parameters:
    return parameters


def _first_to_last(parameters: Parameters) -> tuple[int | None, int | None]:
    return 0, None


def _not_split(parameters: Parameters, blocks: Sequence[SampleBlock], job: LaunchContext) -> Absent:
    return Absent("only pattern=one_way times both sides of a message")


@dataclass(frozen=True)
class Experiment:
    """An experiment. What most of them share is a default.

    name            as in [[cells]] of a campaign, in the record, and in results.json
    patterns        values of its parameter `pattern`; the first stands where a record states none
    counted         metrics that are counted: no pattern derives them from blocks
    roles           of its parameters, for records without an engine that describes them
    seconds         (parameters, ranks) -> what one cell takes in one launch, roughly, seconds
    across_s        (parameters, ranks, nodes) -> what it takes more with its ranks on several nodes, seconds
    recorded_bytes  (parameters, ranks) -> what one cell writes in one launch, at most, bytes
    shown           parameters as results.json gives them
    ends            the ranks that send and receive; None: the last one
    split           whom a message holds while it is under way, by phase, or why that is not known
    observer        what counts disturbed repetitions of its cells; None: nothing does
    synchronisation the part of a block that times the synchronisation alone; None: no part does
    study           its own section of results.json
    views           names of its sections of the report (report/studies.py)
    timelines       pattern -> name of the timeline that a trace of it shows (report/trace/read.py)
    brief           effort of a short measurement next to another one
    side_effects    where a remedy might do harm
    compared        metrics by which slowpath compare compares two runs; (): the first one in seconds
    """

    name: str
    patterns: tuple[Pattern, ...] = ()
    counted: tuple[Metric, ...] = ()
    roles: Roles = field(default_factory=dict)
    seconds: Callable[[Parameters, int], float] = _unknown_seconds
    across_s: Callable[[Parameters, int, int], float] = _nothing_more
    recorded_bytes: Callable[[Parameters, int], int] = recorded_bytes
    shown: Callable[[Parameters], Parameters] = _as_they_are
    ends: Callable[[Parameters], tuple[int | None, int | None]] = _first_to_last
    split: Callable[[Parameters, Sequence[SampleBlock], LaunchContext], Mapping[str, Split] | Absent] = _not_split
    observer: Callable[[], Observer] | None = None
    synchronisation: int | None = None
    study: Study | None = None
    views: tuple[str, ...] = ()
    timelines: Mapping[str, str] = field(default_factory=dict)
    brief: Mapping[str, str] = field(default_factory=dict)
    side_effects: tuple[SideEffect, ...] = ()
    compared: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All that blocks are made into, pattern by pattern, each once."""
        return tuple(dict.fromkeys(metric for pattern in self.patterns for metric in pattern.metrics))

    def derive(self, parameters: Parameters, blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
        """All metrics of one cell in one launch.

        Args:    parameters: the engine's, as in plan.txt.  blocks: of that cell and launch, all ranks.
                 job: of that launch.
        Returns: metric name -> phase -> Series, or Absent with its reason.
        Raises:  RecordError: an experiment or a pattern that this version does not know.
        """
        default = self.patterns[0].name if self.patterns else ""
        name = parameters.get("pattern", default)
        pattern = next((pattern for pattern in self.patterns if pattern.name == name), None)
        if pattern is None:
            raise unreadable("the record", f"unknown {self.name} {name}", "use the slowpath that wrote it")
        return pattern.derive(parameters, blocks, job)

    def side_effect(self, axis: str) -> SideEffect | None:
        """Where a remedy that changes `axis` might do harm; None: nothing is known."""
        return next((effect for effect in self.side_effects if axis in effect.axes), None)
