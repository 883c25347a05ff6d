# SPDX-License-Identifier: Apache-2.0
"""What a kind of step is: how its results change the conclusion, and how it sums itself up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from slowpath.core.results import Finding, Results
from slowpath.diagnose.records import DiagnosisStep
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.tasks import Task
from slowpath.mpi.settings import Forced
from slowpath.run.schedule import Against

T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class StepConclusion:
    """What follows from the steps so far. shown: by the last attribution, one sentence; None: nothing."""

    findings: Sequence[Finding] = ()
    shown: str | None = None

    def finding(self, wanted: str) -> Finding | None:
        """By its id."""
        return next((finding for finding in self.findings if finding.id == wanted), None)

    def changed(self, wanted: str, change: Callable[[Finding], Finding]) -> StepConclusion:
        """With one finding changed."""
        return replace(
            self, findings=[change(finding) if finding.id == wanted else finding for finding in self.findings]
        )

    def without(self, gone: str) -> StepConclusion:
        """Without one finding."""
        return replace(self, findings=[finding for finding in self.findings if finding.id != gone])

    def with_findings(self, more: Sequence[Finding]) -> StepConclusion:
        """With more findings."""
        return replace(self, findings=[*self.findings, *more])


def unchanged(before: StepConclusion, *_: object) -> StepConclusion:
    """Of a step that shows nothing by itself: `judged` adds what it measured to what the rules see in other runs."""
    return before


@dataclass(frozen=True)
class StepHistory:
    """A step among all that were measured. forced: the user's variables that force a slow state."""

    step: DiagnosisStep
    measured: Sequence[MeasuredStep]
    forced: Sequence[Forced]


@dataclass(frozen=True)
class StepKind(Generic[T]):
    """One kind of step; what it proposes stands in `order`.

    task: what a step of it is to decide.  apply: the conclusion after its results.  summary: one sentence for the log,
    from the conclusions before and after it.
    required: no diagnosis without it: it is measured whatever the budget, and its failure ends the diagnosis.
    adds_evidence: it changes what the rules see in other runs, so that all steps are applied anew after it.
    most_s: wall time after which none of its launches is started; None: no limit of its own.
    numbers: what it measured that no rule judges, in words; None: nothing.
    against: what its launches are held against, so that one that takes many times as long is ended; None: nothing.
    """

    task: type[T]
    apply: Callable[[StepConclusion, T, Results, StepHistory], StepConclusion]
    summary: Callable[[T, StepConclusion, StepConclusion], str]
    required: bool = False
    adds_evidence: bool = False
    most_s: float | None = None
    numbers: Callable[[Results], str | None] = lambda _: None
    against: Callable[[T], Against | None] = lambda _: None
