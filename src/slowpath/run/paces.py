# SPDX-License-Identifier: Apache-2.0
"""How long launches take here, learned from steps of the same command that are over.

The estimates of a collective are those of a slow machine of two cores (`CollCost`): on a host whose ranks have cores of
their own a verification was forecast at 21 minutes and took 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.errors import SlowpathError
from slowpath.core.pace import Pace
from slowpath.core.plan import Plan
from slowpath.plan.cost import LaunchTime, pace_of, times_of, typical_ratio
from slowpath.record.folder import read_launches
from slowpath.record.plan_files import read_plan


@dataclass
class Paces:
    """By number of ranks: kinds of launches that are over.

    launch_s: start and end of a job of two ranks, as campaigns were estimated with; None: not timed.
    """

    launch_s: float | None = None
    _times: dict[int, list[LaunchTime]] = field(default_factory=dict)

    def add(self, run: Path, ranks: int, nodes: int = 1) -> None:
        """A step that is over, or as far as it came; one that can't be read teaches nothing. nodes: as allocated."""
        try:
            plan, launches = read_plan(run / "plan.json"), read_launches(run)
        except (OSError, SlowpathError):
            return
        wall_s = {one.launch: one.wall_s for one in launches if one.ended == "ok" and one.wall_s}
        self.learn(plan, ranks, wall_s, nodes)

    def learn(self, plan: Plan, ranks: int, wall_s: Mapping[int, float], nodes: int = 1) -> None:
        """Args: wall_s: launch -> seconds, of launches that ended well."""
        self._times.setdefault(ranks, []).extend(times_of(plan, wall_s, nodes, self.launch_s))

    def pace(self, ranks: int) -> Pace:
        """Of these ranks; of all others where nothing is known of these."""
        own = self._times.get(ranks)
        return pace_of(own or [one for times in self._times.values() for one in times])

    def ratio(self, ranks: int) -> float | None:
        """Wall time over the estimated, as most kinds of launches of these ranks took it; None: too few are over."""
        return typical_ratio(self._times.get(ranks, []))

    @property
    def is_empty(self) -> bool:
        """Whether no launch is over."""
        return not any(self._times.values())
