# SPDX-License-Identifier: Apache-2.0
"""Collectives of objects by a binding: each is several MPI calls, with pickling between them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slowpath.findings.program_pattern import SHORT_BYTES, Ints, ProgramCalls, SeenPattern, grouped, merged, most, usual

LEAST_RUN = 4
_PICKLED = (".allreduce", ".reduce", ".bcast", ".allgather", ".gather", ".scatter", ".alltoall", ".exscan", ".scan")
# Between two of their MPI calls: pickling a number, unpickling it and a pass of a Python loop take 5 to 20 us; what
# computes for longer may be what the next one is about.
MOST_PICKLING_S = 50e-6


def collectives_of_objects(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Of each function of a binding: rows of its calls with nothing but pickling and a loop's step between."""
    for name in sorted(name for name in {*calls.within} if name.endswith(_PICKLED)):
        within = np.array([caller == name for caller in (*calls.within, "")], dtype=bool)
        here = within[calls.site] & (calls.bytes <= SHORT_BYTES)  # a site that is not known is NONE, the last
        goes_on = np.zeros(len(calls), dtype=bool)
        goes_on[1:] = here[1:] & here[:-1] & (calls.gap_s[1:] <= MOST_PICKLING_S)
        rows = np.flatnonzero(here)
        _, run = np.unique(np.cumsum(~goes_on)[rows], return_inverse=True)
        made = _made(calls.site[rows], run)
        inside = made[run] >= LEAST_RUN
        rows, run = rows[inside], run[inside]
        if not rows.size:
            continue
        runs, first = np.unique(run, return_index=True)
        a_call = made[run] / np.bincount(run)[run]  # of the function, that each MPI call is
        total = float((calls.per_collective[rows] * a_call).sum())
        share = 1.0 - 1.0 / made[run]
        value_s, high_s = _elapsed(calls, rows, run, made)
        low_s = merged(calls, rows, calls.own_s[rows], share, calls.bytes[rows].astype(float))[:, 1]
        alone_s = np.stack([np.zeros(rows.size), low_s, np.zeros(rows.size)], axis=1)
        buffers = name.rpartition(".")[2].capitalize()
        yield SeenPattern(
            name="collectives of objects in a row",
            sites=most(calls.site[rows], calls.own_s[rows]),
            count=max(round(total), 1),
            text=f"{round(total):,} {name} of an object in {{place}}, {made[runs].mean():.0f} in a row, each of them "
            f"{rows.size / made[run][first].sum():.1f} MPI calls a rank with pickled bytes",
            change=f"put their data into one array and call comm.{buffers} once, without pickling (where each "
            f"depends on the last, comm.{buffers} of one number still avoids it)",
            rows=rows,
            saved_s=alone_s,
            more_s=(value_s, 0.0, high_s),
        )


def _elapsed(calls: ProgramCalls, rows: Ints, run: Ints, made: Ints) -> tuple[float, float]:
    """Seconds a rank in all runs but for one call of each, of no longer ones than usual, and of all.

    All ranks of a run are in it, so what one waits for after the first call is another's pickling. What it waits for in
    the first call is a rank that came late, and stays. Args: made: of each run, calls of the function.
    """
    runs, first, of, many = np.unique(run, return_index=True, return_inverse=True, return_counts=True)
    turn = np.arange(rows.size) - first[of]
    opens = turn * made[run] < many[of]  # MPI calls of the first call of the function
    took_s = calls.end_s[rows] - calls.start_s[rows]
    late_s = np.bincount(of, weights=np.where(opens, took_s - calls.own_s[rows], 0.0))
    last = first + many - 1
    each_s = (calls.end_s[rows[last]] - calls.start_s[rows[first]] - late_s) / made[runs]
    weight = calls.weight[rows[first]] * (made[runs] - 1)
    usual_s = usual(each_s, 0 * runs)
    return float((usual_s * weight).sum()) / calls.ranks, float((each_s * weight).sum()) / calls.ranks


def _made(site: Ints, run: Ints) -> Ints:
    """How many calls of the function each run is: as many as it has MPI calls from the rarest of its places."""
    group, first = grouped(run, site)
    first_run = np.full(int(run.max(initial=-1)) + 1, run.size, dtype=np.int64)
    np.minimum.at(first_run, run[first], np.bincount(group, minlength=first.size))
    return first_run
