# SPDX-License-Identifier: Apache-2.0
"""Lines along which a cost grows with a number. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.findings.difference import LAW_RATIO, Difference
from slowpath.findings.facts import Facts
from slowpath.findings.laws import named
from slowpath.findings.lines import lines_along
from slowpath.findings.words import SPEAKING
from slowpath.stats.laws.found import FittedLaw


@dataclass(frozen=True, kw_only=True)
class Growth(Difference):
    """Along one number the time follows another law than a constant: the slowest point against the least number."""

    phase: str
    slow_value: float
    fast_value: float
    law: FittedLaw
    cells: tuple[CellResult, ...]


POLL = "poll_s"  # of a call that finds nothing
GROWTH_METRICS = (*SPEAKING, "receive_s", POLL)


def growths(facts: Facts, covariate: str, names: Sequence[str], *, phase: str = "steady") -> Iterator[Growth]:
    """Lines over a covariate that follow another of these laws than a constant, beyond the minimum effect.

    The slowest point is held against the one with the least of what is swept: what a user would compare with.
    """
    laws = named(names)
    for line in lines_along(facts, covariate, phase=phase, metrics=GROWTH_METRICS):
        values = line.sweep.covariates[covariate]
        slow, fast = line.slowest, int(values.argmin())
        ratio = line.picked_ratio(slow, fast)
        if not ratio.beyond or ratio.least < LAW_RATIO or (law := line.among(laws)).fits in (None, "constant"):
            continue
        yield Growth(
            slow=line.cells[slow],
            fast=line.cells[fast],
            metric=line.sweep.metric,
            slow_s=float(line.centre_s[slow]),
            fast_s=float(line.centre_s[fast]),
            ratio=ratio,
            phase=line.sweep.phase,
            slow_value=float(values[slow]),
            fast_value=float(values[fast]),
            law=law,
            cells=line.cells,
        )
