# SPDX-License-Identifier: Apache-2.0
"""Runs of calls that do the same again and again on one thread, with nothing learnt or computed in between. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Floats,
    Ints,
    ProgramCalls,
    SeenPattern,
    grouped,
    unhindered,
    usual,
)
from slowpath.mpi.libraries import content

LEAST_RUN = 8  # times in a row; fewer may be fields of one exchange
MOST_PERIOD = 6  # calls of a block
MOST_COMPUTING = 4.0  # times the calls of a run: with more, each leaves while the next is computed
PYTHON_STEP_S = 1e-6  # of a loop that makes a call of MPI and nothing else
NO_PAUSE_S = 10e-6  # a loop's step that misses caches
LEAST_PAUSE = 8.0  # times the gaps within a run: between two runs something else happens


@dataclass(frozen=True)
class Runs:
    """Calls in runs, by time on each thread.

    rows: of ProgramCalls.  run: of each, its number.  length: how often its block, or call, is repeated; by run.
    period: calls of a block, by run.
    """

    rows: Ints
    run: Ints
    length: Ints
    period: Ints

    def by_place(self, calls: ProgramCalls) -> Iterator[tuple[int, Runs]]:
        """Of each site the runs of which it is the first in the order of sites: a block may be seen from any call."""
        place = np.full(self.length.size, np.iinfo(np.int64).max)
        np.minimum.at(place, self.run, calls.site[self.rows])
        for site in np.unique(place[self.run]).tolist():
            yield site, self.only(place == site)

    def only(self, chosen: Bools) -> Runs:
        """Those of these runs. Args: chosen: by run."""
        inside = chosen[self.run]
        return Runs(self.rows[inside], self.run[inside], self.length, self.period)

    @property
    def each(self) -> float:
        """Length of the run that a call is in, on average: a run that a kept window cuts counts less."""
        return float(self.length[self.run].mean())

    def in_a_row(self, calls: ProgramCalls) -> str:
        """`353 in a row`; `at least` of a thinned record, whose windows cut rows."""
        return f"{'at least ' * bool(calls.weight[self.rows].max() >= 1.5)}{self.each:.0f} in a row"

    @property
    def gone(self) -> Floats:
        """Share of each call that goes where a run becomes one."""
        gone: Floats = 1.0 - 1.0 / self.length[self.run]
        return gone


def named_like(calls: ProgramCalls, pattern: str) -> Bools:
    """Of each name whether it is like this behind MPI_, shape (len(names),)."""
    return np.array([re.fullmatch(f"MPI_({pattern})(_c)?", name) is not None for name in calls.names], dtype=bool)


def completing_others(calls: ProgramCalls) -> Bools:
    """Waits that complete no message and nothing one-sided, and so something else that a call began; shape (n,)."""
    of_windows = named_like(calls, "(?i:r(put|(get_)?accumulate|get))")[calls.call].any()
    waits: Bools = named_like(calls, "Wait(all|any|some)?")[calls.call] & ~calls.brings & ~of_windows
    waits[calls.messages.left[calls.messages.left != NONE]] = False
    return waits


FEWER: dict[str, str] = content("calls")["fewer"]
REDUCES = r"(?i:.*(reduce|scan).*)"
OF_OWN = "an operation of the program's own may be faster if MPI_Op_create is told that it is commutative, where it is"


def fewer_words(name: str, calls: ProgramCalls | None = None) -> str:
    """How calls of this name become fewer, whatever they are for, or faster.  Args: calls: of the program."""
    is_own = calls is not None and "MPI_Op_create" in [calls.names[call] for call in np.unique(calls.counted[:, 0])]
    fitting = (change for like, change in FEWER.items() if re.fullmatch(f"MPI_(?i:{like})(_c)?", name))
    own = [OF_OWN] * (is_own and re.fullmatch(REDUCES, name) is not None)
    return "; ".join([", ".join(["fewer would shorten it", *list(fitting)[:1]]), *own])


def in_counted_s(calls: ProgramCalls) -> Floats:
    """How long each rank is in calls that no event shows: between others it seems to be outside MPI then."""
    here = ~np.isin(calls.counted[:, 0], calls.call)
    return np.bincount(calls.counted[here, 2], weights=calls.counted_s[here], minlength=calls.ranks).astype(float)


BY_ITSELF = 2.0  # calls that a binding makes for each of the program's
OF_BINDING, PYTHON = r"MPI\..*so", r"(lib)?python\d.*"  # mpi4py's object, and the interpreter's


def samples_in(calls: ProgramCalls, fits: str) -> Bools:
    """Which samples are in functions of libraries, in objects, or in functions of mpi4py or Python, so called."""
    fit, of_python = re.compile(fits).fullmatch, re.compile(f"{OF_BINDING}|{PYTHON}").match
    of_code = [
        bool(fit(code.called) or fit(code.object) or (of_python(code.object) and fit(code.function)))
        for code in calls.sampled.codes
    ]
    return np.array(of_code, dtype=bool)[calls.sampled.code]


def around_s(calls: ProgramCalls) -> Floats:
    """What binding and interpreter take around calls that are only counted, by samples; of each row of `counted`.

    It is longer than such a call. Not where these are few: the binding asks by itself, once or twice for each call.
    """
    sampled, (call, _, rank, count) = calls.sampled, calls.counted.T
    binds = samples_in(calls, OF_BINDING)
    here = (binds | samples_in(calls, PYTHON)) & binds.any()
    alone = count * ~np.isin(call, calls.call)
    of_rank = np.bincount(rank, alone, calls.ranks)
    took_s = np.bincount(calls.rank[sampled.row[here]], sampled.seconds[here], calls.ranks)
    took_s *= of_rank > BY_ITSELF * np.bincount(calls.rank, calls.weight, calls.ranks)
    around: Floats = alone * np.minimum(took_s / np.maximum(of_rank, 1.0), PYTHON_STEP_S)[rank]
    return around


def gaps(calls: ProgramCalls) -> Floats:
    """Time outside of MPI before each call; 0: it is the first of its thread."""
    return np.where(np.isfinite(calls.gap_s), calls.gap_s, 0.0)


def alike(calls: ProgramCalls, rows: Ints, learnt: Bools, *columns: Ints, to: Ints | None = None) -> Runs:
    """These calls of equal columns on one thread, between which nothing was learnt and no pause was made.

    Args: rows: a call that starts several messages is there for each.  learnt: calls after which another run begins.
    columns: shape (n,).  to: of each row.
    """
    if not rows.size:
        return Runs(rows, rows, rows, rows)
    part: Ints = np.cumsum(learnt.astype(np.int64)) - learnt + _stretches(calls, rows)
    run, _ = grouped(
        calls.thread[rows], part[rows], *(column[rows] for column in columns), 0 * rows if to is None else to
    )
    length = np.bincount(run)
    return Runs(rows, run, length, np.ones(length.size, dtype=np.int64))


def _stretches(calls: ProgramCalls, rows: Ints) -> Ints:
    """Number of each call's stretch between two pauses, shape (n,).

    Args: rows: calls whose gaps and times are the usual ones.
    """
    gap_s = gaps(calls)
    before_s = np.where(np.append(False, rows[1:] == rows[:-1]), 0.0, gap_s[rows])
    each_s = calls.own_s[rows] / np.bincount(rows)[rows]  # of a call that starts several
    usual_s = LEAST_PAUSE * float(np.median(before_s)), MOST_COMPUTING * float(np.median(each_s))
    stretch: Ints = np.cumsum(gap_s > max(*usual_s, NO_PAUSE_S), dtype=np.int64)
    return stretch


def blocks(calls: ProgramCalls, *, to_each: bool = True) -> Runs:
    """Blocks of up to MOST_PERIOD calls that follow each other LEAST_RUN times and more; the shortest that fits.

    Args: to_each: calls of a run's same place in its block have one target.
    """
    target = calls.target if to_each else calls.root
    part = _stretches(calls, np.arange(len(calls))) if len(calls) else calls.thread
    key, _ = grouped(calls.thread, part, calls.site, calls.call, target, calls.communicator)
    block = np.full(len(calls), -1, dtype=np.int64)
    lengths: list[int] = []
    periods: list[int] = []
    for period in range(1, MOST_PERIOD + 1):
        same = np.append(np.zeros(min(period, key.size), dtype=bool), key[period:] == key[:-period])
        edge = np.diff(np.concatenate([[0], same.astype(np.int8), [0]]))
        first, last = np.flatnonzero(edge == 1) - period, np.flatnonzero(edge == -1)
        long = last - first >= LEAST_RUN * period
        for low, high in zip(first[long].tolist(), last[long].tolist(), strict=True):
            if (block[low:high] == -1).all():
                block[low:high] = len(lengths)
                lengths.append((high - low) // period)
                periods.append(period)
    rows = np.flatnonzero(block >= 0)
    return Runs(rows, block[rows], np.array(lengths, dtype=np.int64), np.array(periods, dtype=np.int64))


def buffers_of(calls: ProgramCalls, runs: Runs, chosen: Bools) -> Ints:
    """How many different buffers and places these calls of each run have. Args: chosen: calls."""
    at = np.flatnonzero(chosen[runs.rows])
    _, first = grouped(runs.run[at], calls.site[runs.rows[at]], calls.offset[runs.rows[at]])
    return np.bincount(runs.run[at[first]], minlength=runs.length.size)


def dense(calls: ProgramCalls, runs: Runs) -> Runs:
    """Long runs of places where there is little computing within most of the long runs.

    Single runs are not judged: in one of them the rank may have had no core.
    """
    if not runs.rows.size:
        return runs
    is_dense = times(calls, runs)[1] <= little_s(calls, runs)
    place = np.zeros(runs.length.size, dtype=np.int64)
    _, first = np.unique(runs.run, return_index=True)
    place[runs.run[first]] = calls.site[runs.rows[first]] + 1
    long = runs.length >= LEAST_RUN
    size = int(place.max(initial=0)) + 1
    many, fitting = (np.bincount(place[chosen], minlength=size) for chosen in (long, long & is_dense))
    return runs.only(long & (2 * fitting > many)[place])


def little_s(calls: ProgramCalls, runs: Runs) -> Floats:
    """How much time outside MPI is little: some times the calls of the run, and a loop's step for each; by run."""
    count = np.bincount(runs.run, minlength=runs.length.size)
    return MOST_COMPUTING * times(calls, runs)[0] + PYTHON_STEP_S * count


