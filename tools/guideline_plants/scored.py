# SPDX-License-Identifier: Apache-2.0
"""What SP036 says of a clean run, and of the same with plants."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guideline_plants.taken import Taken, cells_of
from slowpath.core.cell_results import CellResult
from slowpath.core.plan import Cell
from slowpath.slowpaths.collectives.violations import LEAST, WAY
from slowpath.slowpaths.collectives.violations import JudgedViolation as Judged
from slowpath.slowpaths.collectives.violations import judged_violations as judged
from slowpath.slowpaths.collectives.violations import way_lines as lines

Place = tuple[str, int]  # collective and bytes


@dataclass(frozen=True)
class Clean:
    """noise: standard deviation of the logarithm of a ratio of the same launch, median over contrasts."""

    contrasts: int
    launches: int
    named: list[str]
    noise: float


@dataclass(frozen=True)
class Planted:
    """found: places.  missed, invented: in words.  held: of those found, with the factor in the interval."""

    found: list[Place]
    missed: list[str]
    invented: list[str]
    held: int


def clean_run(taken: Taken, least: float) -> Clean:
    """Nothing is planted: whatever is named is invented."""
    cells = cells_of(taken)
    points = [point for line in lines(cells) if line.axis == WAY for point in line.points]
    spreads = [
        float(np.std(np.log(point.base.times_s / other.times_s), ddof=1))
        for point in points
        for other in point.others.values()
    ]
    named = [_words(one) for one in _of_ways(cells, least)]
    return Clean(len(points), taken.launches, named, float(np.median(spreads)))


def planted_run(taken: Taken, plants: int, factors: tuple[float, float], seed: int) -> Planted:
    """Each plant in one collective at one length, its factor drawn evenly on a logarithmic scale."""
    drawn = random.Random(seed)
    places = sorted({_place(cell) for cell in taken.cells})
    low, high = (math.log(end) for end in factors)
    planted = {place: math.exp(drawn.uniform(low, high)) for place in drawn.sample(places, plants)}

    def factor_of(cell: Cell) -> float:
        return planted.get(_place(cell), 1.0) if cell.copy == 1 else 1.0

    named = {
        (one.candidate.line.collective, one.candidate.point.bytes): one
        for one in _of_ways(cells_of(taken, factor_of), LEAST)
    }
    found = [place for place in planted if place in named]
    return Planted(
        found,
        [
            f"{name} {length} B, {factor:.2f}x"
            for (name, length), factor in planted.items()
            if (name, length) not in named
        ],
        [_words(one) for place, one in named.items() if place not in planted],
        sum(_holds(named[place], planted[place]) for place in found),
    )


def _of_ways(cells: Sequence[CellResult], least: float) -> list[Judged]:
    """What is named of the copies. A call in pieces is another call and may be faster: that is no invention."""
    return [one for one in judged(cells, least) if one.candidate.line.axis == WAY and one.is_beyond(least)]


def _place(cell: Cell) -> Place:
    return cell.parameters["collective"], int(cell.parameters["message_bytes"])


def _holds(one: Judged, factor: float) -> bool:
    interval = one.proof.interval
    return interval is not None and interval[0] <= factor <= interval[1]


def _words(one: Judged) -> str:
    point, interval = one.candidate.point, one.proof.interval or (math.nan, math.nan)
    ratio = f"{one.proof.ratio:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"
    return f"{one.candidate.line.collective} {point.bytes} B: {ratio}, p {one.p}"
