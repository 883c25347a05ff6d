# SPDX-License-Identifier: Apache-2.0
"""SP053: a barrier next to a collective that waits for all ranks itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.findings.program_pattern import NONE, Bools, Ints, ProgramCalls, ProgramSlowPath, SeenPattern, most, usual

# What each rank gets from them depends on all ranks, or, of those with a root, on what all gave it.
OF_ALL = (
    *("MPI_Allreduce", "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw"),
    *("MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Barrier"),
)
WITH_ROOT = ("MPI_Reduce", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv")
LEAST = 10  # barriers of a rank at one place
LEAST_SHARE = 0.9  # of them that are next to one
SHORT_S = 1e-6  # between the two, or as long as the barrier itself: nothing else happens there


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Barriers that follow, or are followed by, a collective of the same communicator; those of one collective are one
    pattern: each may cost little, and whoever leaves out one leaves out both.
    """
    barrier = calls.named("MPI_Barrier") & calls.is_collective
    if not barrier.any():
        return ()
    before, after = _next_to(calls, barrier, 1), _next_to(calls, barrier, -1)
    beside: dict[tuple[int, int], list[tuple[Ints, int]]] = {}
    for site in np.unique(calls.site[barrier]).tolist():
        here = barrier & (calls.site == site)
        each = np.bincount(calls.rank[here])
        for near, step in ((after, -1), (before, 1)):
            rows = np.flatnonzero(here & near)
            if each.max() < LEAST or rows.size < LEAST_SHARE * here.sum():
                continue
            sites, counts = np.unique(calls.site[rows + step], return_counts=True)
            collective = int(sites[counts.argmax()])
            # Of collectives at places that are not known nobody knows which are the same.
            key = (collective, NONE) if collective != NONE else (NONE, site)
            beside.setdefault(key, []).append((rows, step))
            break
    return [_pattern(calls, parts) for parts in beside.values()]


def _next_to(calls: ProgramCalls, barrier: Bools, step: int) -> Bools:
    """Barriers whose next call (-1: last) of the thread is a collective that makes them needless, without a pause.

    Behind one-sided calls a barrier may be what tells the others that their data is there.
    """
    rows = np.flatnonzero(barrier)
    other = rows + step
    inside = (other >= 0) & (other < len(calls))
    rows, other = rows[inside], other[inside]
    fits = (calls.thread[rows] == calls.thread[other]) & (calls.communicator[rows] == calls.communicator[other])
    names = OF_ALL if step < 0 else (*OF_ALL, *WITH_ROOT)
    fits &= (calls.named(*names) & calls.is_collective)[other]
    fits &= ~((step < 0) & barrier[other])  # of two barriers the first is the needless one
    gap_s = calls.gap_s[np.maximum(rows, other)]
    fits &= gap_s <= max(SHORT_S, float(np.median(calls.own_s[rows])) if rows.size else 0.0)
    fits &= ~_after_one_sided(calls)[rows]
    found = np.zeros(len(calls), dtype=bool)
    found[rows[fits]] = True
    return found


def _after_one_sided(calls: ProgramCalls) -> Bools:
    """Calls before which their thread's last call but messages' completions was a one-sided one."""
    found = np.zeros(len(calls), dtype=bool)
    found[1:] = calls.is_one_sided[:-1] & (calls.thread[1:] == calls.thread[:-1])
    return found


def _pattern(calls: ProgramCalls, parts: Sequence[tuple[Ints, int]]) -> SeenPattern:
    """Args: parts: of each place its barriers, and where their collective is: 1: they stand before it, -1: after it."""
    rows = np.concatenate([part for part, _ in parts])
    total = round(float(calls.per_collective[rows].sum()))
    beside = np.concatenate([part + step for part, step in parts])
    other = calls.names[int(np.bincount(calls.call[beside]).argmax())]
    words = " and ".join(word for word, side in (("before", 1), ("after", -1)) if side in {step for _, step in parts})
    own_s, place = calls.own_s[rows], calls.site[rows]
    sites = most(place, own_s)
    return SeenPattern(
        sites=sites,
        count=total,
        text=f"{total:,} MPI_Barrier in {{place}}{' and {other}' if len(sites) > 1 else ''} directly {words} {other} "
        "on the same ranks",
        change="remove the barrier, unless it separates what MPI can't see: files, shared memory, timings",
        basis="the barriers' own time after the last rank's arrival; the wait for it remains, in the next call",
        rows=rows,
        saved_s=np.stack([usual(own_s, place), usual(own_s, place, 1.0), own_s], axis=1),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP053",
    name="redundant barrier",
    title="A barrier stands next to a collective that synchronizes by itself",
    what="MPI keeps collectives of one communicator apart without a barrier, which makes every rank wait for the "
    "last one once more.",
    needs="A watched program: nine of ten barriers at one place are next to a collective that synchronizes by "
    "itself. The saving is the barriers' own time from the last arrival on.",
    remedy="Leave the barrier out, unless it separates something that MPI does not see: timings, files, shared memory.",
    cause="The barrier does what the collective does anyway.",
    needs_law=False,
    kind="property",
    pattern=see,
)
