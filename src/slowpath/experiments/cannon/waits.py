# SPDX-License-Identifier: Apache-2.0
"""Who waits for whom, read off the times: the rank that came last to the communication of a step. Pure.

The record does not name partners. In Cannon's algorithm each step's strips come from the neighbours in the grid, so
the neighbour that began its communication of the same step last, after the waiting began, is the one waited for. Where
a synchronisation is collective, every rank is a candidate.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cannon_results import TimelineInterval, TimelineWait

COMMUNICATION = ("issue", "wait", "copy", "synchronise", "skew", "distribute", "gather")
BLOCKING = ("wait", "synchronise")
LEAST = 0.02  # of the whole multiplication: shorter waits are left out


def waits(
    intervals: Sequence[TimelineInterval], grid: tuple[int, int] | None, least: float = LEAST
) -> list[TimelineWait]:
    """The waits of one repetition, by rank and time.

    Args:
        intervals: one repetition of a TIMELINE (docs/reference/results.md) on one clock.
        grid: rows and columns of the ranks, in row-major order; None: not known, then every rank is a candidate.
        least: share of the repetition below which a wait is left out.
    """
    inside = [interval for interval in intervals if interval.part not in ("generate", "total")]
    if not inside:
        return []
    length_s = max(one.end_s for one in inside) - min(one.begin_s for one in inside)
    came: dict[tuple[int, int], float] = {}
    for one in inside:
        if one.part in COMMUNICATION:
            key = one.rank, one.step
            came[key] = min(came.get(key, one.begin_s), one.begin_s)
    ranks = sorted({one.rank for one in inside})
    found = []
    for one in inside:
        if one.part not in BLOCKING:
            continue
        candidates = _candidates(one.rank, one.part, ranks, grid)
        arrivals = [(came[rank, one.step], rank) for rank in candidates if (rank, one.step) in came]
        # Whoever came after the wait was over was not waited for.
        until_s, last = max((a for a in arrivals if a[0] <= one.end_s), default=(one.begin_s, one.rank))
        if until_s - one.begin_s >= least * length_s:
            found.append(TimelineWait(rank=one.rank, last=last, step=one.step, begin_s=one.begin_s, until_s=until_s))
    return found


def _candidates(rank: int, part: str, ranks: Sequence[int], grid: tuple[int, int] | None) -> list[int]:
    others = [other for other in ranks if other != rank]
    if grid is None or part == "synchronise" or grid[0] * grid[1] != len(ranks):
        return others
    rows, columns = grid
    row, column = divmod(rank, columns)
    around = {((row + i) % rows) * columns + (column + j) % columns for i, j in ((0, 1), (0, -1), (1, 0), (-1, 0))}
    return sorted(around - {rank})
