# SPDX-License-Identifier: Apache-2.0
"""SP051: reductions of few elements in a row, which one could do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.findings.program_pattern import (
    SHORT_BYTES,
    Bools,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    grouped,
    merged,
    most,
)

REDUCTIONS = ("MPI_Allreduce", "MPI_Reduce", "MPI_Bcast")
LEAST_RUN = 4
LEAST_RUNS = 3  # of one length, where all of a run use one buffer: a loop until something converges has others
NO_COMPUTING_S = 100e-9  # between two that use one buffer: a loop's step, and no work on what was reduced
MOST_GAP = 1.0  # times the call before: what is reduced next was there before
LEAST_PAUSE = 8.0  # times the gaps within a run: between two runs something else happens
# Between two MPI calls of reductions of objects: pickling a number, unpickling it and a pass of a Python loop take 5 to
# 20 us; what computes for longer may be what the next reduction is about.
MOST_PICKLING_S = 50e-6
MOST_USUAL = 3.0  # times the median of the runs: longer is a rank without a core


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place: runs of short reductions on one communicator with nothing but a loop's step between them."""
    chosen = calls.named(*REDUCTIONS) & calls.is_collective & (calls.bytes <= SHORT_BYTES) & (calls.bytes > 0)
    found = [pattern for site in np.unique(calls.site[chosen]) for pattern in _at(calls, chosen, int(site))]
    return found + [pattern for name in sorted({*calls.within} - {""}) for pattern in _of_objects(calls, name)]


def _at(calls: ProgramCalls, chosen: Bools, site: int) -> Iterator[SeenPattern]:
    here = chosen & (calls.site == site)
    rows = np.flatnonzero(here)
    run = _runs(calls, here)[rows]
    _, run = np.unique(run, return_inverse=True)
    run = run.reshape(-1)
    length = np.bincount(run)
    fits = (length >= LEAST_RUN) & _has_elements(calls, rows, run, length)
    inside = fits[run]
    rows, run = rows[inside], run[inside]
    if not rows.size:
        return
    each = float(length[run].mean())
    total = round(float(calls.per_collective[rows].sum()))
    size = float(calls.bytes[rows].mean())
    name = calls.names[int(np.bincount(calls.call[rows]).argmax())]
    yield SeenPattern(
        sites=most(calls.site[rows], calls.own_s[rows]),
        count=total,
        text=f"{total:,} {name} of {format_bytes(round(size))} in {{place}}, {each:.0f} in a row on one communicator",
        change=f"put their operands into one array and call {name} once, with {each:.0f} times as many elements",
        basis="the calls' own time, less one call and 1 ns a byte for the longer one",
        rows=rows,
        saved_s=merged(calls.own_s[rows], calls.call[rows], 1.0 - 1.0 / length[run], calls.bytes[rows].astype(float)),
    )


def _of_objects(calls: ProgramCalls, name: str) -> Iterator[SeenPattern]:
    """Calls of a binding's function that pickles: each is several MPI calls, and most of its time lies between them."""
    within = np.array([one == name for one in (*calls.within, "")], dtype=bool)
    here = within[calls.site] & (calls.bytes <= SHORT_BYTES)  # a site that is not known is NONE, the last
    goes_on = np.zeros(len(calls), dtype=bool)
    goes_on[1:] = here[1:] & here[:-1] & (calls.gap_s[1:] <= MOST_PICKLING_S)
    rows = np.flatnonzero(here)
    _, run = np.unique(np.cumsum(~goes_on)[rows], return_inverse=True)
    run = run.reshape(-1)
    made = _made(calls.site[rows], run)
    inside = made[run] >= LEAST_RUN
    rows, run = rows[inside], run[inside]
    if not rows.size:
        return
    runs, first = np.unique(run, return_index=True)
    a_call = made[run] / np.bincount(run)[run]  # of the function, that each MPI call is
    total = float((calls.per_collective[rows] * a_call).sum())
    share = 1.0 - 1.0 / made[run]
    value_s, high_s = _elapsed(calls, rows, run, made)
    low_s = merged(calls.own_s[rows], calls.call[rows], share, calls.bytes[rows].astype(float))[:, 1]
    alone_s = np.stack([np.zeros(rows.size), low_s, np.zeros(rows.size)], axis=1)
    method = name.rpartition(".")[2]
    buffers = method.capitalize()
    yield SeenPattern(
        sites=most(calls.site[rows], calls.own_s[rows]),
        count=max(round(total), 1),
        text=f"{round(total):,} {name} of an object in {{place}}, {made[runs].mean():.0f} in a row, each of them "
        f"{rows.size / made[run][first].sum():.1f} MPI calls a rank with pickled bytes",
        change=f"put their operands into one array and call comm.{buffers} once, without pickling (where each depends "
        f"on the last, comm.{buffers} of one number still avoids it)",
        basis="the time from the first to the last of these calls, less one: calls, pickling, and waits for pickling "
        "ranks; low: only the calls; high: also a row's time beyond three times the usual",
        rows=rows,
        saved_s=alone_s,
        more_s=(value_s, 0.0, high_s),
        outside=True,
    )


