# SPDX-License-Identifier: Apache-2.0
"""What a survey costs by the number of ranks, before any of it is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowpath.core.units import listed
from slowpath.diagnose.ranks.job import Job
from slowpath.diagnose.ranks.survey import Estimate, Kept, survey_s

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
    return ["cost of the survey by ranks, each with a core of its own:", *(one.line for one in found)]


def left_out_line(left_out: Sequence[str], budget_s: float, ranks: int) -> list[str]:
    """What a budget does not hold; []: nothing.  Args: budget_s: of the whole diagnosis."""
    if not left_out:
        return []
    most_s = survey_s(budget_s, ranks)
    return [f"left out, since the survey may take {most_s:.0f} s of {budget_s:.0f} s: {', '.join(left_out)}"]


def _some(names: Sequence[str]) -> str:
    most = 2
    shown = list(names[:most])
    return listed([*shown, f"{len(names) - most} more groups"] if len(names) > most else shown)
