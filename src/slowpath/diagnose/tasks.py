# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis is asked to do, step by step, and diagnosis.json, which is written after every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from slowpath.core.files import (
    DIAGNOSIS_FILE,
    StepFolder,
    json_bytes,
    read_versioned,
    write_atomically,
)
from slowpath.core.machine import Others, PlaceFault
from slowpath.core.result import MOST_STEPS, Count, LongText, Name, NotNegative, Number, Whole
from slowpath.core.results import Finding, PanelRow, Results, Verdict
from slowpath.core.units import format_time, plural
from slowpath.mpi.own_settings import OwnSetting

# What each kind of step is to decide: `task` of a step in diagnosis.json, enough to conclude from its folder again.
#
# Lengths are bytes, times seconds. A limit is the last value before a change; `finding` is always the id of one.

# How a trial has the fast side: the remedied cell is on it; the remedy changes nothing there; it is measured with the
# remedy as well; there is none, since the finding rests on a law.
FastSide = Literal["remedied", "unchanged", "toggled", "none"]


class TaskBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What all tasks share."""

    @property
    def kind(self) -> str:
        """As diagnosis.json and the step's folder have it."""
        return str(self.__struct_config__.tag)


class StateTask(TaskBase, frozen=True, kw_only=True, tag="state"):
    """Compare the user's own state with a clean one. settings: the user's own, as they were then.

    ranks: as SurveyTask has it.  others: what other processes took of the cores that ranks need; None: enough was left.
    """

    settings: list[OwnSetting] = []
    ranks: Whole = 2
    others: Others | None = None


class SurveyTask(TaskBase, frozen=True, kw_only=True, tag="survey"):
    """Look for slow paths cheaply. only: rules and questions whose cells it has; empty: all.

    settings: the user's own, as they were then.  ranks: that it is about.  left_out: groups of cells with all ranks
    that the budget did not hold.  aside: variables of the user's without which it and all later steps are measured,
    since the first step named them.
    """

    only: list[str] = []
    settings: list[OwnSetting] = []
    ranks: Whole = 2
    left_out: list[str] = []
    aside: list[Name] = []


class SettingsCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell in which settings are taken away. group: its cells in this step.  contrast: that showed it to be slow."""

    finding: Name
    contrast: Name
    group: Name
    metric: Name
    phase: Name


class SettingsTask(TaskBase, frozen=True, kw_only=True, tag="settings"):
    """Take sets of the user's settings away: which one is it? taken: environment -> numbers of settings that it lacks,
    among those of the survey's task that can be taken away.  is_by_far: beside launches of the first step.
    """

    cells: list[SettingsCell]
    taken: dict[Name, list[Whole]]
    is_by_far: bool = False


class AlternativesTask(TaskBase, frozen=True, kw_only=True, tag="alternatives"):
    """Screen what the library chooses by itself: each alternative alone.

    rows: alternatives that are measured.  left_out: alternative of this library -> why it is not screened.
    """

    rows: list[Name]
    left_out: dict[Name, str] = {}


class OutsideTask(TaskBase, frozen=True, kw_only=True, tag="outside"):
    """Measure again what lies outside of healthy runs, and lengths between."""


class WitnessTask(TaskBase, frozen=True, kw_only=True, tag="witness"):
    """Count library calls in the cells that findings rest on."""


class PathTask(TaskBase, frozen=True, kw_only=True, tag="path"):
    """Ask the library what carries its messages: module, transport and device."""


class TrialTask(TaskBase, frozen=True, kw_only=True, tag="trial"):
    """Toggle one remedy. axis: what differs; slow, remedied: its values.  fast_side: None: not
    measured with the remedy.

    constant_s: the law's constant part, where there is no fast side at all.
    """

    finding: Name
    remedy: str
    axis: Name
    slow: str
    remedied: str
    metric: Name
    phase: Name
    fast_side: FastSide | None = None
    constant_s: Number | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A remedy that is not tried, and why."""

    finding: Name
    rule: Name
    remedy: str
    why: str


Task: TypeAlias = (
    StateTask | SurveyTask | SettingsTask | AlternativesTask | OutsideTask | WitnessTask | PathTask | TrialTask
)


