# SPDX-License-Identifier: Apache-2.0
"""All kinds of steps, one line each; `order` has their proposals in the order of their value."""

from __future__ import annotations

from typing import Any

from slowpath.diagnose.steps.alternatives import ALTERNATIVES
from slowpath.diagnose.steps.attribute import ATTRIBUTE
from slowpath.diagnose.steps.kind import StepKind
from slowpath.diagnose.steps.launches import LAUNCHES
from slowpath.diagnose.steps.own_state import STATE
from slowpath.diagnose.steps.path import PATH
from slowpath.diagnose.steps.refine import REFINE
from slowpath.diagnose.steps.repeat import REPEAT
from slowpath.diagnose.steps.separate import SEPARATE
from slowpath.diagnose.steps.settings import SETTINGS
from slowpath.diagnose.steps.single import SINGLE
from slowpath.diagnose.steps.survey import SURVEY
from slowpath.diagnose.steps.suspect import SUSPECT
from slowpath.diagnose.steps.trial import TRIAL
from slowpath.diagnose.steps.witness import WITNESS
from slowpath.diagnose.tasks import Task

KINDS: tuple[StepKind[Any], ...] = (
    STATE,
    SURVEY,
    PATH,
    SETTINGS,
    ALTERNATIVES,
    REPEAT,
    SUSPECT,
    LAUNCHES,
    SINGLE,
    WITNESS,
    SEPARATE,
    ATTRIBUTE,
    TRIAL,
    REFINE,
)


def kind_of(task: Task) -> StepKind[Any]:
    """The kind of step that decides it."""
    return next(kind for kind in KINDS if kind.task is type(task))
