# SPDX-License-Identifier: Apache-2.0
"""Which combinations of values become cells: all of them, or the runs of a screening design. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from slowpath.core.errors import UsageError
from slowpath.stats.screening import MOST_FACTORS, design

Values = Mapping[str, list[str]]
_FACTORS_OF = {2: 1, 4: 2}  # two-level factors that so many values make up


@dataclass(frozen=True)
class Plane:
    """Points of a group. crossed: axes of which every combination is taken, in the order of the group's axes.

    runs: each with a value of every other axis; one without any where there are no others.
    """

    axes: Values
    crossed: Values
    runs: tuple[Mapping[str, str], ...] = ({},)

    @property
    def count(self) -> int:
        """Points."""
        return math.prod(len(values) for values in self.crossed.values()) * len(self.runs)

    def points(self) -> Iterator[dict[str, str]]:
        """Each with a value of every axis, in the order of the axes."""
        for values in itertools.product(*self.crossed.values()):
            there = dict(zip(self.crossed, values, strict=True))
            for run in self.runs:
                both = {**there, **run}
                yield {name: both[name] for name in self.axes}


def every(axes: Values) -> Plane:
    """All combinations."""
    return Plane(axes, axes)


def screened(parameters: Collection[str], axes: Values) -> Plane:
    """Of parameters with two values, or with four, the runs of `stats.screening.design`; all else is crossed.

    Four values are the levels of two factors, lower-lower, upper-lower, lower-upper and upper-upper: `0:0`, `1:0`,
    `0:1`, `1:1`.

    Args:   parameters: names of the axes that are the experiment's.  axes: with all values.
    Raises: UsageError: no factor, or too many of them.
    """
    varied = {name: values for name, values in axes.items() if name in parameters and len(values) in _FACTORS_OF}
    factors = sum(_FACTORS_OF[len(values)] for values in varied.values())
    if not 2 <= factors <= MOST_FACTORS:
        raise UsageError(
            f"screening needs 2 to {MOST_FACTORS} factors, each a parameter with two values (or two of them as one "
            f"with four); here are {factors}"
        )
    runs = []
    for levels in design(factors):
        upper = iter(levels > 0)
        runs.append({name: values[_place(len(values), upper)] for name, values in varied.items()})
    return Plane(axes, {name: values for name, values in axes.items() if name not in varied}, tuple(runs))


def _place(count: int, upper: Iterator[bool]) -> int:
    """Of a value: its factors' levels as binary digits, the first factor's the lowest."""
    return sum(int(next(upper)) << digit for digit in range(_FACTORS_OF[count]))
