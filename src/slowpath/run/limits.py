# SPDX-License-Identifier: Apache-2.0
"""When a run is over, and when one of its launches is given up. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.plan import Launch
from slowpath.core.units import format_time

DEFAULT_CELL_TIMEOUT_S = 60.0
# A launch that would end soon after the budget is worth waiting for: without it its cells lack a round.
OVERRUN_RATIO, OVERRUN_S = 0.1, 2.0


@dataclass(frozen=True)
class Against:
    """Launches that are held against those in one environment and placement: whoever takes `times` as long as the
    longest of these is ended, and that is a result.

    least_s: nobody is ended before.  unknown_s: limit while none of these has ended well.
    """

    environment: str
    placement: str
    times: float
    least_s: float
    unknown_s: float

    def is_reference(self, planned: Launch) -> bool:
        """Whether the others are held against it."""
        return (planned.environment, planned.placement) == (self.environment, self.placement)

    def limit_s(self, walls_s: Sequence[float]) -> float:
        """Of a launch.  Args: walls_s: of those that it is held against, so far."""
        return max(self.least_s, self.times * max(walls_s)) if walls_s else self.unknown_s

    @property
    def words(self) -> str:
        """Why a launch was ended."""
        return (
            f"it took more than {self.times:g} times as long as launches in environment '{self.environment}', "
            f"placement '{self.placement}', so it was ended"
        )


@dataclass(frozen=True)
class Patience:
    """How long a launch may stand still by what it was estimated to take: `times` its longest part, its start or one
    of its cells, and least_s at least.

    launch_s: start and end of a job of two ranks here; None: not timed.
    """

    launch_s: float | None = None
    times: float = 20.0
    least_s: float = 10.0

    def limit_s(self, part_s: float) -> float:
        """Args: part_s: of the launch's longest part, as it was estimated."""
        return max(self.least_s, self.times * part_s)


@dataclass(frozen=True)
class RunLimits:
    """cell_timeout_s: time without progress after which a launch counts as hung.  budget_s: wall time of the run.

    against: None: launches are not held against each other.  ends_launches: whether one that still runs when the budget
    is over is ended, soon after it; what it measured until then counts.  patience: where somebody waits for the end of
    a budget, a launch counts as hung sooner; None: it does not.
    fair_s: where cells take many times as long as estimated, those that take longest are put off until the others have
    the rounds that a conclusion needs within this time (slow_cells); None: every launch measures all of its cells.
    """

    cell_timeout_s: float = DEFAULT_CELL_TIMEOUT_S
    budget_s: float | None = None
    against: Against | None = None
    ends_launches: bool = False
    patience: Patience | None = None
    fair_s: float | None = None

    def budget_end_s(self, spent_s: float) -> float:
        """Return after which time a launch is ended for the budget, s; inf: never.  Args: spent_s: before it began."""
        if self.budget_s is None or not self.ends_launches:
            return math.inf
        return max(0.0, self.budget_s - spent_s) + max(OVERRUN_S, OVERRUN_RATIO * self.budget_s)


def hung_words(idle_s: float, cell_timeout_s: float, part_s: float) -> str:
    """Why a launch that did not move for idle_s was ended.  Args: part_s: as _Begun has it."""
    if idle_s >= cell_timeout_s:
        return f"no progress for {idle_s:g} s (--cell-timeout), so it was ended"
    longest = format_time(part_s)
    return f"no progress for {idle_s:.3g} s where the longest step was estimated to take {longest}, so it was ended"
