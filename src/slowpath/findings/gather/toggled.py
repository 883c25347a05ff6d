# SPDX-License-Identifier: Apache-2.0
"""Contrasts of collectives as remedies that the run toggled itself, and what these must leave as it is. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.collectives import CLOSED, Share, Toggled
from slowpath.findings.evidence.evidence import Slowdown
from slowpath.findings.evidence.words import sizes
from slowpath.findings.gather.source import Source
from slowpath.findings.gather.stayed import stayed
from slowpath.findings.gather.under import EXPERIMENT, decided, remedy_of, share, times_s, twin
from slowpath.findings.observation import Stayed
from slowpath.stats.removed import toggled as taken_away

# Axis -> collectives that no library of mpi.collective_paths has a fast path for, so that none can be closed to them.
# A scan keeps the order of the ranks with any op; its calls pay for the op itself, as a reduction's do.
PATHLESS: Mapping[str, Sequence[str]] = {"op": ("scan",), "start": ("alltoall",), "environment": ("alltoall",)}


def toggled(source: Source) -> list[Toggled]:
    """Of each decided contrast of these axes."""
    cells = source.cells_of(EXPERIMENT)
    return [found for one in decided(source, PATHLESS) for found in _of(source, cells, one)]


def _of(source: Source, cells: Sequence[CellResult], one: Slowdown) -> Iterator[Toggled]:
    after = _after(source, cells, one) if one.axis == "environment" else one.fast
    slow_s, fast_s = (times_s(cell, one.metric) for cell in (one.slow, one.fast))
    if after is None or slow_s is None or fast_s is None or slow_s.size != fast_s.size:
        return
    removed: Share | None
    if after is one.fast:
        found = taken_away(slow_s, fast_s)
        removed = None if found is None else (found.value, *found.interval)
    else:
        removed = share(slow_s, times_s(after, one.metric), fast_s, fast_s)
    if removed is not None:
        controls = tuple(_stayed(source, cells, one, after))
        yield Toggled(one.contrast, removed, int(slow_s.size), controls)


def _after(source: Source, cells: Sequence[CellResult], one: Slowdown) -> CellResult | None:
    """The slow side where the variables that make it slow are set to what a remedy of the table sets."""
    mine = source.variables(one.slow)
    for environment in dict.fromkeys(cell.environment for cell in cells):
        there = twin(cells, one.slow, environment)
        if there is None or there is one.slow:
            continue
        variables = dict(source.variables(there))
        if variables.keys() == mine.keys() and remedy_of(variables) is not None:
            return there
    return None


def _stayed(source: Source, cells: Sequence[CellResult], one: Slowdown, after: CellResult) -> Iterator[Stayed]:
    for name in PATHLESS[one.axis]:
        if name == one.slow.parameters.get("collective"):
            continue
        before, changed = (_as(cells, cell, name) for cell in (one.slow, after))
        words = " of ".join(filter(None, (name, sizes([one.slow]))))
        yield from _pair(one, before, changed, f"{words}, which has no such path")
        open_one = _as(cells, one.fast, name)
        for closed in _closed(source, cells, open_one):
            yield from _pair(one, open_one, closed, f"{words}, under the variable that closes the path")


def _as(cells: Sequence[CellResult], cell: CellResult, collective: str) -> CellResult | None:
    """The same cell of its group with another collective."""
    asked = {**cell.parameters, "collective": collective}
    place = (cell.group, cell.mpi, cell.environment, cell.placement, cell.copy)
    return next(
        (
            other
            for other in cells
            if (other.group, other.mpi, other.environment, other.placement, other.copy) == place
            and other.parameters == asked
        ),
        None,
    )


def _closed(source: Source, cells: Sequence[CellResult], cell: CellResult | None) -> Iterator[CellResult]:
    for environment in dict.fromkeys(one.environment for one in cells):
        there = twin(cells, cell, environment) if cell else None
        if there is not None and source.setting(there) == CLOSED:
            yield there


def _pair(one: Slowdown, own: CellResult | None, changed: CellResult | None, words: str) -> Iterator[Stayed]:
    own_s, changed_s = (None if cell is None else times_s(cell, one.metric) for cell in (own, changed))
    if own is not None and own_s is not None and changed_s is not None and own_s.size == changed_s.size:
        yield stayed(own.environment, words, own_s, changed_s, one.ratio.value)
