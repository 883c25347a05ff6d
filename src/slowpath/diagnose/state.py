# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis knows so far, and what it was asked for. Pure."""

from __future__ import annotations

import dataclasses
import difflib
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from slowpath.analyse.reference import NONE, HealthyRuns
from slowpath.core.campaign import Campaign
from slowpath.core.engine_description import CheckCells, nothing_checked
from slowpath.core.errors import UsageError
from slowpath.core.machine import Others
from slowpath.core.plan import Size
from slowpath.core.results import Finding, Results
from slowpath.diagnose.ranks import A_PAIR, PAIR, Estimate, Job
from slowpath.diagnose.tasks import DiagnosisStep, ProgramUse, StateTask, SurveyTask, Task
from slowpath.findings.slow_path import Remedy
from slowpath.findings.witness import control_variables
from slowpath.mpi.own_settings import OwnSetting, removable
from slowpath.mpi.settings import SwitchVariable, switches_of
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS, SLOW_PATHS, remedies_for
from slowpath.slowpaths.sp048_load import is_loaded

# What a diagnosis was asked for (`--only`): rules and questions, and which cells of the survey can show them.

# Groups of the survey's cells in which a slow path can be seen. One that is not here takes the whole survey.
GROUPS: Mapping[str, tuple[str, ...]] = {path.code: path.probes for path in SLOW_PATHS if path.probes}
MOST_CLOSE = 3  # names that a word may have meant
MOST_OF_WORD = 40  # characters of a word that is shown
_CONTROL = "control"  # the survey's A/A control: without it nothing warns of a disturbed machine


@dataclass(frozen=True)
class Asked:
    """Codes of rules and names of the survey's contrasts; both empty: everything."""

    rules: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.rules or self.questions)

    @property
    def words(self) -> list[str]:
        """As `asked_for` takes them."""
        return [*sorted(self.rules), *sorted(self.questions)]

    def wants(self, finding: Finding, seen_in: Results) -> bool:
        """Whether the finding, one that is folded into it or a contrast under it was asked for.

        Args: seen_in: results of the run in which it was observed.
        """
        if not self or finding.rule in self.rules:
            return True
        if any(merged.partition(":")[0] in self.rules for merged in finding.merged):
            return True
        return any(
            contrast.group in self.questions for contrast in seen_in.contrasts if contrast.id in finding.contrasts
        )

    def groups(self, survey: Campaign) -> set[str]:
        """Groups of the survey's cells that can show it, and the A/A control."""
        there = {group.name for group in survey.cells}
        if not self or any(rule not in GROUPS for rule in self.rules):
            return there
        kept = {group for rule in self.rules for group in GROUPS[rule]}
        kept |= {group for name, group in _questions(survey).items() if name in self.questions}
        return there & {_CONTROL, *kept}

    def narrowed(self, survey: Campaign) -> Campaign:
        """The survey with these groups alone."""
        return with_groups_alone(survey, self.groups(survey)) if self else survey


def with_groups_alone(survey: Campaign, kept: Collection[str]) -> Campaign:
    """The survey with these groups of cells, and the A/A control."""
    kept = {_CONTROL, *kept}
    return replace(
        survey,
        cells=[group for group in survey.cells if group.name in kept],
        contrasts=[contrast for contrast in survey.contrasts if contrast.cells in kept],
    )


def asked_for(words: Sequence[str], survey: Campaign) -> Asked:
    """What `--only` means.

    Args: words: codes or names of rules, names of the survey's contrasts.  survey: that of this machine.
    Raises: UsageError: a word is neither, or nothing of this machine's survey can show it.
    """
    questions = _questions(survey)
    rules, named = set[str](), set[str]()
    for word in words:
        wanted = word.strip().lower()
        codes = {
            slow_path.code
            for slow_path in SLOW_PATHS
            if wanted == slow_path.name.lower()
            or wanted.removeprefix("sp").zfill(3) == slow_path.code.removeprefix("SP")
        }
        same = {name for name in questions if name.lower() == wanted}
        if not codes and not same:
            known = [
                *(slow_path.code for slow_path in SLOW_PATHS),
                *(slow_path.name for slow_path in SLOW_PATHS),
                *questions,
            ]
            said = word if len(word) <= MOST_OF_WORD else f"{word[:MOST_OF_WORD]}..."
            raise UsageError(
                f"--only '{said}': is no slow path and no question{_close(wanted, known)}; see slowpath explain"
            )
        rules |= codes
        named |= same
    if of_programs := sorted(rules & {path.code for path in PROGRAM_SLOW_PATHS}):
        raise UsageError(f"--only {of_programs[0]}: use slowpath watch, which sees it in programs")
    there = {group.name for group in survey.cells}
    for code in sorted(rules):
        if not named and not there & set(GROUPS.get(code, there)):
            raise UsageError(f"--only {code}: needs {' or '.join(GROUPS[code])}: more ranks (--ranks), or a GPU")
    return Asked(frozenset(rules), frozenset(named))