def _elapsed(calls: ProgramCalls, rows: Ints, run: Ints, made: Ints) -> tuple[float, float]:
    """Seconds a rank in all runs but for one call of each, of no longer ones than usual, and of all.

    All ranks of a run are in it, so what one waits for after the first call is another's pickling. What it waits for in
    the first call is a rank that came late, and stays. Args: made: of each run, calls of the function.
    """
    runs, first, of, many = np.unique(run, return_index=True, return_inverse=True, return_counts=True)
    of = of.reshape(-1)
    turn = np.arange(rows.size) - first[of]
    opens = turn * made[run] < many[of]  # MPI calls of the first call of the function
    took_s = calls.end_s[rows] - calls.start_s[rows]
    late_s = np.bincount(of, weights=np.where(opens, took_s - calls.own_s[rows], 0.0))
    last = first + many - 1
    each_s = (calls.end_s[rows[last]] - calls.start_s[rows[first]] - late_s) / made[runs]
    weight = calls.weight[rows[first]] * (made[runs] - 1)
    usual_s = np.minimum(each_s, MOST_USUAL * float(np.median(each_s)))
    return float((usual_s * weight).sum()) / calls.ranks, float((each_s * weight).sum()) / calls.ranks


def _made(site: Ints, run: Ints) -> Ints:
    """How many calls of the function each run is: as many as it has MPI calls from the rarest of its places."""
    group, first = grouped(run, site)
    found = np.full(int(run.max(initial=-1)) + 1, run.size, dtype=np.int64)
    np.minimum.at(found, run[first], np.bincount(group, minlength=first.size))
    return found


def _runs(calls: ProgramCalls, here: Bools) -> Ints:
    """Number of the run that each call is in; a call that does not follow the one before begins one.

    Within a run the calls are the same, one behind the other in their thread, and the time between two is no longer
    than a call and not much longer than the shortest such time.
    """
    follows = np.zeros(len(calls), dtype=bool)
    follows[1:] = here[1:] & here[:-1] & (calls.thread[1:] == calls.thread[:-1])
    for column in (calls.call, calls.communicator, calls.bytes, calls.root):
        follows[1:] &= column[1:] == column[:-1]
    gap_s = calls.gap_s
    before_s = np.append(0.0, (calls.end_s - calls.start_s)[:-1])
    usual_s = float(np.median(gap_s[follows])) if follows.any() else 0.0
    follows &= (gap_s <= MOST_GAP * np.maximum(before_s, usual_s)) & (gap_s <= LEAST_PAUSE * usual_s)
    found: Ints = np.cumsum(~follows)
    return found


def _has_elements(calls: ProgramCalls, rows: Ints, run: Ints, length: Ints) -> Bools:
    """Of each run: its calls are about different things, and not the same one again and again until it converges.

    They use as many buffers, or there are several runs of this length on this rank, without any computing within.
    """
    _, first = grouped(run, calls.offset[rows])
    offsets = np.bincount(run[first], minlength=length.size)
    thread = np.zeros(length.size, dtype=np.int64)
    thread[run] = calls.thread[rows]
    alike, where = grouped(thread, length)
    often = np.bincount(alike, minlength=where.size)[alike]
    lone = np.bincount(thread, minlength=int(thread.max(initial=0)) + 1)[thread]
    inner = np.append(False, run[1:] == run[:-1])
    gap_s = np.bincount(run[inner], weights=calls.gap_s[rows[inner]], minlength=length.size)
    idle = gap_s <= (length - 1) * NO_COMPUTING_S
    found: Bools = (offsets == length) | (idle & (often >= LEAST_RUNS) & (often >= 0.9 * lone))
    return found


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP051",
    name="small reductions in a row",
    title="Reductions of few elements follow each other where one could do all of them",
    what="A program reduces, or broadcasts, each number of an array by a collective of its own. A reduction of 16 "
    "numbers takes hardly longer than that of one.",
    needs="A watched program: four or more MPI_Allreduce, MPI_Reduce or MPI_Bcast of at most 1 KiB in a row at one "
    "place, with no time between for the next to depend on the last.",
    remedy="Put the numbers into one array and reduce that once; with different operations, one MPI_Op_create that "
    "does them together.",
    cause="Each short collective takes its messages' latency.",
    needs_law=False,
    kind="property",
    pattern=see,
)
