# SPDX-License-Identifier: Apache-2.0
"""How long launches take here, learned from launches that are over. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from slowpath.core.plan import Plan
from slowpath.plan.cost import AS_ESTIMATED, Kind, Pace, kind_of, launch_parts_s

# Kinds of launches whose cells differ less than this tell start and cells apart by noise alone.
_LEAST_SPREAD: Final = 2.0


@dataclass(frozen=True)
class LaunchTime:
    """One kind of launch that is over. start_s, cells_s: as estimated.  wall_s: as it took, median."""

    start_s: float
    cells_s: float
    wall_s: float


def times_of(plan: Plan, wall_s: Mapping[int, float], nodes: int = 1) -> list[LaunchTime]:
    """Each kind of launch of a plan that is over.

    Args: wall_s: launch -> what it took, seconds; of launches that ended well.  nodes: of the allocation.
    """
    took_s: dict[Kind, list[float]] = defaultdict(list)
    for launch in plan.launches:
        if launch.launch in wall_s:
            took_s[kind_of(launch)].append(wall_s[launch.launch])
    parts_s = launch_parts_s(plan, nodes)
    return [LaunchTime(parts_s[kind][0], sum(parts_s[kind][1]), median(times)) for kind, times in took_s.items()]


def pace_of(times: Sequence[LaunchTime]) -> Pace:
    """Return the line over kinds of launches, or one ratio where their cells are too much alike.

    Least squares of seconds, not of ratios: the launches with most cells are most like what is still to come.
    """
    estimated_s = sum(one.start_s + one.cells_s for one in times)
    if estimated_s <= 0:
        return AS_ESTIMATED
    ratio = sum(one.wall_s for one in times) / estimated_s
    plain = Pace(ratio, ratio)
    cells_s = [one.cells_s for one in times]
    if max(cells_s) < _LEAST_SPREAD * min(cells_s):
        return plain
    s1, sx = float(len(times)), sum(cells_s)
    sxx, sy = sum(x * x for x in cells_s), sum(one.wall_s for one in times)
    sxy = sum(one.cells_s * one.wall_s for one in times)
    cells_ratio = (s1 * sxy - sx * sy) / (s1 * sxx - sx * sx)
    start_s = (sy - cells_ratio * sx) / s1
    if cells_ratio <= 0:
        return plain
    if start_s < 0:
        return Pace(0.0, sxy / sxx)
    return Pace(start_s * len(times) / sum(one.start_s for one in times), cells_ratio)