def _close(word: str, known: Sequence[str]) -> str:
    """`; close: page kind, short pages`: a few names that are spelt nearly so or hold the word, or none."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word, by_lower, n=MOST_CLOSE, cutoff=0.6)
    near += [name for name in by_lower if word and word in name]
    close = list(dict.fromkeys(by_lower[name] for name in near))[:MOST_CLOSE]
    return f"; close: {', '.join(close)}" if close else ""


def _questions(survey: Campaign) -> dict[str, str]:
    """Names of contrasts -> their group of cells, the A/A control left out."""
    return {contrast.name: contrast.cells for contrast in survey.contrasts if not contrast.control}


# How much of a diagnosis' budget is left: the time that the user waits, once an engine is there.

_REPORT_S = 2.0  # to write the pages at the end
EACH_S = 0.006  # a cell: to conclude from it, before a step has shown how long that takes here
_FEWEST_CELLS = 50  # of a step that shows what a cell takes: of fewer it is all overhead


@dataclass
class BudgetClock:
    """begun_s: when the user began to wait, by `now`, or with the default budget when the engine was there.

    before_s: that earlier commands took for the same diagnosis.  each_s, more_s: a conclusion takes so long for each
    cell, and besides.  most_cells: of a step that was concluded from.
    """

    begun_s: float
    before_s: float = 0.0
    each_s: float = EACH_S
    more_s: float = 0.0
    most_cells: int = 0
    now: Callable[[], float] = field(default=time.monotonic)

    @property
    def spent_s(self) -> float:
        """In all, seconds."""
        return self.before_s + self.now() - self.begun_s

    def left_s(self, budget_s: float, spent_s: float, cells: int) -> float:
        """For launches, seconds: what comes after them is kept back.

        Args: spent_s: as it was measured step by step; the larger one counts.  cells: of the step.
        """
        return budget_s - max(self.spent_s, spent_s) - _REPORT_S - self.more_s - self.each_s * cells

    def concluded(self, begun_s: float, cells: int) -> None:
        """A conclusion from a step with so many cells is over that began at `begun_s`."""
        took_s = self.now() - begun_s
        if cells > max(self.most_cells, _FEWEST_CELLS):
            self.each_s, self.most_cells = took_s / cells, cells
        else:
            self.more_s = max(self.more_s, took_s - self.each_s * cells)


# What a diagnosis knows when it chooses its next step, and what it may choose.

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


@dataclass(frozen=True)
class MeasuredStep:
    """A step that is over, with the results of its run."""

    step: DiagnosisStep
    results: Results


def survey_of(measured: Sequence[MeasuredStep]) -> MeasuredStep:
    """The survey; the first step where there is none.  Raises: IndexError: nothing was measured yet."""
    return next((done for done in measured if isinstance(done.step.task, SurveyTask)), measured[0])


def settings_of(measured: Sequence[MeasuredStep]) -> Sequence[OwnSetting]:
    """The user's settings as the first step that looked at them recorded them."""
    tasks = (done.step.task for done in measured)
    return next((task.settings for task in tasks if isinstance(task, StateTask | SurveyTask)), ())


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
    others: what other processes take of the processors of this node; None: not looked at.
    is_witnessed: whether launches can be witnessed with this engine.
    listed: control variables that the library lists; its result None: it can't be asked.
    healthy: runs to compare with.
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
    program: ProgramUse | None = None
    others: Others | None = None
    is_witnessed: bool = False
    listed: Callable[[], frozenset[str] | None] | None = None
    healthy: HealthyRuns = NONE

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
        return dataclasses.replace(
            self,
            environ=environ,
            settings=[setting for setting in self.settings if setting.file or setting.name not in names],
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
        return dataclasses.replace(self, findings=wanted)

    @cached_property
    def results_of_step(self) -> Mapping[str, Results]:
        """By the folder of a step."""
        return {done.step.folder: done.results for done in self.measured}

    def tasks(self, kind: type[T]) -> list[T]:
        """Tasks of the steps of a kind, in the order in which they were made."""
        return [done.step.task for done in self.measured if isinstance(done.step.task, kind)]

    @cached_property
    def control_variables(self) -> Mapping[str, float]:
        """Positive numbers among MPI_T's control variables, name -> value, of the last run that read any."""
        for done in reversed(self.measured):
            if variables := control_variables(done.results.run):
                return {c.name: c.number for c in variables if c.number is not None and c.number > 0}
        return {}
