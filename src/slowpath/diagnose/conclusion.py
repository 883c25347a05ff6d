# SPDX-License-Identifier: Apache-2.0
"""What follows from the steps of a diagnosis, in order. Pure: the same folders give the same findings."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.diagnose.state import Measured
from slowpath.diagnose.steps.kind import Conclusion, History
from slowpath.diagnose.steps.registry import kind_of
from slowpath.mpi.forced import Forced


def conclude(measured: Sequence[Measured], forced: Sequence[Forced]) -> Conclusion:
    """From all steps, the survey first.

    Args: forced: variables of the user's that force a slow state.
    """
    concluded = Conclusion()
    for one in measured:
        concluded = _applied(concluded, one, measured, forced)
    return concluded


def advance(before: Conclusion, measured: Sequence[Measured], forced: Sequence[Forced]) -> Conclusion:
    """`conclude(measured)`, from what it was without the last step."""
    if kind_of(measured[-1].step.task).adds_evidence:
        return conclude(measured, forced)
    return _applied(before, measured[-1], measured, forced)


def _applied(before: Conclusion, one: Measured, measured: Sequence[Measured], forced: Sequence[Forced]) -> Conclusion:
    task = one.step.task
    return kind_of(task).apply(before, task, one.results, History(one.step, measured, forced))
