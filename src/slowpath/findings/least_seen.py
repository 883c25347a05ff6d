# SPDX-License-Identifier: Apache-2.0
"""What a run could not have seen: by its own spread, the smallest difference that it would have decided. Pure.

Two cells of a group are compared launch by launch, as contrasts are, and rules take a difference for a slow path from
where the lower end of its interval at 95 % lies beyond the minimum effect. The one given here is so large that 95 of
100 runs with the spread of this one show it. Medians are compared: what fewer than half of the messages pay is not in
it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

import msgspec
import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.findings.sweeps import launch_times
from slowpath.findings.words import SPEAKING
from slowpath.stats.contrast import SIGNIFICANCE
from slowpath.stats.estimate import mean

FOUND = 0.95  # of the runs
FEWEST_LAUNCHES = 3
_FIRST = "one_way_s"  # the metric whose first messages come from fresh buffers


class LeastSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Of a group of cells. ratio: the smallest that is decided.  excess_s: it makes of the group's shortest operation,
    seconds."""

    group: str
    phase: str
    metric: str
    ratio: float
    excess_s: float
    launches: int


def least_seen(cells: Iterable[CellResult], minimum_effect: float) -> list[LeastSeen]:
    """One for each group, phase and metric with two cells or more, in the order of the cells; those without a spread,
    and those that too few launches measured, are left out, and first messages that are no first use of a buffer."""
    groups: dict[tuple[str, str, str], list[tuple[float, Sequence[float]]]] = defaultdict(list)
    for cell in cells:
        for metric in SPEAKING:
            for phase in cell.metrics[metric].phases if metric in cell.metrics else ():
                if phase == "steady" or metric == _FIRST:
                    times_s = launch_times(cell.metrics[metric], str(phase))
                    groups[str(cell.group), str(phase), metric].append((median(times_s), times_s))
    rows = (_of(key, members, minimum_effect) for key, members in groups.items())
    return [row for row in rows if row is not None]


def _of(
    key: tuple[str, str, str], members: Sequence[tuple[float, Sequence[float]]], minimum_effect: float
) -> LeastSeen | None:
    group, phase, metric = key
    launches = max(len(values) for _, values in members)
    whole = [values for _, values in members if len(values) == launches and min(values) > 0]
    if launches < FEWEST_LAUNCHES or len(whole) < 2:
        return None
    spreads = [mean(np.log(np.array(one) / np.array(other))) for one, other in pairwise(whole)]
    errors = [spread.se for spread in spreads if spread.se]
    if not errors:
        return None
    ratio = math.exp(math.log1p(minimum_effect) + _standard_errors(launches - 1) * median(errors))
    shortest_s = min(value for value, _ in members)
    return LeastSeen(
        group=group, phase=phase, metric=metric, ratio=ratio, excess_s=(ratio - 1) * shortest_s, launches=launches
    )


def _standard_errors(df: float) -> float:
    """By how many of them, as a median of estimates, a true difference must exceed what is asked for, to be shown FOUND
    of the time: where Student's non-central t has that share beyond the end of the interval."""
    from scipy import special

    end = special.stdtrit(df, 1 - SIGNIFICANCE / 2)
    median_of_estimates = math.sqrt(special.chdtri(df, 0.5) / df)  # of the true standard error
    return float(special.nctdtrinc(df, 1 - FOUND, end)) / median_of_estimates
