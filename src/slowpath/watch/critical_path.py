# SPDX-License-Identifier: Apache-2.0
"""Back over the order of a program's calls: the path that made it last so long, and where waiting came from. Pure.

A call that waited goes on when another rank's call was entered, or had returned. From there one goes back: over that
call and the computing before it, to the next call that waited, and on the rank for which that one waited. From the last
return to the begin that is the critical path; from the end of one wait to its begin, what the wait was spent on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from slowpath.findings.program_pattern import NONE, ProgramCalls, Waits, grouped
from slowpath.watch.results import PathPart, Slice
from slowpath.watch.totals import in_slices
from slowpath.watch.what_if import RETURN, Bools, CallOrder, Floats, Ints, dependency_moments

MOST_PARTS: Final = 20
DEEPEST: Final = 2000  # steps back from one wait: what lies further is left without a cause


@dataclass(frozen=True)
class CriticalPath:
    """Stretches of one rank after the other, in the order of time, without a hole between them; shape (k,) each.

    call: row.  outside: it is the computing before that call, and not the call.  start_s, end_s
    """

    call: Ints
    outside: Bools
    start_s: Floats
    end_s: Floats


def before_each(order: CallOrder) -> Ints:
    """Of each call the one before it on its chain, NONE: it is the first; shape (n,)."""
    by = np.lexsort((order.start_s, order.chain))
    before = np.full(order.calls, NONE, dtype=np.int64)
    same = order.chain[by][1:] == order.chain[by][:-1]
    before[by[1:][same]] = by[:-1][same]
    return before


def _last_needed(order: CallOrder) -> tuple[Ints, Floats, Bools]:
    """Of each call the one for which it waited to the last, NONE: it did not wait; until when; and for its return."""
    moment_s = dependency_moments(order)
    by = np.lexsort((moment_s, order.after[:, 0]))
    by = by[np.diff(order.after[by, 0], append=-1) != 0]
    by = by[moment_s[by] > order.start_s[order.after[by, 0]]]
    call = order.after[by, 0]
    other, until_s = np.full(order.calls, NONE, dtype=np.int64), order.start_s.copy()
    returns = np.zeros(order.calls, dtype=bool)
    other[call], until_s[call], returns[call] = order.after[by, 1], moment_s[by], order.after[by, 2] == RETURN
    return other, until_s, returns


def critical_path(order: CallOrder) -> CriticalPath:
    """Of each stretch of time.  Args: order: a possible one."""
    other, until_s, returns = (each.tolist() for each in _last_needed(order))
    before, start_s, end_s = before_each(order).tolist(), order.start_s.tolist(), order.end_s.tolist()
    stretches = int(order.stretch.max(initial=-1)) + 1
    began, last = np.full(stretches, np.inf), np.zeros(stretches, dtype=np.int64)
    np.minimum.at(began, order.stretch, order.start_s)
    by = np.argsort(order.end_s, kind="stable")
    last[order.stretch[by]] = by
    call, outside, since_s, to_s = list[int](), list[bool](), list[float](), list[float]()
    for number in np.argsort(-began).tolist():  # from the end of all stretches to their begin
        at, is_return = int(last[number]), True
        while at != NONE:
            jumps = is_return and other[at] != NONE
            before_s = end_s[before[at]] if before[at] != NONE else float(began[number])
            call.append(at)
            outside.append(not is_return)
            since_s.append(until_s[at] if is_return else before_s)
            to_s.append(end_s[at] if is_return else start_s[at])
            if jumps:
                at, is_return = other[at], returns[at]
            else:
                at, is_return = (at, False) if is_return else (before[at], True)
    path = CriticalPath(*map(np.array, (call[::-1], outside[::-1], since_s[::-1], to_s[::-1])))
    some = np.flatnonzero(path.end_s > path.start_s)
    return CriticalPath(path.call[some], path.outside[some], path.start_s[some], path.end_s[some])


def parts_of(path: CriticalPath, calls: ProgramCalls) -> tuple[PathPart, ...]:
    """What the path spends on each rank at each place, longest first."""
    length_s = path.end_s - path.start_s
    total_s = float(length_s.sum())
    if total_s <= 0:
        return ()
    site = calls.site[path.call]
    number, first = grouped(calls.rank[path.call], path.outside.astype(np.int64), calls.call[path.call], site)
    seconds = np.bincount(number, weights=length_s)
    parts = []
    for group in np.argsort(-seconds, kind="stable")[:MOST_PARTS].tolist():
        at = int(path.call[first[group]])
        parts.append(
            PathPart(
                rank=int(calls.rank[at]),
                call=calls.names[int(calls.call[at])],
                site=None if calls.site[at] == NONE else int(calls.site[at]),
                is_outside=bool(path.outside[first[group]]),
                seconds=float(seconds[group]),
                share=min(float(seconds[group]) / total_s, 1.0),
            )
        )
    return tuple(parts)


def on_slices(slices: tuple[Slice, ...], path: CriticalPath, rank: Ints) -> tuple[Slice, ...]:
    """The slices with the share of the path that each rank has there.  Args: rank: of each call."""
    if not slices or not path.call.size:
        return slices
    edges = np.unique([(span.start_s, span.end_s) for span in slices])
    place = {start: i for i, start in enumerate(edges.tolist())}
    length_s, of_rank = path.end_s - path.start_s, rank[path.call]
    every, mine = in_slices(path.start_s, length_s, edges), {}
    for number in {span.rank for span in slices}:
        here = of_rank == number
        mine[number] = in_slices(path.start_s[here], length_s[here], edges)
    shares = [(float(mine[span.rank][place[span.start_s]]), float(every[place[span.start_s]])) for span in slices]
    return tuple(
        replace(span, path=min(part / whole, 1.0) if whole > 0 else None)
        for span, (part, whole) in zip(slices, shares, strict=True)
    )


def waits_in(order: CallOrder) -> Waits:
    """What each call waited for, and what the ranks that it waited for did meanwhile.  Args: order: a possible one."""
    other, until_s, returns = _last_needed(order)
    before = before_each(order)
    waits = np.flatnonzero(other != NONE)
    wait, at, is_return, low_s = waits, other[waits], returns[waits], order.start_s[waits]
    by_kind: list[tuple[Ints, Ints, Bools, Floats]] = []
    for _ in range(DEEPEST):
        if not wait.size:
            break
        of_entry = np.where(before[at] != NONE, order.end_s[before[at]], -np.inf)
        since_s = np.where(is_return, until_s[at], of_entry)
        spent_s = np.where(is_return, order.end_s[at], order.start_s[at]) - np.maximum(since_s, low_s)
        by_kind.append((wait, at, ~is_return, spent_s))
        # From a return to that for which the call waited, or to its entry; from an entry to the return before.
        jumps = is_return & (other[at] != NONE)
        further = np.where(jumps, other[at], np.where(is_return, at, before[at]))
        is_return = np.where(jumps, returns[at], ~is_return)
        going = (since_s > low_s) & (further != NONE)
        wait, at, is_return, low_s = wait[going], further[going], is_return[going], low_s[going]
    columns = [np.concatenate(each) for each in zip(*by_kind, strict=True)] if by_kind else [waits, waits, waits, waits]
    some = np.flatnonzero(columns[3] > 0)
    return Waits(
        other,
        until_s,
        wait=columns[0][some].astype(np.int64),
        cause=columns[1][some].astype(np.int64),
        outside=columns[2][some].astype(bool),
        spent_s=columns[3][some].astype(float),
    )
