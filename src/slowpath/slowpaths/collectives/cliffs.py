# SPDX-License-Identifier: Apache-2.0
"""Lengths of a collective's message at which more bytes take less time, or far more than their number. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.findings.facts import CLEAR_RATIO, SMALL_PAGE_BYTES, Difference, Facts, number, once, ratio_of
from slowpath.findings.witness import ROLES, of
from slowpath.slowpaths.collectives.under import EXPERIMENT, Under, remedy_of, share, times_s, twin
from slowpath.stats.estimate import Floats


@dataclass(frozen=True, kw_only=True)
class Cliff(Difference):
    """A length against a shorter or longer one. slow_s: of `pieces` of `length` where pieces > 1.

    shorter: the slow one is shorter than the fast one: it would be faster with bytes added.  pieces: else how many
    messages of the fast length make the slow one.  fast_s: of all of them.  faults: further page faults of a call.
    pages: of the slow message.  under: the same with what malloc frees kept; None: not measured.  cells: of the line.
    """

    collective: str
    shorter: bool
    pieces: int
    faults: float | None
    pages: float
    under: Under | None
    flat: tuple[tuple[str, float], ...]
    cells: tuple[CellResult, ...]


METRIC = "collective_work_s"

MOST_PIECES = 4  # neighbouring lengths further apart than that tell nothing of a cliff between them

FAULTS = 0.5  # of a page of the message: as many say that it was not there

LONGEST_SHORT = 16  # bytes added to a shorter message than this cost nothing: what differs there is no cliff


@once
def cliffs(facts: Facts) -> list[Cliff]:
    """Of each collective the worst step between two neighbouring lengths, in the user's own environment."""
    cells = facts.cells_of(EXPERIMENT)
    found = []
    for line in _lines(facts, cells):
        steps = [one for pair in pairwise(line) if (one := _step(facts, cells, line, pair)) is not None]
        if steps:
            found.append(max(steps, key=lambda one: one.excess_s))
    return found


def _lines(facts: Facts, cells: Sequence[CellResult]) -> list[list[CellResult]]:
    """Cells that differ in the length alone, ascending."""
    groups: dict[tuple[object, ...], list[CellResult]] = defaultdict(list)
    for cell in cells:
        p = dict(cell.parameters)
        plain = p.get("pattern") == "calls" and p.get("arrival", "together") == "together" and cell.copy == 1
        if plain and facts.is_default(cell) and p.pop("message_bytes", "") and times_s(cell, METRIC) is not None:
            groups[cell.group, cell.mpi, cell.placement, tuple(sorted(p.items()))].append(cell)
    lines = [sorted(line, key=lambda cell: number(cell, "message_bytes") or 0.0) for line in groups.values()]
    return [line for line in lines if len(line) > 1]


def _step(
    facts: Facts, cells: Sequence[CellResult], line: Sequence[CellResult], pair: tuple[CellResult, CellResult]
) -> Cliff | None:
    short, long = pair
    lengths = [number(cell, "message_bytes") or 0.0 for cell in pair]
    short_s, long_s = (times_s(cell, METRIC) for cell in pair)
    if short_s is None or long_s is None or short_s.size != long_s.size or lengths[0] < LONGEST_SHORT:
        return None
    if np.median(long_s) < np.median(short_s):
        slow, fast, pieces, slow_s, fast_s = short, long, 1, short_s, long_s
    else:
        pieces = int(np.ceil(lengths[1] / lengths[0]))
        slow, fast, slow_s, fast_s = long, short, long_s, pieces * short_s
    ratio = ratio_of(slow_s, fast_s, facts.minimum_effect)
    if pieces > MOST_PIECES or not ratio.beyond or ratio.least < CLEAR_RATIO:
        return None
    return Cliff(
        slow=slow,
        fast=fast,
        metric=METRIC,
        slow_s=float(np.median(slow_s)),
        fast_s=float(np.median(fast_s)),
        ratio=ratio,
        collective=slow.parameters.get("collective", ""),
        shorter=slow is short,
        pieces=pieces,
        faults=_more_faults(slow, fast, pieces),
        pages=(number(slow, "message_bytes") or 0.0) / SMALL_PAGE_BYTES,
        under=_kept(facts, cells, slow, fast, pieces),
        flat=tuple(_flat(facts, cells, slow)),
        cells=tuple(line),
    )


def _more_faults(slow: CellResult, fast: CellResult, pieces: int) -> float | None:
    """Page faults of a call more than of the pieces, of the rank that has most; None: not recorded."""
    found = []
    for role in ROLES:
        both = [one.minor_faults_per_op if (one := of(cell, "steady", role)) else None for cell in (slow, fast)]
        if both[0] is not None and both[1] is not None:
            found.append(both[0] - pieces * both[1])
    return max(found) if found else None


def _environments(facts: Facts, cells: Sequence[CellResult], cell: CellResult) -> Iterator[CellResult]:
    """The same cell where malloc is set to keep what is freed."""
    for environment in dict.fromkeys(cell.environment for cell in cells):
        there = twin(cells, cell, environment)
        if there is not None and set(facts.variables(there)) == {"GLIBC_TUNABLES"}:
            yield there


def _kept(facts: Facts, cells: Sequence[CellResult], slow: CellResult, fast: CellResult, pieces: int) -> Under | None:
    there = next(_environments(facts, cells, slow), None)
    if there is None:
        return None
    variables = dict(facts.variables(there))
    slow_s, changed_s, fast_s = (times_s(cell, METRIC) for cell in (slow, there, fast))
    pieces_s: Floats | None = None if fast_s is None else pieces * fast_s
    gone = share(slow_s, changed_s, pieces_s, pieces_s)
    launches = 0 if slow_s is None else slow_s.size
    return Under("", there.environment, None, variables, remedy_of(variables), gone, None, launches)


def _flat(facts: Facts, cells: Sequence[CellResult], slow: CellResult) -> Iterator[tuple[str, float]]:
    """Collectives of the same length without further page faults, with malloc set over without: what must stay."""
    for cell in cells:
        same = all(cell.parameters.get(name) == slow.parameters.get(name) for name in ("message_bytes", "pattern"))
        place = (cell.mpi, cell.placement) == (slow.mpi, slow.placement)
        seen = [one.minor_faults_per_op for role in ROLES if (one := of(cell, "steady", role)) is not None]
        quiet = bool(seen) and all(value is not None and value < FAULTS for value in seen)
        if not (same and place and quiet and facts.is_default(cell)):
            continue
        there = next(_environments(facts, cells, cell), None)
        own_s, changed_s = (None if one is None else times_s(one, METRIC) for one in (cell, there))
        if own_s is not None and changed_s is not None:
            yield cell.parameters.get("collective", ""), float(np.median(changed_s) / np.median(own_s))