# The program that a diagnosis is for (`--for WATCH`): which cells of a survey are about what it does, and how much of
# its time a finding could save. Pure.
#
# A price is an upper end for these calls themselves: all of the time that the program spends in them shrinks by the
# upper end of the finding's ratio. Waits of other ranks that would shorten with them are not in it. `slowpath replay`
# measures.

NEAR = 2.0  # a message is like a cell whose length is within this factor, or between two of its group
LONGEST_BYTES = 4 * 2**20  # of a survey: what is slow up to there is taken to be slow beyond


class ProgramSpent(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of the program that are alike.

    experiment: that measures such calls.  collective: as experiment coll has it; None: of no collective.
    low, high: shortest and longest length, bytes.  memory: as the engine allocates it.
    is_strided: the datatype has gaps.  seconds: of a rank, waiting for others taken off.
    """

    experiment: Literal["p2p", "put", "coll"]
    seconds: NotNegative
    low_bytes: Whole = 0
    high_bytes: Whole = 0
    memory: Name = "host"
    is_first: bool = False
    is_strided: bool = False
    is_nonblocking: bool = False
    collective: Name | None = None


class ProgramUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a watched program does with MPI. span_s, mpi_s: of a rank, seconds.  groups: of the survey's cells that are
    about it -> seconds of a rank that it spends there.  place: what was wrong with where its ranks ran.
    """

    name: Name
    ranks: Whole
    span_s: NotNegative
    mpi_s: NotNegative
    spent: list[ProgramSpent]
    groups: dict[str, NotNegative] = {}
    place: list[PlaceFault] = []


class Point(Protocol):
    """A cell of a plan, or of results."""

    @property
    def group(self) -> str:
        """Of the campaign."""

    @property
    def experiment(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> Mapping[str, str]:
        """All of the engine's."""


def with_groups(program: ProgramUse, cells: Iterable[Point]) -> ProgramUse:
    """The same with the groups of these cells that are about it.  Args: cells: of the whole survey, expanded."""
    groups = dict[str, list[Point]]()
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    spent_s = {
        name: sum(part.seconds for part in program.spent if _is_about(part, cells_of, False, is_exact=False))
        for name, cells_of in groups.items()
    }
    return replace(program, groups={name: seconds for name, seconds in spent_s.items() if seconds > 0})


def with_program(program: ProgramUse | None, own: Iterable[PlaceFault]) -> list[PlaceFault]:
    """Return what is wrong with the place of the program's ranks, and of the diagnosis's own where that is another
    thing: ranks of a program may each be in a container that a diagnosis never enters.
    """
    faults = list(program.place) if program is not None else []
    known = {fault.check for fault in faults}
    return [*faults, *(fault for fault in own if fault.check not in known)]


def priced(finding: Finding, program: ProgramUse, seen_in: Results) -> Finding:
    """The finding with the seconds that the program could save by it in these calls, at most.

    Args: seen_in: results of the run in which it was observed.
    """
    cells = [seen_in.cell(number) for number in finding.slow_cells or finding.cells]
    stake_s = sum(part.seconds for part in program.spent if _is_about(part, cells, finding.phase == "first", True))
    slower = finding.interval[1] if finding.interval else finding.ratio
    share = 1.0 if slower is None else 1.0 - 1.0 / max(slower, 1.0)
    return replace(finding, program_s=stake_s * share)


def program_words(program: ProgramUse) -> str:
    """`heat (4 ranks, 1.2 s of 3.4 s in MPI a rank)`."""
    times = f"{format_time(program.mpi_s)} of {format_time(program.span_s)} in MPI a rank"
    return f"{program.name} ({plural(program.ranks, 'rank')}, {times})"


def program_line(program: ProgramUse) -> str:
    """What is asked for the program, where it spends most first."""
    groups = ", ".join(sorted(program.groups, key=lambda name: -program.groups[name]))
    return f"For {program_words(program)}, asked about: {groups}."


def _is_about(part: ProgramSpent, cells: Iterable[Point], is_first: bool, is_exact: bool) -> bool:
    """Whether calls of the program are like what these cells measure.

    Args: is_first: of fresh allocations alone.  is_exact: of several lengths, those between them alone.
    """
    alike = [
        cell.parameters for cell in cells if cell.experiment == part.experiment and _is_alike(part, cell, is_first)
    ]
    lengths = [int(given["message_bytes"]) for given in alike if given.get("message_bytes", "").isdigit()]
    if part.experiment == "put" or not lengths:
        return bool(alike)
    low, high = min(lengths), max(lengths)
    if low < high and is_exact:
        return part.high_bytes >= low and (part.low_bytes <= high or high >= LONGEST_BYTES)
    return part.high_bytes >= low / NEAR and part.low_bytes <= high * NEAR


def _is_alike(part: ProgramSpent, cell: Point, is_first: bool) -> bool:
    given = cell.parameters
    if part.experiment == "coll":
        return part.collective in given.get("collective", "").split(":")
    if part.experiment == "put":
        return True
    return (
        part.memory in given.get("memory", part.memory).split(":")
        and (not is_first or part.is_first)
        and (given.get("datatype", "contiguous") == "contiguous" or part.is_strided)
        and (given.get("pattern") != "overlap" or part.is_nonblocking)
    )


# diagnosis.json: what was done and what follows from it. Written after every step, so that nothing is lost.

SCHEMA = 3
FILE = DIAGNOSIS_FILE

Status = Literal["running", "settled", "named", "budget", "interrupted"]


class DiagnosisStep(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the diagnosis. wall_s, summary (what came out, one line): None until it is over.

    launches_left_out: of a survey that its share of the budget ended.
    """

    number: Whole
    folder: StepFolder
    why: LongText
    estimate_s: NotNegative
    task: Task
    wall_s: NotNegative | None = None
    summary: LongText | None = None
    launches_left_out: Count = 0


class AlternativesOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a screening of the library's own choices showed.

    rows: alternatives that were measured alone.  failed: of those, alternative -> why no launch with it worked.
    slower: that slow down a cell by themselves.  suspects: that looked faster -> cell -> time as it is
    over time with it.
    left_out: alternative of this library -> why it can change nothing here.
    """

    rows: Whole
    failed: dict[Name, LongText]
    slower: list[Name]
    suspects: dict[Name, dict[Name, Number]]
    left_out: dict[Name, LongText]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """A whole diagnosis.

    status: named: no more than names was asked for; budget: stopped at it.  name_only: nothing is
    explained, refined or tried.  next: what would be measured next.  verdict: by the judge of every run; None: nothing
    was measured yet.
    only: rules and questions that were asked for; empty: all.  not_tried: remedies that can't help on this machine.
    program: that it is for; None: for no program in particular.
    own_settings: a line for each setting of the user's that is ignored, left in or otherwise worth one.
    paths: what carries messages, a line for each path, or why it is not known; empty: no launch was asked.
    alternatives: None: the library's own choices were not screened.
    panel: each kind of call beside healthy runs, what lies outside first.
    no_reference: kind of call -> measured cells that no healthy run has.
    """

    schema: Whole
    slowpath: Name
    command: list[LongText]
    started: Name
    budget_s: NotNegative
    mpi: Name | None
    status: Status = "running"
    finished: Name | None = None
    spent_s: NotNegative = 0.0
    steps: Annotated[list[DiagnosisStep], Meta(max_length=MOST_STEPS)] = []
    findings: list[Finding] = []
    next: list[str] = []
    name_only: bool = False
    verdict: Verdict | None = None
    only: list[str] = []
    not_tried: list[LeftOut] = []
    own_settings: list[LongText] = []
    paths: list[LongText] = []
    program: ProgramUse | None = None
    alternatives: AlternativesOutcome | None = None
    panel: list[PanelRow] = []
    no_reference: dict[Name, Count] = {}

    @property
    def launches_left_out(self) -> int:
        """Of the survey, by its share of the budget."""
        return sum(step.launches_left_out for step in self.steps)


def survey_step(diagnosis: Diagnosis) -> DiagnosisStep | None:
    """The survey; the first step where there is none; None: there is no step."""
    surveys = (step for step in diagnosis.steps if isinstance(step.task, SurveyTask))
    return next(surveys, diagnosis.steps[0] if diagnosis.steps else None)


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Raises: EnvironmentFailure when the disk refuses."""
    write_atomically(folder / FILE, json_bytes(diagnosis))


def read_diagnosis(folder: Path) -> Diagnosis:
    """Raises: RecordError: it is missing, damaged or of another version."""
    return read_versioned(folder / FILE, Diagnosis, SCHEMA, "name a folder that slowpath diagnose wrote")