def times(calls: ProgramCalls, runs: Runs) -> tuple[Floats, Floats]:
    """Of each run its calls' own time and the time outside MPI, from the first call to the last; shape (runs,).

    A wait is no call's own: while ranks wait for each other, or for a core, computing would seem little.
    """
    own_s = usual(calls.own_s, calls.call)
    first, last = np.full(runs.length.size, len(calls)), np.full(runs.length.size, -1)
    np.minimum.at(first, runs.run, runs.rows)
    np.maximum.at(last, runs.run, runs.rows)
    first = np.minimum(first, last + 1)
    in_mpi, outside = (np.append(0.0, np.cumsum(part)) for part in (own_s, gaps(calls)))
    between = np.where(last >= 0, outside[last + 1] - outside[np.minimum(first + 1, last + 1)], 0.0)
    return in_mpi[last + 1] - in_mpi[first], between


def between_s(calls: ProgramCalls, runs: Runs) -> tuple[float, float, float]:
    """Time outside of MPI within all runs, of the rank that has most: value, low and high end of what is saved of it.

    Whether it is the steps of a loop, or what computes an element, is not known. In Python it is longer than a send.
    """
    if not runs.rows.size:
        return 0.0, 0.0, 0.0
    outside_s = np.minimum(times(calls, runs)[1], little_s(calls, runs))
    numbers, first = np.unique(runs.run, return_index=True)
    rows = runs.rows[first]
    spent_s = np.bincount(calls.rank[rows], weights=calls.weight[rows] * outside_s[numbers])
    whole_s = float(spent_s.max(initial=0.0))
    return 0.5 * whole_s, 0.0, whole_s


def no_ends(value_s: Floats) -> Floats:
    """Shape (n, 3), with no ends of its own: an estimate gets those that blind draws of programs had."""
    return np.repeat(value_s[:, None], 3, axis=1)


def less(calls: ProgramCalls, rows: Ints, other_s: Floats) -> Floats:
    """What calls save that another call replaces, shape (n, 3); of the high end that one takes half.

    Args: other_s: what it takes.
    """
    own_s = unhindered(calls, rows, calls.own_s[rows])
    value = np.maximum(own_s - other_s, 0.0)
    return np.stack([value, value, np.maximum(own_s - 0.5 * other_s, value)], axis=1)


def at_place(
    calls: ProgramCalls, mine: Ints, name: str, what: str, change: str, saved_s: Floats, *others: Ints
) -> SeenPattern:
    """Of calls of one place.  Args: what: goes on behind their number and name.  others: that save something, too."""
    total, sites, rows = calls.stood_for(mine), (int(calls.site[mine[0]]),), np.concatenate([mine, *others])
    text = f"{total:,} {calls.name_of(mine)} {what}"
    return SeenPattern(name=name, sites=sites, count=total, text=text, change=change, rows=rows, saved_s=saved_s)
