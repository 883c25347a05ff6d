# SPDX-License-Identifier: Apache-2.0
"""How a diagnosis begins: anew, from a folder that was cut off, or only on paper."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.files import inside
from slowpath.core.guard import clean_words
from slowpath.core.machine import PlaceFault
from slowpath.core.units import listed
from slowpath.core.version import __version__
from slowpath.diagnose.asked import Asked, asked_for
from slowpath.diagnose.bench import Bench
from slowpath.diagnose.clock import BudgetClock
from slowpath.diagnose.program import program_line, with_groups
from slowpath.diagnose.ranks.job import PAIR, Job, crowded_lines
from slowpath.diagnose.ranks.survey import Estimate, Kept, survey_s
from slowpath.diagnose.records import SCHEMA, Diagnosis, read_diagnosis, write_diagnosis
from slowpath.diagnose.session import Session
from slowpath.diagnose.steps import alternatives
from slowpath.diagnose.steps.order import proposals
from slowpath.diagnose.steps.path import WHY, path_campaign
from slowpath.diagnose.steps.survey import whole_survey, within_budget
from slowpath.diagnose.tasks import AlternativesTask, StateTask, SurveyTask
from slowpath.mpi.place import PlaceJob, faults
from slowpath.run.machine import place_here
from slowpath.run.measure import new_folder
from slowpath.run.ownership import now, require_free
from slowpath.run.reopen import launcher_again


def wrong_place(bench: Bench) -> list[PlaceFault]:
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
        said = [f"{one.sentence} {one.action}" for one in wrong]
        raise EnvironmentFailure(" ".join([*said, str(error)])) from error


STATED = (2, 8, 64, 1024)  # ranks whose cost is stated next to that of the ranks asked for


@dataclass(frozen=True)
class SurveyCost:
    """ranks: each with a core of its own.  left_out: groups that the budget does not hold."""

    ranks: int
    seconds: float
    left_out: tuple[str, ...]

    @property
    def line(self) -> str:
        """A row of the table."""
        less = f", without {_some(self.left_out)}" if self.left_out else ""
        return f"{self.ranks:8d} ranks: {self.seconds:.0f} s{less}"


def costs(ranks: Sequence[int], kept_for: Callable[[Job], Kept], estimate: Estimate) -> list[SurveyCost]:
    """Of a survey with each number of ranks, on one node with as many cores.

    Args: kept_for: the survey of a job, thinned to the budget.
    """
    found = []
    for count in ranks:
        kept = kept_for(Job(count, cores=count))
        found.append(SurveyCost(count, estimate(kept.campaign), kept.left_out))
    return found


def cost_lines(found: Sequence[SurveyCost]) -> list[str]:
    """A small table."""
    return ["cost of the survey by ranks, if each rank has a core:", *(one.line for one in found)]


def left_out_line(left_out: Sequence[str], budget_s: float, ranks: int) -> list[str]:
    """What a budget does not hold; []: nothing.  Args: budget_s: of the whole diagnosis."""
    if not left_out:
        return []
    most_s = survey_s(budget_s, ranks)
    return [f"left out, because the survey may take {most_s:.0f} s of {budget_s:.0f} s: {', '.join(left_out)}"]


def _some(names: Sequence[str]) -> str:
    most = 2
    shown = list(names[:most])
    return listed([*shown, f"{len(names) - most} more groups"] if len(names) > most else shown)


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
    folder = new_folder("diagnosis", out)
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
    found = with_groups(bench.program, bench.prepare(whole_survey(bench.state([], [])), "survey").plan.cells)
    if not found.groups:
        raise UsageError(f"--for: diagnose has no question about what {found.name} does with MPI; see slowpath watch")
    return dataclasses.replace(bench, program=found)


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
            f"--only {', '.join(asked.words)}: the survey of {folder} covered {', '.join(seen.words)} and left out "
            f"{', '.join(sorted(unseen))}; start a new diagnosis"
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
    """In all, with what was spent before."""
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
        raise UsageError(f"--ranks {asked}: the diagnosis in {folder} is about {there} ranks; start a new one")
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


def survey_lines(bench: Bench) -> list[str]:
    """What a survey of these ranks and of others would cost, and what more ranks than cores mean."""
    state = bench.state([], [])

    def kept_for(job: Job) -> Kept:
        return within_budget(dataclasses.replace(state, job=job))

    ranks = sorted({*STATED, bench.job.ranks})
    return [*crowded_lines(bench.job), *cost_lines(costs(ranks, kept_for, bench.estimate))]


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
    launch_s = cost.wall_s / max(1, cost.launches)
    rows = sum(map(bool, proposal.task.environments.values()))
    return [
        f"library defaults: {rows} rows ({len(proposal.task.left_out)} others have no effect here): "
        f"{cost.launches} launches, about {cost.wall_s:.0f} s; each suspect about "
        f"{launch_s * alternatives.CONFIRM_ROUNDS:.0f} s more, and its trial"
    ]


def dry_run(bench: Bench, only: Sequence[str] = ()) -> list[str]:
    """What the survey would do, and how the rest is decided.  Raises: UsageError: nothing here is called as in only."""
    bench = for_program(bench)
    asked = asked_for(only, whole_survey(bench.state([], [])))
    planned = list(proposals(bench.state([], [], asked)))
    first = [f"first: {one.why}" for one in planned if isinstance(one.task, StateTask)]
    survey = next(one for one in planned if isinstance(one.task, SurveyTask))
    prepared = bench.prepare(survey.campaign, survey.task.kind)
    plan, cost = prepared.plan, prepared.cost
    cells = sum(cell.skip is None for cell in plan.cells)
    forced = bench.library.forced(bench.environ)
    return [
        *([program_line(bench.program)] if bench.program is not None else []),
        *([f"asked for: {', '.join(asked.words)}"] if asked else []),
        *first,
        f"survey: {cells} cells, {plan.rounds} rounds, {cost.launches} launches, about {cost.wall_s:.0f} s",
        *left_out_line(
            survey.task.left_out if isinstance(survey.task, SurveyTask) else (), bench.budget_s, bench.job.ranks
        ),
        *survey_lines(bench),
        *path_lines(bench),
        *_alternatives_lines(bench, asked),
        *(f"your environment: {one.name}={one.value} ({one.state.replace('_', ' ')})" for one in forced),
        "then, depending on the survey: refine limits, measure points that separate laws, try remedies",
    ]
