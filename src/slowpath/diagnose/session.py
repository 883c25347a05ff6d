# SPDX-License-Identifier: Apache-2.0
"""A diagnosis from its first question to its last file: the shell around `propose` and `conclude`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from slowpath.analyse.build import build_results
from slowpath.core.errors import EnvironmentFailure, Interrupted, RecordError, UsageError
from slowpath.core.version import __version__
from slowpath.diagnose.conclude import Measured, advance
from slowpath.diagnose.known import Known, Library, Proposal
from slowpath.diagnose.propose import proposals
from slowpath.diagnose.records import SCHEMA, Diagnosis, Step, read_diagnosis, write_diagnosis
from slowpath.diagnose.said import said
from slowpath.diagnose.survey import survey_text
from slowpath.diagnose.together_judge import outcome_of, words
from slowpath.findings.gather.control_variables import control_variables
from slowpath.mpi.forced import Forced, forced_states
from slowpath.report import write_all
from slowpath.run.execute import RunLimits
from slowpath.run.libraries import Library as Built
from slowpath.run.measure import create, measure_prepared, measured_s, new_folder
from slowpath.run.measure import resume as resume_run
from slowpath.run.prepare import Prepared, prepare_text, shipped_text
from slowpath.run.progress import Progress

Tell = Callable[[str], None]
RANKS = 2


@dataclass(frozen=True)
class Setup:
    """What does not change during a diagnosis."""

    built: Built
    description: dict[str, Any]
    environ: Mapping[str, str]
    gpus: int
    tell: Tell
    progress: Callable[[], Progress]
    cell_timeout_s: float
    command: list[str]

    @property
    def library(self) -> Library:
        """As the tables know it."""
        mpi = self.built.mpi
        return Library(mpi.name, mpi.version, mpi.transport)

    @property
    def forced(self) -> list[Forced]:
        """The user's own variables that force a slow state."""
        mpi = self.built.mpi
        return forced_states(self.environ, mpi.name, mpi.version, mpi.transport)


class Session:
    """One diagnosis in its folder."""

    def __init__(self, folder: Path, setup: Setup, diagnosis: Diagnosis) -> None:
        self._folder, self._setup, self._diagnosis = folder, setup, diagnosis
        self._measured: list[Measured] = []
        self._scale = 1.0  # measured over estimated wall time
        self._refused: set[str] = set()  # proposals that this engine can't measure

    @property
    def folder(self) -> Path:
        """Where all of it lies."""
        return self._folder

    @property
    def diagnosis(self) -> Diagnosis:
        """As it stands."""
        return self._diagnosis

    def load(self) -> None:
        """Take in the steps that were made before; one that was cut off is gone on with."""
        for step in self._diagnosis.steps:
            folder = self._folder / step.folder
            if step.wall_s is None:
                self._finish(step, folder, resumed=True)
            else:
                self._measured.append((step, build_results(folder)))

    def run(self) -> Diagnosis:
        """Go on until all is settled or the budget is out.

        Raises: Interrupted: after Ctrl-C; everything is kept.  EnvironmentFailure: the machine refuses.
        """
        try:
            if not self._diagnosis.steps:
                self._step(session_text(self._setup))
            while (proposal := self._next()) is not None:
                self._step(proposal)
        except Interrupted:
            self._write(status="interrupted")
            raise Interrupted(f"stopped; go on with: slowpath diagnose --resume {self._folder}") from None
        name_only = self._diagnosis.name_only
        asked, left = self._left(name_only), self._left()
        status = "budget" if asked else "named" if name_only and left else "settled"
        self._write(status=status, next=left, finished=_now())
        return self._diagnosis

    def _left(self, name_only: bool = False) -> list[str]:
        """What would still be measured, were there time."""
        proposed = dict.fromkeys(one.why for one in proposals(self._known(), name_only))
        return [why for why in proposed if why not in self._refused]

    def _known(self) -> Known:
        results = self._measured[0][1]
        others = {step.folder: found for step, found in self._measured[1:]}
        return Known(
            self._diagnosis.findings,
            self._diagnosis.steps,
            results,
            self._setup.library,
            self._setup.environ,
            RANKS,
            limits_told(self._measured),
            others,
        )

    def _next(self) -> Proposal | None:
        """The most valuable run that fits what is left of the budget."""
        left_s = self._diagnosis.budget_s - self._diagnosis.spent_s
        for proposal in proposals(self._known(), self._diagnosis.name_only):
            try:
                prepared = self._prepare(proposal.campaign.text, f"{proposal.kind} campaign")
            except UsageError as error:
                if proposal.why not in self._refused:
                    self._setup.tell(f"left out: {proposal.why}: {error}")
                self._refused.add(proposal.why)
                continue
            if self._cost_s(prepared) <= left_s:
                return proposal
        return None

    def _cost_s(self, prepared: Prepared) -> float:
        return prepared.cost.wall_s * self._scale

    def _prepare(self, text: str, source: str) -> Prepared:
        setup = self._setup
        return prepare_text(text, source, setup.built, setup.description, setup.environ)

    def _step(self, proposal: Proposal | str) -> None:
        """Measure one campaign into its folder and conclude from it."""
        survey = isinstance(proposal, str)
        kind = "survey" if isinstance(proposal, str) else proposal.kind
        text = proposal if isinstance(proposal, str) else proposal.campaign.text
        why = "where may a slow path be?" if isinstance(proposal, str) else proposal.why
        prepared = self._prepare(text, f"{kind} campaign")
        number = len(self._diagnosis.steps) + 1
        step = Step(
            number=number,
            kind=kind,
            folder=f"{number:02d}-{kind}",
            why=why,
            estimate_s=self._cost_s(prepared),
            about={} if isinstance(proposal, str) else proposal.about,
        )
        self._setup.tell(f"{step.folder}: {why}")
        run = create(prepared, self._folder / step.folder, self._setup.command)
        self._write(steps=[*self._diagnosis.steps, step])
        limits = RunLimits(self._setup.cell_timeout_s, self._diagnosis.budget_s if survey else None)
        begun = time.monotonic()
        try:
            measure_prepared(run, prepared, limits, self._setup.progress())
        except Interrupted:
            self._write(spent_s=self._diagnosis.spent_s + time.monotonic() - begun)
            raise
        except EnvironmentFailure as error:
            if survey:
                raise
            self._setup.tell(f"{step.folder}: {error}")
        self._finish(step, run)

    def _finish(self, step: Step, run: Path, resumed: bool = False) -> None:
        if resumed:
            limits = RunLimits(self._setup.cell_timeout_s)
            resume_run(run, self._setup.environ, self._setup.tell, limits, self._setup.progress())
        wall_s = measured_s(run)
        if step.estimate_s > 0 and step.kind == "survey":
            self._scale = max(0.2, wall_s / step.estimate_s)
        results = build_results(run)
        write_all(run, results)
        self._measured.append((step, results))
        before = self._diagnosis.findings
        forced = [vars_of(one) for one in self._setup.forced]
        findings = advance(self._diagnosis.findings, self._measured, forced)
        together = outcome_of(self._measured)
        told = words(together) if together and step.kind == "together" else said(step, before, findings)
        done = msgspec.structs.replace(step, wall_s=wall_s, said=told)
        steps = [done if one.number == step.number else one for one in self._diagnosis.steps]
        self._setup.tell(f"{step.folder}: {done.said}")
        spent = sum(one.wall_s or 0.0 for one in steps)
        self._write(steps=steps, findings=findings, spent_s=spent, forced=forced, together=together)

    def _write(self, **changed: Any) -> None:
        self._diagnosis = msgspec.structs.replace(self._diagnosis, **changed)
        write_diagnosis(self._folder, self._diagnosis)


