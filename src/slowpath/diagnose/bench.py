# SPDX-License-Identifier: Apache-2.0
"""Where a diagnosis measures: campaigns become runs in folders, and their results are read back."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from slowpath.analyse.build import build_results
from slowpath.analyse.reference import NONE, HealthyRuns
from slowpath.core.campaign import Campaign
from slowpath.core.engine_description import CheckCells
from slowpath.core.errors import UsageError, sets_code
from slowpath.core.machine import Others
from slowpath.core.plan import AS_ESTIMATED, Pace, Size
from slowpath.core.results import Finding, Results
from slowpath.diagnose.ranks import A_PAIR, Job, survey_s
from slowpath.diagnose.state import EVERYTHING, Asked, LibraryFacts, MeasuredStep, State
from slowpath.diagnose.tasks import ProgramUse
from slowpath.diagnose.tune.files import PRELOAD, preload_beside
from slowpath.mpi.mpi import listed_by, settings_of
from slowpath.report.write import write_all
from slowpath.run.measure import create, measure, resume
from slowpath.run.prepare import Library as Built
from slowpath.run.prepare import PreparedRun, checker_of, estimated_size, judge_ahead, prepare_campaign, unavailable
from slowpath.run.progress import Progress
from slowpath.run.reopen import Terms, choosing_code, require_machine_of
from slowpath.run.schedule import Against, Paces, Patience, RunLimits


@dataclass(frozen=True)
class Bench:
    """What does not change during a diagnosis: the MPI and its engine, the user's variables, GPUs, how to report.

    description: of the engine, as it describes itself.  cores: that ranks can have here.  tell: one line for the user.
    command: how to run it again.  trust: what a resumed folder would choose to start is fine.  job: the ranks that the
    diagnosis is about.  budget_s: of it.  launch_s: start and end of a job of two ranks here; None: not timed.
    others: what other processes took of the processors before anything was launched; None: not looked at.
    program: that the diagnosis is for; None: none in particular.  pace: of launches that are over, or as expected.
    healthy: runs to compare with.
    """

    built: Built
    description: Mapping[str, Any]
    environ: Mapping[str, str]
    gpus: int
    cores: int | None
    tell: Callable[[str], None]
    progress: Callable[[], Progress]
    cell_timeout_s: float
    command: list[str]
    trust: bool = False
    job: Job = A_PAIR
    budget_s: float = math.inf
    launch_s: float | None = None
    others: Others | None = None
    program: ProgramUse | None = None
    pace: Pace = AS_ESTIMATED
    healthy: HealthyRuns = NONE

    @property
    def library(self) -> LibraryFacts:
        """As the tables know it."""
        mpi = self.built.mpi
        return LibraryFacts(mpi.name, mpi.version, mpi.transport)

    @property
    def preload(self) -> Path | None:
        """libslowpath-coll.so of the engine; None: it has none."""
        return preload_beside(self.built.engine.program)

    @property
    def check(self) -> CheckCells:
        """The engine as the judge of cells."""
        return checker_of(self.built, self.environ)

    def state(self, findings: Sequence[Finding], measured: Sequence[MeasuredStep], asked: Asked = EVERYTHING) -> State:
        """What is known here after these steps."""
        return State(
            findings,
            measured,
            self.library,
            self.environ,
            self.gpus,
            check=self.check,
            asked=asked,
            program=self.program,
            cores=self.cores,
            settings=settings_of(self.built.mpi, self.environ, self.gpus > 0),
            job=self.job,
            experiments=known_patterns(self.description),
            estimate=self.estimate,
            size=self.size,
            budget_s=self.budget_s,
            preload=self.preload,
            others=self.others,
            listed=self.listed,
            is_witnessed=unavailable(self.built.engine.program) is None,
            healthy=self.healthy,
        )

    def listed(self) -> frozenset[str] | None:
        """Control variables that the library lists; None: it can't be asked."""
        return listed_by(self.built.mpi, self.environ)

    def estimate(self, campaign: Campaign) -> float:
        """Seconds that a campaign would take, by its plan alone.  Raises: UsageError."""
        return self.size(campaign).wall_s

    def size(self, campaign: Campaign) -> Size:
        """Seconds and cells of a campaign, by its plan alone.  Raises: UsageError."""
        return estimated_size(campaign, self.built, self.description, self.job.nodes, self.launch_s, self.pace)

    def paced_by(self, runs: Iterable[Path]) -> Bench:
        """The same, with campaigns estimated by how long the launches of these runs took, if any is over."""
        paces = self._paces(runs)
        return self if paces.is_empty else replace(self, pace=paces.pace(self.job.ranks))

    def ratio_of(self, run: Path) -> float | None:
        """Wall time of a run's launches over the estimated, as most took it; None: too few are over."""
        return self._paces([run]).ratio(self.job.ranks)

    def _paces(self, runs: Iterable[Path]) -> Paces:
        paces = Paces(self.launch_s)
        for run in runs:
            paces.add(run, self.job.ranks, self.job.nodes)
        return paces

    def judge_ahead(self, campaigns: Sequence[Campaign]) -> None:
        """Ask the engine about the cells of all of them at once: it takes as long to start as to judge them."""
        judge_ahead(campaigns, self.built, self.description, self.environ)

    def prepare(self, campaign: Campaign, kind: str) -> PreparedRun:
        """A campaign as it would run here.

        What a resumed diagnosis proposes follows from its folder: variables that choose what is run are refused there.

        Args: kind: of the step, for messages.  Raises: UsageError: this engine can't measure it.
        """
        named = msgspec.structs.replace(campaign, source=f"{kind} campaign", text=None)
        prepared = prepare_campaign(named, self.built, self.description, self.environ)
        settings = [] if self.trust else choosing_code(prepared.plan.environments, {})
        settings = [setting for setting in settings if setting.name != PRELOAD or setting.value != str(self.preload)]
        if settings:
            raise UsageError(sets_code(f"{kind} campaign", settings[0].words))
        return replace(prepared, launch_s=self.launch_s, pace=self.pace)

    def less(self, names: Collection[str]) -> Bench:
        """The same where the user had not set these variables."""
        return replace(self, environ={name: value for name, value in self.environ.items() if name not in names})

    def create(self, prepared: PreparedRun, folder: Path, others: Others | None = None) -> None:
        """The run's folder, with its plan.  Args: others: seen just before.  Raises: EnvironmentFailure."""
        create(prepared, folder, self.command, others)

    def measure(
        self,
        prepared: PreparedRun,
        folder: Path,
        budget_s: float | None,
        against: Against | None = None,
        is_survey: bool = False,
    ) -> None:
        """Launch it.

        Args: is_survey: all cells are to have the rounds that a conclusion needs within the survey's share of the
              budget, but for those that take many times as long as estimated (`RunLimits.fair_s`).
        Raises: Interrupted, EnvironmentFailure; what was measured is kept.
        """
        limits = self._limits(budget_s, against)
        if is_survey:
            share_s = survey_s(self.budget_s, self.job.ranks)
            limits = replace(limits, fair_s=share_s if budget_s is None else min(budget_s, share_s))
        measure(folder, prepared.plan, prepared.commands, limits, self.progress())

    def _limits(self, budget_s: float | None, against: Against | None) -> RunLimits:
        """Of a step.  Whoever waits for the end of a budget does not wait a minute for a launch of half a second."""
        patience = Patience(self.launch_s)
        return RunLimits(self.cell_timeout_s, budget_s, against, patience=patience)

    def resume(self, folder: Path, budget_s: float | None = None, against: Against | None = None) -> None:
        """Launch what is left of a run that was cut off.  Raises: as `measure`."""
        terms = Terms(str(self.built.mpi.mpiexec), self.trust)
        resume(folder, self.environ, self.tell, self._limits(budget_s, against), self.progress, terms)

    def require_machine_of(self, folder: Path) -> None:
        """Raises: EnvironmentFailure: a run was made on another machine, whose times must not stand with new ones."""
        require_machine_of(folder, self.environ, self.tell, "resume there, or begin a new diagnosis")

    def results(self, folder: Path) -> Results:
        """What is concluded from a run; its report is written next to the record.  Raises: RecordError."""
        results = build_results(folder, self.healthy)
        write_all(folder, results)
        return results


def known_patterns(description: Mapping[str, Any]) -> frozenset[str]:
    """`coll counted` and so on: experiments of the engine with each of their patterns."""
    return frozenset(
        f"{experiment['name']} {pattern}"
        for experiment in description["experiments"]
        for parameter in experiment["parameters"]
        if parameter["name"] == "pattern"
        for pattern in parameter["choices"] or ()
    )
