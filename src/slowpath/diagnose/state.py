# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis knows when it chooses its next step, and what it may choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from slowpath.core.campaign import Campaign
from slowpath.core.engine_description import CheckCells, nothing_checked
from slowpath.core.machine import Others
from slowpath.core.plan import Size
from slowpath.core.results import Finding, Results
from slowpath.diagnose.asked import Asked
from slowpath.diagnose.program import ProgramUse
from slowpath.diagnose.ranks.job import A_PAIR, PAIR, Job
from slowpath.diagnose.ranks.survey import Estimate
from slowpath.diagnose.records import DiagnosisStep
from slowpath.diagnose.tasks import StateTask, SurveyTask, Task
from slowpath.findings.slow_path import Remedy
from slowpath.findings.witness import control_variables
from slowpath.mpi.own_settings import OwnSetting, removable
from slowpath.mpi.settings import Forced, SwitchVariable, forced_states, switches_of
from slowpath.slowpaths.placement.load import is_loaded
from slowpath.slowpaths.registry import remedies_for

EVERYTHING = Asked()
T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class LibraryFacts:
    """The MPI of the diagnosis, as the tables know it."""

    name: str
    version: str | None
    transport: str | None = None

    @property
    def switches(self) -> tuple[SwitchVariable, ...]:
        """Its variables that move a protocol switch."""
        return switches_of(self.name, self.version, self.transport)

    def remedies(self, rule: str, axis: str | None) -> tuple[Remedy, ...]:
        """Those of the table for a rule.  Args: axis: in which the finding's sides differ; None: on no contrast."""
        return remedies_for(rule, axis, self.name, self.version, self.transport)

    def forced(self, environ: Mapping[str, str]) -> list[Forced]:
        """The user's own variables that force a slow state of it."""
        return forced_states(environ, self.name, self.version, self.transport)


@dataclass(frozen=True)
class MeasuredStep:
    """A step that is over, with the results of its run."""

    step: DiagnosisStep
    results: Results


def survey_of(measured: Sequence[MeasuredStep]) -> MeasuredStep:
    """The survey; the first step where there is none.  Raises: IndexError: nothing was measured yet."""
    return next((one for one in measured if isinstance(one.step.task, SurveyTask)), measured[0])


def settings_of(measured: Sequence[MeasuredStep]) -> Sequence[OwnSetting]:
    """The user's settings as the first step that looked at them recorded them."""
    tasks = (one.step.task for one in measured)
    return next((task.settings for task in tasks if isinstance(task, StateTask | SurveyTask)), ())


@dataclass(frozen=True)
class NodeProcessors:
    """Of this node, as `0-2,5`. inherited: by launches.  granted: by the kernel to whoever asks for all."""

    inherited: str
    granted: str

    @property
    def is_narrowed(self) -> bool:
        """Whether launches could have more."""
        return self.inherited != self.granted


@dataclass(frozen=True)
class Proposal:
    """One run to make."""

    task: Task
    campaign: Campaign
    why: str


@dataclass(frozen=True)
class State:
    """All that a proposal may rest on. measured: the survey first.  environ: the user's.  gpus: that both ranks can
    take.  check: the engine as the judge of cells.  asked: what is to be looked into; all findings, where nothing was
    asked for.  cores: that ranks can have here; None: not known.  settings: the user's own, as they are now.

    ranks: of steps whose cells state none.  job: the ranks that it was begun for.  experiments: of the engine, with all
    of their patterns.  estimate: seconds that a campaign takes; None: not known.  size: and its cells; None: not known.
    budget_s: of the diagnosis.  left_s: for launches, now.
    preload: libslowpath-coll.so of this engine; None: it has none.  program: that it is for; None: none in particular.
    processors: of this node; None: not looked at.  others: what other processes take of them; None: likewise.
    is_witnessed: whether launches can be witnessed with this engine.
    listed: control variables that the library lists; its result None: it can't be asked.
    """

    findings: Sequence[Finding]
    measured: Sequence[MeasuredStep]
    library: LibraryFacts
    environ: Mapping[str, str]
    gpus: int = 0
    ranks: int = PAIR
    check: CheckCells = nothing_checked
    asked: Asked = EVERYTHING
    cores: int | None = None
    settings: Sequence[OwnSetting] = ()
    job: Job = A_PAIR
    experiments: frozenset[str] = frozenset()
    estimate: Estimate | None = None
    size: Callable[[Campaign], Size] | None = None
    budget_s: float = math.inf
    left_s: float = math.inf
    preload: Path | None = None
    processors: NodeProcessors | None = None
    program: ProgramUse | None = None
    others: Others | None = None
    is_witnessed: bool = False
    listed: Callable[[], frozenset[str] | None] | None = None

    @property
    def removable(self) -> tuple[OwnSetting, ...]:
        """The user's settings that the first step took away."""
        return removable(settings_of(self.measured) or self.settings)

    @property
    def is_surveyed(self) -> bool:
        """Whether the survey is over."""
        return bool(self.measured) and not isinstance(survey_of(self.measured).step.task, StateTask)

    @property
    def is_loaded(self) -> bool:
        """Whether others leave less than a core for each rank."""
        return self.others is not None and is_loaded(self.others, self.job.timed_ranks)

    def less(self, names: Collection[str]) -> State:
        """The same where the user had not set these variables."""
        environ = {name: value for name, value in self.environ.items() if name not in names}
        return replace(
            self, environ=environ, settings=[one for one in self.settings if one.file or one.name not in names]
        )

    @property
    def survey(self) -> Results:
        """Results of the survey; of the first step where there is none.  Raises: IndexError: nothing was measured."""
        return survey_of(self.measured).results

    def seen_in(self, finding: Finding) -> Results:
        """Results of the run in which the finding was observed."""
        return self.results_of_step.get(finding.run or "", self.survey)

    @property
    def for_what_was_asked(self) -> State:
        """The same with those findings alone that were asked for."""
        wanted = [finding for finding in self.findings if self.asked.wants(finding, self.seen_in(finding))]
        return replace(self, findings=wanted)

    @cached_property
    def results_of_step(self) -> Mapping[str, Results]:
        """By the folder of a step."""
        return {one.step.folder: one.results for one in self.measured}

    def tasks(self, kind: type[T]) -> list[T]:
        """Tasks of the steps of a kind, in the order in which they were made."""
        return [one.step.task for one in self.measured if isinstance(one.step.task, kind)]

    @cached_property
    def control_variables(self) -> Mapping[str, float]:
        """Positive numbers among MPI_T's control variables, name -> value, of the last run that read any."""
        for one in reversed(self.measured):
            if found := control_variables(one.results.run):
                return {c.name: c.number for c in found if c.number is not None and c.number > 0}
        return {}