def vars_of(forced: Forced) -> dict[str, str]:
    """As diagnosis.json has it."""
    return {"state": forced.state, "name": forced.name, "value": forced.value}


def limits_told(measured: Sequence[Measured]) -> dict[str, float]:
    """Numbers among MPI_T's control variables, name -> value, of the last run that has any; {} where none has."""
    for _, results in reversed(measured):
        found = {one.name: one.number for one in control_variables(results)}
        if found:
            return {name: number for name, number in found.items() if number is not None and number > 0}
    return {}


def begin(setup: Setup, budget_s: float, out: Path | None, name_only: bool = False) -> Session:
    """A new diagnosis in a folder of its own.  Raises: EnvironmentFailure: the folder is taken."""
    folder = new_folder("diagnosis", out)
    diagnosis = Diagnosis(
        schema=SCHEMA,
        slowpath=__version__,
        command=setup.command,
        started=_now(),
        budget_s=budget_s,
        mpi=setup.built.identity,
        name_only=name_only,
    )
    write_diagnosis(folder, diagnosis)
    return Session(folder, setup, diagnosis)


def resume(folder: Path, setup: Setup, budget_s: float | None, name_only: bool = False) -> Session:
    """A diagnosis that was cut off, or gets more time, or is to prove what was only named.

    Raises: RecordError: the folder holds none, or one under another MPI.
    """
    diagnosis = read_diagnosis(folder)
    if diagnosis.mpi != setup.built.identity:
        raise RecordError(f"{folder}: was made under {diagnosis.mpi}, not under {setup.built.identity}; name that MPI")
    diagnosis = msgspec.structs.replace(diagnosis, status="running", budget_s=budget_s or diagnosis.budget_s)
    diagnosis = msgspec.structs.replace(diagnosis, name_only=name_only)
    session = Session(folder, setup, diagnosis)
    session.load()
    return session


def dry_run(setup: Setup) -> list[str]:
    """What the survey would do, and how the rest is decided."""
    session = Session(Path("."), setup, Diagnosis(SCHEMA, __version__, [], "", 0.0, None))
    prepared = session._prepare(session_text(setup), "survey campaign")
    cost = prepared.cost
    cells = sum(cell.skip is None for cell in prepared.plan.cells)
    lines = [
        f"survey: {cells} cells, {prepared.plan.rounds} rounds, {cost.launches} launches, about {cost.wall_s:.0f} s"
    ]
    lines += [f"your environment: {one.name}={one.value} ({one.state.replace('_', ' ')})" for one in setup.forced]
    return [*lines, "then, by what the survey shows: limits refined, points that separate laws, trials of remedies"]


def session_text(setup: Setup) -> str:
    """The survey's text for this machine."""
    return survey_text(shipped_text("survey"), setup.forced, setup.gpus)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
