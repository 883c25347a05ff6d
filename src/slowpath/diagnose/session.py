# SPDX-License-Identifier: Apache-2.0
"""A diagnosis from its start to its end: budget, steps, files."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from slowpath.analyse.build import build_results, run_facts
from slowpath.analyse.build import wrong_place as wrong_place_of
from slowpath.analyse.panel import panel_rows, without_reference
from slowpath.analyse.reference import items
from slowpath.core.errors import EnvironmentFailure, Interrupted, RecordError, UsageError
from slowpath.core.files import inside
from slowpath.core.guard import clean_words
from slowpath.core.machine import PlaceFault
from slowpath.core.results import Finding, Results, Verdict
from slowpath.core.version import __version__
from slowpath.diagnose.bench import Bench
from slowpath.diagnose.own_settings import first_by_cost, of_own_state, set_aside
from slowpath.diagnose.own_settings import lines as setting_lines
from slowpath.diagnose.ranks import PAIR, crowded_lines, survey_s
from slowpath.diagnose.state import EVERYTHING, Asked, BudgetClock, MeasuredStep, Proposal, State, asked_for, survey_of
from slowpath.diagnose.steps import alternatives
from slowpath.diagnose.steps.alternatives import screened
from slowpath.diagnose.steps.deviations import of_panel
from slowpath.diagnose.steps.kind import StepConclusion, StepKind
from slowpath.diagnose.steps.order import advance, kind_of, proposals
from slowpath.diagnose.steps.order import conclude as conclude_steps
from slowpath.diagnose.steps.settings import (
    WHY,
    path_campaign,
    paths_of,
    with_own_settings,
    without_effect,
)
from slowpath.diagnose.steps.survey import whole_survey
from slowpath.diagnose.steps.trial import cannot_help
from slowpath.diagnose.tasks import (
    SCHEMA,
    AlternativesTask,
    Diagnosis,
    DiagnosisStep,
    ProgramUse,
    StateTask,
    SurveyTask,
    Task,
    TrialTask,
    priced,
    program_line,
    read_diagnosis,
    with_groups,
    with_program,
    write_diagnosis,
)
from slowpath.diagnose.trials import FEWEST_PAIRS
from slowpath.findings.conclude import conclude, group_of
from slowpath.mpi.place import PlaceJob, faults
from slowpath.mpi.tuning import REPLACED_CALLS, read_replaced
from slowpath.record.folder import create_run_folder
from slowpath.run.machine import place_here
from slowpath.run.measure import measured_s
from slowpath.run.ownership import now, require_free
from slowpath.run.prepare import PreparedRun
from slowpath.run.reopen import launcher_again

# A diagnosis from its first step to its last: propose, measure, conclude, write, until nothing is left or fits.


def verdict_of(
    findings: Sequence[Finding],
    measured: Sequence[MeasuredStep],
    program: ProgramUse | None = None,
    pace: float | None = None,
) -> Verdict:
    """Headline and counts; its lines are those of the survey.

    Args: measured: the survey first.  program: that the diagnosis is for.  pace: of the survey's launches, as of
          RunFacts.
    """
    survey = survey_of(measured).results
    task = survey_of(measured).step.task
    only = task.only if isinstance(task, SurveyTask) else []
    # A diagnosis is asked for time, not for rounds; one that was asked for a slow path has it named, fault or not.
    facts = run_facts(survey)
    # Cells whose calls are counted have more ranks than there may be processors: that is our doing, and costs no time.
    ranks = task.ranks if isinstance(task, SurveyTask) else None
    wrong = tuple(with_program(program, wrong_place_of(survey.run, ranks, survey.cells)))
    left_out = survey_of(measured).step.launches_left_out
    run = dataclasses.replace(
        facts, rounds=0, round_s=None, is_check=not only, wrong_place=wrong, pace=pace, left_out=left_out
    )
    cells = {cell.cell: cell for cell in survey.cells}
    verdict = conclude(survey.contrasts, findings, run, cells=cells).verdict
    if not only or findings or wrong or verdict.state == "not measured":
        return verdict
    place = f" on {verdict.place}" if verdict.place else ""
    none = f"No slow path found{place} of: {', '.join(only)}."
    return replace(verdict, answer=none)


def replaced_words(run: Path) -> str | None:
    """`libslowpath-coll.so replaced 5,120 calls in 10 of 10 launches with a table`; None: no launch had one.

    Args: run: folder of a run.
    """
    reports = [path for launch in sorted((run / "launches").glob("*")) if (path := launch / REPLACED_CALLS).is_file()]
    if not reports:
        return None
    calls = [replaced.calls for path in reports if (replaced := read_replaced(path)) is not None]
    acted = sum(count > 0 for count in calls)
    return f"libslowpath-coll.so replaced {sum(calls):,} calls in {acted} of {len(reports)} launches"


_LEAST_OF_SURVEY = 0.5  # of what is left: without launches there is nothing to conclude from


class Session:
    """One diagnosis in its folder; `diagnosis` is as diagnosis.json has it."""

    def __init__(
        self,
        folder: Path,
        bench: Bench,
        diagnosis: Diagnosis,
        asked: Asked = EVERYTHING,
        clock: BudgetClock | None = None,
    ) -> None:
        """clock: None: the user waits from now on."""
        self.folder, self.diagnosis, self.asked = folder, diagnosis, asked
        self._bench = bench
        self._clock = clock or BudgetClock(time.monotonic(), diagnosis.spent_s)
        self._measured: list[MeasuredStep] = []
        self._survey_pace: float | None = None  # as of RunFacts; None: not looked at, or not known
        self._refused: set[str] = set()  # proposals that this engine can't measure

    def load(self) -> None:
        """Take in the steps that were made before and conclude from them; one that was cut off is continued.

        Raises: EnvironmentFailure: they were made on another machine.
        """
        for step in self.diagnosis.steps:
            self._bench.require_machine_of(self.folder / step.folder)
            if step.wall_s is not None:
                self._measured.append(MeasuredStep(step, build_results(inside(self.folder, step.folder))))
        self._conclude_anew()
        for done in list(self._measured):
            self._keep_pace(done.step)
        for step in self.diagnosis.steps:
            if step.wall_s is None:
                kind = kind_of(step.task)
                bench = self._bench_for(step.task)
                bench.resume(inside(self.folder, step.folder), kind.most_s, kind.against(step.task))
                self._conclude(step)

    def _conclude_anew(self) -> None:
        if not self._measured:
            return
        anew = self._conclusions(conclude_steps(self._measured, self._bench.healthy))
        self.diagnosis = replace(self.diagnosis, **anew)
        self.diagnosis = replace(self.diagnosis, not_tried=list(cannot_help(self._state().for_what_was_asked)))

    def _conclusions(self, after: StepConclusion) -> dict[str, Any]:
        """Fields of the diagnosis that follow from its steps."""
        findings = first_by_cost(self._priced(after.findings), self._measured)
        idle = without_effect(self._measured, findings, self._bench.library.name)
        state = dataclasses.replace(self._state(), findings=findings)
        verdict = verdict_of(self._asked_for(state), self._measured, self.diagnosis.program, self._pace_of_survey())
        panel = of_panel(self._measured, self._bench.healthy)
        return {
            "findings": findings,
            "verdict": with_own_settings(verdict, of_own_state(findings, self._measured), idle),
            "paths": [path.words for path in paths_of(self._measured)],
            "own_settings": setting_lines(self._measured, self._bench.library.name),
            "alternatives": screened(self._measured),
            "panel": panel_rows(panel),
            "no_reference": without_reference(items(survey_of(self._measured).results.cells), panel),
        }

    def _asked_for(self, state: State) -> Sequence[Finding]:
        """Findings of the verdict: where the survey asked for some alone, these and the user's own state."""
        task = survey_of(self._measured).step.task
        if not (isinstance(task, SurveyTask) and task.only):
            return state.findings
        wanted = {finding.id for finding in state.for_what_was_asked.findings}
        wanted |= {finding.id for finding in of_own_state(state.findings, self._measured)}
        return [finding for finding in state.findings if finding.id in wanted]

    def run(self) -> Diagnosis:
        """Go on until all is settled or the budget is spent.

        Raises: Interrupted: after Ctrl-C; everything is kept.  EnvironmentFailure: the machine refuses.
        """
        try:
            while (chosen := self._next()) is not None:
                self._take(*chosen)
        except Interrupted:
            self._write(status="interrupted")
            raise Interrupted(f"stopped; go on with: slowpath diagnose --resume {self.folder}") from None
        name_only = self.diagnosis.name_only
        unmeasured, left = self._left(name_only) or self.diagnosis.launches_left_out, self._left()
        status = "budget" if unmeasured else "named" if name_only and left else "settled"
        spent_s = max(self.diagnosis.spent_s, self._clock.spent_s)
        self._write(status=status, next=left, finished=now(), spent_s=spent_s)
        return self.diagnosis

    @property
    def results(self) -> list[Results]:
        """Of the steps that were measured, the survey first."""
        return [done.results for done in self._measured]

    def _next(self) -> tuple[Proposal, PreparedRun] | None:
        """The most valuable run that fits what is left of the budget; a required one however little is left."""
        for proposal in self._judged_ahead(proposals(self._state(), self.diagnosis.name_only)):
            required = kind_of(proposal.task).required
            try:
                prepared = self._bench_for(proposal.task).prepare(proposal.campaign, proposal.task.kind)
            except UsageError as error:
                if required:
                    raise
                if proposal.why not in self._refused:
                    self._bench.tell(f"left out: {proposal.why}: {error}")
                self._refused.add(proposal.why)
                continue
            is_over = self._measured and max(self._clock.spent_s, self.diagnosis.spent_s) >= self.diagnosis.budget_s
            if (required and not is_over) or self._needed_s(proposal, prepared) <= self._left_s(prepared):
                return proposal, prepared
        return None

    def _judged_ahead(self, proposed: Iterator[Proposal]) -> Iterator[Proposal]:
        """The same proposals; where the first is not taken, the engine is asked about all others at once."""
        yield from itertools.islice(proposed, 1)
        others = list(proposed)
        if others:
            self._bench_for().judge_ahead([step.campaign for step in others])
        yield from others

    def _needed_s(self, proposal: Proposal, prepared: PreparedRun) -> float:
        cost_s, task = prepared.cost.wall_s, proposal.task
        tried = any(isinstance(done.step.task, TrialTask) for done in self._measured)
        if isinstance(task, TrialTask) and not tried and proposal.campaign.rounds:
            return cost_s * min(1.0, FEWEST_PAIRS / proposal.campaign.rounds)
        return cost_s

    def _left_s(self, prepared: PreparedRun) -> float:
        return self._clock.left_s(self.diagnosis.budget_s, self.diagnosis.spent_s, len(prepared.plan.cells))

    def _take(self, proposal: Proposal, prepared: PreparedRun) -> None:
        number, kind = len(self.diagnosis.steps) + 1, kind_of(proposal.task)
        estimate_s = prepared.cost.wall_s
        folder = f"{number:02d}-{proposal.task.kind}"
        step = DiagnosisStep(number=number, folder=folder, why=proposal.why, estimate_s=estimate_s, task=proposal.task)
        if kind.required and self._clock.spent_s >= self.diagnosis.budget_s:
            raise EnvironmentFailure(
                f"nothing was measured: the budget of {self.diagnosis.budget_s:.0f} s was over before the first "
                "launch; run it again or allow more time"
            )
        self._bench.tell(f"{folder}: {proposal.why}")
        task, bench = proposal.task, self._bench_for(proposal.task)
        bench.create(prepared, self.folder / folder, task.others if isinstance(task, StateTask) else None)
        self._write(steps=[*self.diagnosis.steps, step])
        begun = time.monotonic()
        try:
            limit_s = self._limit_s(kind, prepared)
            bench.measure(prepared, self.folder / folder, limit_s, kind.against(task), kind.required)
        except Interrupted:
            self._write(spent_s=max(self.diagnosis.spent_s + time.monotonic() - begun, self._clock.spent_s))
            raise
        except EnvironmentFailure as error:
            if kind.required:
                raise
            self._bench.tell(f"{folder}: {error}")
        self._conclude(step)

    def _bench_for(self, task: Task | None = None) -> Bench:
        """Where a step is measured: from the survey on without what the first step named as slowing down everything.

        Args: task: of the step; None: one that follows those that are over.
        """
        surveyed = any(isinstance(done.step.task, SurveyTask) for done in self._measured)
        names = set_aside(self.diagnosis.findings, self._measured)
        return self._bench.less(names) if names and (surveyed or isinstance(task, SurveyTask)) else self._bench

    def _limit_s(self, kind: StepKind[Any], prepared: PreparedRun) -> float:
        least_s = _LEAST_OF_SURVEY * (self.diagnosis.budget_s - self._clock.spent_s) if kind.required else 0.0
        left_s = max(0.0, least_s, self._left_s(prepared))
        return left_s if kind.most_s is None else min(left_s, kind.most_s)

    def _conclude(self, step: DiagnosisStep) -> None:
        begun_s = self._clock.now()
        kind, before = kind_of(step.task), StepConclusion(self.diagnosis.findings)
        done = replace(step, wall_s=measured_s(inside(self.folder, step.folder)))
        results = self._bench.results(inside(self.folder, step.folder))
        done = replace(done, launches_left_out=_left_out(results) if kind.required else 0)
        self._measured.append(MeasuredStep(done, results))
        after = advance(before, self._measured, self._bench.healthy)
        acted = replaced_words(inside(self.folder, step.folder))
        words = (kind.summary(step.task, before, after), kind.numbers(self._measured[-1].results), acted)
        done = replace(done, summary="; ".join(filter(None, words)))
        steps = [done if earlier.number == step.number else earlier for earlier in self.diagnosis.steps]
        if isinstance(step.task, StateTask):  # the verdict is a survey away
            faults = (
                finding for finding in first_by_cost(after.findings, self._measured) if group_of(finding) == "fault"
            )
            for fault in faults:
                self._bench.tell(f"Fault: {fault.text}")
        self._bench.tell(f"{step.folder}: {done.summary}")
        spent_s = max(sum(step.wall_s or 0.0 for step in steps), self._clock.spent_s)
        self._write(steps=steps, spent_s=spent_s, **self._conclusions(after))
        not_tried = list(cannot_help(self._state().for_what_was_asked))
        for untried in not_tried:
            if untried not in self.diagnosis.not_tried:
                self._bench.tell(f"not tried: '{untried.remedy}' against {untried.rule}: {untried.why}")
        self._write(not_tried=not_tried)
        self._keep_pace(done)
        self._clock.concluded(begun_s, len(self._measured[-1].results.cells))

    def _pace_of_survey(self) -> float | None:
        survey = survey_of(self._measured).step
        if self._survey_pace is None and survey.launches_left_out:
            self._survey_pace = self._bench.ratio_of(inside(self.folder, survey.folder))
        return self._survey_pace

    def _keep_pace(self, step: DiagnosisStep) -> None:
        """After the survey, estimate by its launches, and by those of the first step where none was as slow by far.

        Launches of the first step are all start; those of the survey show what cells take.
        """
        if not isinstance(step.task, SurveyTask):
            return
        slowed = of_own_state(self.diagnosis.findings, self._measured)
        kinds = SurveyTask if slowed else (StateTask, SurveyTask)
        runs = [inside(self.folder, done.step.folder) for done in self._measured if isinstance(done.step.task, kinds)]
        self._bench = self._bench.paced_by(runs)

    def _priced(self, findings: Sequence[Finding]) -> list[Finding]:
        """With what the program that the diagnosis is for could save by each."""
        program, of_step = self.diagnosis.program, {done.step.folder: done.results for done in self._measured}
        if program is None:
            return list(findings)
        survey = survey_of(self._measured).results
        return [priced(finding, program, of_step.get(finding.run or "", survey)) for finding in findings]

    def _left(self, name_only: bool = False) -> list[str]:
        proposed = dict.fromkeys(proposal.why for proposal in proposals(self._state(), name_only))
        return [why for why in proposed if why not in self._refused]

    def _state(self) -> State:
        state = self._bench_for().state(self.diagnosis.findings, self._measured, self.asked)
        return dataclasses.replace(state, left_s=self._clock.left_s(self.diagnosis.budget_s, self.diagnosis.spent_s, 0))

    def _write(self, **changed: Any) -> None:
        self.diagnosis = replace(self.diagnosis, **changed)
        write_diagnosis(self.folder, self.diagnosis)


