# SPDX-License-Identifier: Apache-2.0
"""What each kind of step is to decide: `task` of a step in diagnosis.json, enough to conclude from its folder again.

Lengths are bytes, times seconds. A limit is the last value before a change; `finding` is always the id of one.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from slowpath.core.machine import Others
from slowpath.core.result import Name, Number, Whole
from slowpath.mpi.own_settings import OwnSetting

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

    ranks: as SurveyTask has it.  inherited, granted: processors as `0-2,5` that launches inherit, and that the kernel
    grants; None: the same.  others: what other processes took of the cores that ranks need; None: enough was left.
    """

    settings: list[OwnSetting] = []
    ranks: Whole = 2
    inherited: str | None = None
    granted: str | None = None
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
    among those of the survey's task that can be taken away.
    """

    cells: list[SettingsCell]
    taken: dict[Name, list[Whole]]


# Each alternative by itself; once more where it looked slower; several at once; what looks faster, in fresh launches.
class AlternativesTask(TaskBase, frozen=True, kw_only=True, tag="alternatives"):
    """Screen what the library chooses by itself. environments: name -> alternatives that are on in it.

    left_out: alternative of this library -> why it is not screened.  as_library_is: without variables that Slowpath
    itself sets to start the library quickly.
    """

    stage: Literal["alone", "confirm"]
    environments: dict[Name, list[Name]]
    left_out: dict[Name, str] = {}
    as_library_is: bool = False


class RepeatTask(TaskBase, frozen=True, kw_only=True, tag="repeat"):
    """Decide a contrast of the survey by more pairs. sides: values of its axis on both sides."""

    contrast: str
    sides: list[str]


class SuspectTask(TaskBase, frozen=True, kw_only=True, tag="suspect"):
    """Look for a protocol switch where a variable of the user's has its value: between `above` and `up_to`."""

    variable: Name
    value_bytes: Whole
    covariate: Name
    above: Number
    up_to: Number
    metric: Name
    phase: Name


class LaunchesTask(TaskBase, frozen=True, kw_only=True, tag="launches"):
    """Whether launches are of two kinds, by many of them."""


class SingleTask(TaskBase, frozen=True, kw_only=True, tag="single"):
    """Vary each of some factors by itself that the survey's screening varied with others: names of parameters, with the
    side where it is one side's.  parameters: their names alone.
    """

    factors: list[str]
    parameters: list[str] = []


class WitnessTask(TaskBase, frozen=True, kw_only=True, tag="witness"):
    """Count library calls in the cells that findings rest on."""


class PathTask(TaskBase, frozen=True, kw_only=True, tag="path"):
    """Ask the library what carries its messages: module, transport and device."""


class SeparateTask(TaskBase, frozen=True, kw_only=True, tag="separate"):
    """Measure the points that tell two laws apart."""

    finding: Name


class RefineTask(TaskBase, frozen=True, kw_only=True, tag="refine"):
    """Narrow a limit between `above` and `up_to`. exact_limit: known to the byte, and measured a second time."""

    finding: Name
    covariate: Name
    above: Number
    up_to: Number
    metric: Name
    phase: Name
    exact_limit: Number | None = None


class MovedWith(msgspec.Struct, frozen=True, kw_only=True):
    """A variable that is set to another value together with the one of the task."""

    value_bytes: Whole
    moved_bytes: Whole


class AttributeTask(TaskBase, frozen=True, kw_only=True, tag="attribute"):
    """Set a variable to a lower value: does the protocol switch move from limit_bytes to expected_bytes?

    Lowered, each of several limits that nearly coincide moves the switch; raised, it would only uncover the next one.
    effect: what the variable does, in words.  value_source: who states that it is value_bytes.  moved_bytes: the other
    value.  rising: above the limit it takes longer.  is_main_limit: the finding is about this limit, and not about
    another one of its law.  remedy_bytes: what a trial sets the variable to, so that the slow side gets fast; None:
    moved_bytes.  also: variables that were seen to move the same limit, and what the trial sets them to.  together:
    others that are lowered at the same time, since none was seen to move the limit alone.
    """

    finding: Name
    variable: Name
    effect: str
    value_bytes: Whole
    value_source: str
    moved_bytes: Whole
    limit_bytes: Whole
    expected_bytes: Whole
    rising: bool
    metric: Name
    phase: Name
    is_main_limit: bool
    set_by_user: bool
    remedy_bytes: Whole | None = None
    also: dict[Name, Whole] = {}
    together: dict[Name, MovedWith] = {}

    @property
    def remedy_variables(self) -> dict[str, str]:
        """What a trial sets: all that limit messages of this length."""
        own = self.moved_bytes if self.remedy_bytes is None else self.remedy_bytes
        ratio = own / self.value_bytes
        others = {name: round(one.value_bytes * ratio) for name, one in self.together.items()}
        return {name: str(value) for name, value in {**self.also, **others, self.variable: own}.items()}


class TrialTask(TaskBase, frozen=True, kw_only=True, tag="trial"):
    """Toggle one remedy. axis: what differs; slow, remedied: its values.  fast_side: None: not
    measured with the remedy.

    constant_s: the law's constant part, where there is no fast side at all.  control: why the negative control must not
    change.  uncontrolled: why there is no control.
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
    control: str | None = None
    uncontrolled: str | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A remedy that is not tried, and why."""

    finding: Name
    rule: Name
    remedy: str
    why: str


Task: TypeAlias = (
    StateTask
    | SurveyTask
    | SettingsTask
    | AlternativesTask
    | RepeatTask
    | SuspectTask
    | LaunchesTask
    | SingleTask
    | WitnessTask
    | PathTask
    | SeparateTask
    | RefineTask
    | AttributeTask
    | TrialTask
)
