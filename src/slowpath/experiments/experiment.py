# SPDX-License-Identifier: Apache-2.0
"""One experiment: everything that Python has to know of it, in one object. The engine describes the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slowpath.core.cell_results import CellResult
from slowpath.core.errors import RecordError
from slowpath.core.plan import Plan
from slowpath.core.result import Result
from slowpath.core.results import ContrastResult, Line, SkippedRow
from slowpath.core.roles import Roles
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.measurements import Measurements, Observer
from slowpath.experiments.measured.recorded import recorded_bytes
from slowpath.experiments.measured.series import Absent, Derived, SampleBlock
from slowpath.experiments.metric import Metric
from slowpath.experiments.p2p.who_pays import Split

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
        found = next((pattern for pattern in self.patterns if pattern.name == name), None)
        if found is None:
            raise RecordError(
                f"the record's experiment '{self.name}' with pattern '{name}' is unknown to this slowpath; read it "
                "with the slowpath that wrote it"
            )
        return found.derive(parameters, blocks, job)

    def side_effect(self, axis: str) -> SideEffect | None:
        """Where a remedy that changes `axis` might do harm; None: nothing is known."""
        return next((effect for effect in self.side_effects if axis in effect.axes), None)