def _left_out(results: Results) -> int:
    launches = results.run.launches
    return max(0, launches.planned - launches.done - launches.failed)


# How a diagnosis begins: anew, from a folder that was cut off, or only on paper.


def place_faults(bench: Bench) -> list[PlaceFault]:
    """For the ranks that the diagnosis is about, on one node."""
    ranks = -(-bench.job.ranks // max(bench.job.nodes, 1))
    return faults(place_here(), PlaceJob(ranks, bench.library.name, bench.environ))


@contextmanager
def behind_place(wrong: Sequence[PlaceFault]) -> Iterator[None]:
    """Failures of the machine speak behind what is wrong with the place.  Raises: EnvironmentFailure."""
    try:
        yield
    except EnvironmentFailure as error:
        if not wrong or type(error) is not EnvironmentFailure:
            raise
        said = [f"{fault.sentence} {fault.action}" for fault in wrong]
        raise EnvironmentFailure(" ".join([*said, str(error)])) from error


def left_out_line(left_out: Sequence[str], budget_s: float, ranks: int) -> list[str]:
    """What a budget does not hold; []: nothing.  Args: budget_s: of the whole diagnosis."""
    if not left_out:
        return []
    most_s = survey_s(budget_s, ranks)
    return [f"left out of a survey of {most_s:.0f} s: {', '.join(left_out)}"]


def begin(
    bench: Bench,
    budget_s: float,
    out: Path | None,
    name_only: bool = False,
    only: Sequence[str] = (),
    begun_s: float | None = None,
) -> Session:
    """A new diagnosis in a folder of its own.

    Args: only: rules and questions; empty: all.  begun_s: monotonic time from which on the user waits; None: now.
    Raises: EnvironmentFailure: the folder is taken.  UsageError: nothing here is called so.
    """
    bench = for_program(bench)
    asked = asked_for(only, whole_survey(bench.state([], [])))
    folder = create_run_folder("diagnosis", out)
    diagnosis = Diagnosis(
        schema=SCHEMA,
        slowpath=__version__,
        command=clean_words(bench.command),
        started=now(),
        budget_s=budget_s,
        mpi=bench.built.identity,
        name_only=name_only,
        only=asked.words,
        program=bench.program,
    )
    write_diagnosis(folder, diagnosis)
    return Session(folder, bench, diagnosis, asked, _clock(begun_s))


def for_program(bench: Bench) -> Bench:
    """The same with the groups of the survey that are about the program that the diagnosis is for.

    Raises: UsageError: no group of this machine's survey is.
    """
    if bench.program is None:
        return bench
    program = with_groups(bench.program, bench.prepare(whole_survey(bench.state([], [])), "survey").plan.cells)
    if not program.groups:
        raise UsageError(f"--for: diagnose has no question about {program.name}; use slowpath watch")
    return dataclasses.replace(bench, program=program)


def require_resumable(folder: Path) -> None:
    """Raises: RecordError: the folder holds no diagnosis.  Taken: somebody measures into it, see `run.ownership`."""
    read_diagnosis(folder)
    require_free(folder)


def resume(
    folder: Path,
    bench: Bench,
    added_s: float | None,
    usual_s: float,
    name_only: bool = False,
    only: Sequence[str] = (),
    begun_s: float | None = None,
) -> Session:
    """A diagnosis that was cut off, or gets more time, or is to prove what was only named.

    Args:   added_s: what it may take on top of what it took; None: what is left of its budget, or where nothing is
            left usual_s.  only: rules and questions; empty: those that it was begun for.  begun_s: as of `begin`.
    Raises: RecordError: the folder holds none, or one under another MPI.  UsageError: nothing here is called so, or
            its survey left out the cells for it.
    """
    diagnosis = read_diagnosis(folder)
    if diagnosis.mpi != bench.built.identity:
        raise RecordError(f"{folder}: was made with {diagnosis.mpi}, not with {bench.built.identity}; name that MPI")
    if diagnosis.program is not None:
        bench = dataclasses.replace(bench, program=diagnosis.program)
    survey = whole_survey(bench.state([], []))
    asked = asked_for(only or diagnosis.only, survey)
    first = next((step.task for step in diagnosis.steps if isinstance(step.task, SurveyTask)), None)
    seen = asked_for(first.only, survey) if first is not None else asked
    if unseen := asked.groups(survey) - seen.groups(survey):
        raise UsageError(
            f"--only {', '.join(asked.words)}: the survey of {folder} left out {', '.join(sorted(unseen))}; "
            "start a new diagnosis"
        )
    continued = replace(
        diagnosis,
        schema=SCHEMA,
        status="running",
        budget_s=_budget_s(diagnosis, added_s, usual_s),
        name_only=name_only,
        only=asked.words,
    )
    session = Session(folder, bench, continued, asked, _clock(begun_s, diagnosis.spent_s))
    session.load()
    return session


def _clock(begun_s: float | None, before_s: float = 0.0) -> BudgetClock:
    return BudgetClock(time.monotonic() if begun_s is None else begun_s, before_s)


def _budget_s(diagnosis: Diagnosis, added_s: float | None, usual_s: float) -> float:
    if added_s is None and diagnosis.status in ("settled", "budget"):
        added_s = usual_s
    return diagnosis.budget_s if added_s is None else diagnosis.spent_s + added_s


def ranks_of(folder: Path, asked: int | None) -> int:
    """That the diagnosis in a folder is about.

    Args:   asked: with --ranks; None: nothing.
    Raises: UsageError: it is about another number.  RecordError: it holds none.
    """
    task = next((step.task for step in read_diagnosis(folder).steps), None)
    there = task.ranks if isinstance(task, StateTask | SurveyTask) else asked or PAIR
    if asked not in (None, there):
        raise UsageError(f"--ranks {asked}: the diagnosis in {folder} is about {there} ranks; start a new diagnosis")
    return there


def own_mpi(folder: Path, environ: Mapping[str, str], trust: bool = False) -> str | None:
    """Launcher of the MPI that a diagnosis was begun with, on this machine, whatever other MPI is first here by now.

    Returns: None: it has no step that states one.
    Raises:  EnvironmentFailure: that MPI is not here.  RecordError: the folder is damaged.
    """
    step = next(iter(read_diagnosis(folder).steps), None)
    if step is None:
        return None
    return str(launcher_again(inside(folder, step.folder), environ, trust))


def path_lines(bench: Bench) -> list[str]:
    """What the launch costs in which the library says what carries messages; none where it is not made."""
    if not bench.state([], []).is_witnessed:
        return []
    cost = bench.prepare(path_campaign(bench.job.timed_ranks), "path").cost
    return [f"path: {WHY}: {cost.launches} launch, about {cost.wall_s:.1f} s"]


def _alternatives_lines(bench: Bench, asked: Asked) -> list[str]:
    """What a screening of the library's own choices would cost; none where it would not be made."""
    proposal = next(alternatives.propose(bench.state([], [], asked)), None)
    if proposal is None or not isinstance(proposal.task, AlternativesTask):
        return []
    cost = bench.prepare(proposal.campaign, proposal.task.kind).cost
    rows = len(proposal.task.rows)
    return [f"library defaults: {rows} rows, {cost.launches} launches, about {cost.wall_s:.0f} s"]


def dry_run(bench: Bench, only: Sequence[str] = ()) -> list[str]:
    """What the survey would do, and how the rest is decided.  Raises: UsageError: nothing here is called as in only."""
    bench = for_program(bench)
    asked = asked_for(only, whole_survey(bench.state([], [])))
    planned = list(proposals(bench.state([], [], asked)))
    first = [f"first: {step.why}" for step in planned if isinstance(step.task, StateTask)]
    survey = next(step for step in planned if isinstance(step.task, SurveyTask))
    prepared = bench.prepare(survey.campaign, survey.task.kind)
    plan, cost = prepared.plan, prepared.cost
    cells = sum(cell.skip is None for cell in plan.cells)
    return [
        *([program_line(bench.program)] if bench.program is not None else []),
        *([f"asked for: {', '.join(asked.words)}"] if asked else []),
        *first,
        f"survey: {cells} cells, {plan.rounds} rounds, {cost.launches} launches, about {cost.wall_s:.0f} s",
        *left_out_line(
            survey.task.left_out if isinstance(survey.task, SurveyTask) else (), bench.budget_s, bench.job.ranks
        ),
        *crowded_lines(bench.job),
        *path_lines(bench),
        *_alternatives_lines(bench, asked),
        "then: trials of remedies",
    ]
