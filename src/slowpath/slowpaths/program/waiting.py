# SPDX-License-Identifier: Apache-2.0
"""SP081: waiting for other ranks, followed to its cause: who was waited for, where, and what that rank did.

A rank is late by what it computes more than the one that waits, since the two last met. Ranks that are late and have
more to compute in sum are given less. Where the sums are even, another rank is late each time, and what costs time is
that they wait for each other in between: for a collective, a message, its receive, or a one-sided call's target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import msgspec
import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Code,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    RankShare,
    SeenPattern,
    crowds,
    grouped,
    most,
    usual,
)
from slowpath.mpi.libraries import content
from slowpath.slowpaths.program.outside import LARGE_BYTES, LEAST_CALLS, activity_before, between_words
from slowpath.slowpaths.program.repeats import PYTHON_STEP_S, gaps, in_counted_s
from slowpath.slowpaths.remedies import PROGRAM_ASYNCHRONOUS_PROGRESS, page_of

LEAST = 10  # waits of one pair of places
LATE, OFTEN_LATE = 0.05, 0.03  # of the run, by which a rank is late now and then, or usually
LATE_ON_BUSY = 0.1  # where it may be for want of a processor
USUAL = 0.4  # share of the calls there that have to wait: any rank is late now and then
USUAL_ON_BUSY = 0.75  # where they may wait for ranks without a processor
SHORT_S = 1e-6  # of a wait that counts
MORE = 2.0  # times as long as waits the other way round, of a receive that is late
# Of what those compute that wait, by which a rank computes more: the cores of a machine differ by a tenth, two by more.
MORE_THAN_ANOTHER, MORE_THAN_OTHERS = 0.25, 0.1
APART = 4.0  # times the spread of three other ranks or more, by which it differs where they show what chance gives
CHANCE = 2.0  # times the spread of the delays of a place
ALONE = 2.0  # times as long as any other rank
OWN = 0.5  # share of its lateness that a rank has to compute more than the others, in sum
PERIODS = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # meetings of which the last one would do
NEARLY = 0.95  # of what the best period saves
EVEN, EVEN_ON_BUSY = 0.3, 0.4  # share of the waits at meetings that has to go


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Every cause of waiting, and synchronisation that nobody needs."""
    waits = list(_waits(calls))
    in_turn = [] if any(pattern.freed.size for pattern in waits) else _in_turns(calls)
    return [*waits, *in_turn, *_barriers(calls), *_polls(calls)]


@dataclass(frozen=True)
class _Late:
    """Computing for which others waited, shape (k,): wait, and row of the call before which it was.

    seconds: of the wait, by which the rank had computed more since the two last met.  others: that meet it there.
    """

    wait: Ints
    cause: Ints
    seconds: Floats
    others: Ints


def _waits(calls: ProgramCalls) -> Iterator[SeenPattern]:
    if not calls.waits.wait.size:
        return
    is_crowded = bool(crowds(calls.shares))
    late = _late(calls)
    own = _late_ranks(calls, late)
    named: dict[int, list[SeenPattern]] = {}
    together = set[int]()
    for rank in own:
        named[rank], heavy = _late_with_others(calls, late, rank, is_crowded)
        if rank not in together:
            yield from named[rank]
        together |= heavy
    yield from _meetings(calls, is_crowded)
    # On shared processors others are late outside MPI for want of one.
    slow = [rank for rank in own if named[rank] or not is_crowded]
    yield from _messages(calls, slow, only_in_mpi=is_crowded)


def _late(calls: ProgramCalls) -> _Late:
    waits, thread = calls.waits, calls.thread
    rows = np.flatnonzero(waits.other != NONE)
    other, start_s, until_s = waits.other[rows], calls.start_s[rows], waits.until_s[rows]
    since_s = _last_met(calls, rows)
    beside_s = _outside_s(calls, thread[rows], start_s) - _outside_s(calls, thread[rows], since_s)
    more_s = _outside_s(calls, thread[other], until_s) - _outside_s(calls, thread[other], since_s) - beside_s
    delay_s = np.zeros(len(calls))
    delay_s[rows] = np.clip(more_s, 0.0, until_s - start_s)
    delay_s[rows[~_beyond_chance(calls, rows, delay_s[rows], beside_s)]] = 0.0
    mine = waits.outside & (thread[waits.cause] == thread[np.maximum(waits.other[waits.wait], 0)])
    wait, cause, spent_s = waits.wait[mine], waits.cause[mine], waits.spent_s[mine]
    whole_s = np.bincount(wait, weights=spent_s, minlength=len(calls))
    seconds = spent_s * np.minimum(delay_s[wait] / np.maximum(whole_s[wait], 1e-12), 1.0)
    some = seconds > 0
    wait, cause, seconds = wait[some], cause[some], seconds[some]
    at_once = np.bincount(cause[grouped(cause, calls.rank[wait])[1]], minlength=len(calls))  # each by its own message
    return _Late(wait, cause, seconds, np.maximum(_others(calls)[wait], at_once[cause]))


def _others(calls: ProgramCalls) -> Ints:
    """How many ranks wait for one that is late, at each call; those of a nonblocking collective are counted."""
    other, members = calls.waits.other, np.array([*calls.members, 0], dtype=np.int64)[calls.communicator]
    same = np.bincount(other[other != NONE], minlength=len(calls))[np.maximum(other, 0)]
    return np.maximum(np.where(calls.is_collective, members - 1, np.where(other != NONE, same, 1)), 1)


def _beyond_chance(calls: ProgramCalls, rows: Ints, delay_s: Floats, beside_s: Floats) -> Bools:
    """Which waits are for a rank that is late there by more than equal ranks are by chance; shape (rows,).

    Of each rank at each place: by how much longer others wait for it there than it waits for others, against what those
    that wait computed meanwhile, and against the spread of these delays. Equal work takes one core longer than another.

    Args: rows: waits.  delay_s: of each, for which the other rank computed more.  beside_s: computed by the own rank.
    """
    late, early = calls.rank[calls.waits.other[rows]], calls.rank[rows]
    site = calls.site[rows]
    number, _ = grouped(np.concatenate([late, early]), np.concatenate([site, site]))
    weight = calls.seconds_weight[rows] / _others(calls)[rows]
    sign = np.repeat([1.0, -1.0], rows.size)

    def added(each: Floats) -> Floats:
        return np.bincount(number, weights=each).astype(float)

    net_s = added(sign * np.tile(delay_s * weight, 2))
    computed_s = added(np.tile(beside_s * weight, 2))
    spread_s = np.sqrt(added(np.tile(delay_s**2 * weight, 2)))
    few = np.bincount(number) < LEAST
    outside_s = _computed_s(calls)
    clear = [_is_apart(outside_s, rank) for rank in range(outside_s.size)]
    rank = np.zeros(net_s.size, dtype=np.int64)
    rank[number] = np.concatenate([late, early])
    least_more = np.where(np.array(clear)[rank], MORE_THAN_OTHERS, MORE_THAN_ANOTHER)
    fits: Bools = (net_s >= least_more * computed_s) & (few | (net_s >= CHANCE * spread_s))
    return fits[number[: rows.size]]


def _computed_s(calls: ProgramCalls) -> Floats:
    return np.bincount(calls.rank, weights=gaps(calls) * calls.seconds_weight).astype(float)


def _is_apart(computed_s: Floats, rank: int) -> bool:
    """Whether three other ranks or more are so much alike that chance does not make this one differ so much."""
    others = np.delete(computed_s, rank)
    return others.size >= 3 and bool(computed_s[rank] - others.mean() >= APART * others.std())


def _outside_s(calls: ProgramCalls, thread: Ints, at_s: Floats) -> Floats:
    """How long each thread was outside MPI until then, but for a constant of its own."""
    outside_s = at_s.copy()
    for number in np.unique(thread).tolist():
        asked, mine = thread == number, calls.thread == number
        edges = np.maximum.accumulate(np.stack([calls.start_s[mine], calls.end_s[mine]], axis=1).ravel())
        spent = np.cumsum(np.diff(edges, prepend=edges[0]) * (np.arange(edges.size) % 2))
        outside_s[asked] -= np.interp(at_s[asked], edges, spent)
    return outside_s


def _last_met(calls: ProgramCalls, rows: Ints) -> Floats:
    """When the threads of each wait and of what it waits for last met before it: one waited for the other, or all met.

    Where they did not, when the later one of them made its first call.
    """
    threads = int(calls.thread.max(initial=-1)) + 1
    first_s = np.full(threads, np.inf)
    np.minimum.at(first_s, calls.thread, calls.start_s)
    start_s, until_s = calls.start_s[rows], calls.waits.until_s[rows]
    thread, two = calls.thread[rows], calls.thread[calls.waits.other[rows]]
    pair = np.minimum(thread, two) * threads + np.maximum(thread, two)
    turn = np.argsort(np.argsort(np.concatenate([until_s, start_s]), kind="stable"), kind="stable")
    _, number = np.unique(pair, return_inverse=True)
    key, wanted = (number.reshape(-1) * turn.size + each for each in (turn[: rows.size], turn[rows.size :]))
    order = np.argsort(key)
    at = order[np.maximum(np.searchsorted(key[order], wanted) - 1, 0)]
    met_s = np.where((pair[at] == pair) & (until_s[at] <= start_s), until_s[at], -np.inf)
    group = _of_all(calls)
    inside = np.flatnonzero(group != NONE)
    all_s = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(all_s, group[inside], calls.start_s[inside])
    all_s.sort()
    place = np.searchsorted(all_s, start_s, side="right")
    of_all = np.append(-np.inf, all_s)[place]
    latest_s: Floats = np.maximum.reduce([met_s, of_all, first_s[thread], first_s[two]])
    return latest_s


def _of_all(calls: ProgramCalls) -> Ints:
    """Of each call the collective in which all ranks of the world met, numbered in the order of time; NONE: none."""
    inside = np.flatnonzero(calls.meets != NONE)
    _, number, count = np.unique(calls.meets[inside], return_inverse=True, return_counts=True)
    last_s = np.full(count.size, -np.inf)
    np.maximum.at(last_s, number, calls.start_s[inside])
    whole = count == calls.ranks
    turn = np.full(count.size, NONE, dtype=np.int64)
    turn[np.flatnonzero(whole)[np.argsort(last_s[whole], kind="stable")]] = np.arange(whole.sum())
    turns = np.full(len(calls), NONE, dtype=np.int64)
    turns[inside] = turn[number]
    return turns


def _late_ranks(calls: ProgramCalls, late: _Late) -> list[int]:
    """Ranks that are waited for and have more to compute than the others in sum, the latest first."""
    weight = calls.seconds_weight
    outside_s, each_s = _computed_s(calls), late.seconds * weight[late.wait] / late.others
    late_s = np.bincount(calls.rank[late.cause], weights=each_s, minlength=outside_s.size)
    more_s = outside_s - (outside_s.sum() - outside_s) / max(outside_s.size - 1, 1)
    is_late = (late_s >= OFTEN_LATE * calls.span_s) & (more_s >= OWN * late_s)
    return [int(rank) for rank in np.argsort(-late_s) if is_late[rank]]


def _late_rank(calls: ProgramCalls, late: _Late, rank: int, is_crowded: bool) -> tuple[_Doing, SeenPattern] | None:
    """Args: is_crowded: ranks share processors; only what samples show makes one late, and not the want of one."""
    mine = calls.rank[late.cause] == rank
    wait, cause, seconds, others = late.wait[mine], late.cause[mine], late.seconds[mine], late.others[mine]
    rows, number = np.unique(cause, return_inverse=True)
    to_others = np.bincount(number, weights=seconds / others).astype(float)
    to_all = np.bincount(number, weights=seconds / (others + 1)).astype(float)
    to_first = np.zeros(rows.size)
    np.maximum.at(to_first, number, seconds)
    late_s = float((to_others * calls.seconds_weight[rows]).sum())
    doing = doing_of(calls, rank, rows, late_s, is_crowded=is_crowded)
    if is_crowded and (doing.words == NO_CORE or activity_before(calls, rank, rows) is None):
        return None
    is_usual = np.minimum(to_others, 3.0 * np.median(to_others)).sum() >= USUAL * to_others.sum()
    late_share = LATE_ON_BUSY if doing.words == NO_CORE else OFTEN_LATE if is_usual else LATE
    if (doing.words == NO_CORE and not is_usual) or late_s < late_share * calls.span_s:
        return None  # late now and then, as any rank is, and those without a core are
    counted_s = in_counted_s(calls)  # calls that no event shows look like computing
    beyond_s = counted_s[rank] - np.delete(counted_s, rank).sum() / max(calls.ranks - 1, 1)
    if doing.moves and beyond_s >= OWN * late_s:
        return None
    least = to_all if doing.moves else to_others * min(doing.part, 1.0)
    value = to_all if doing.moves else (least + to_others) / 2
    sites = most(calls.site[rows], to_others)
    here = calls.site[rows] == (sites[0] if sites else NONE)
    came_from = most(calls.site[rows[here] - 1], to_others[here], 1)[: len(sites)]
    between = between_words(calls, rows[here], came_from in ((), sites[:1])).removeprefix("outside MPI ")
    later_s = _later_s(calls, rank, value, rows) if is_crowded else 0.0
    early = np.unique(calls.rank[wait]).size
    longer = f"{format_time(late_s)} longer than the others in {(count := calls.stood_for(rows)):,} times together"
    return doing, SeenPattern(
        name=f"rank {rank} is late: it {doing.words}",
        sites=(*sites[:1], *came_from, *(site for site in most(calls.site[wait], seconds) if site not in sites)),
        count=count,
        text=f"{early} other rank{'s' * (early > 1)} waited for rank {rank}, which {doing.words} {between}, {longer}",
        change=doing.change.format(rank=rank, who=f"rank {rank}"),
        at=doing.at,
        before=True,
        sooner=rows,
        sooner_s=np.stack([value, np.minimum(least, to_all), np.maximum(to_first, value)], axis=1),
        more_s=(later_s, later_s / 2, later_s),
    )


MUCH = 0.3  # of what the rank that computes most has more than the mean: others with that have too much as well


def _late_with_others(
    calls: ProgramCalls, late: _Late, rank: int, is_crowded: bool
) -> tuple[list[SeenPattern], set[int]]:
    """One late rank, or all that compute much more than the mean before one place: with less for one of them alone the
    others would be waited for. An even share of the work there saves what the one with most has beyond the mean, but
    no more than ranks wait for what others compute.
    """
    if (late_rank := _late_rank(calls, late, rank, is_crowded)) is None:
        return [], set()
    doing, alone = late_rank
    if is_crowded or doing.change != GIVEN or not alone.sites:
        return [alone], set()
    here_s = np.bincount(calls.rank, gaps(calls) * calls.seconds_weight * (calls.site == alone.sites[0]), calls.ranks)
    more_s = here_s - here_s.mean()
    heavy = np.flatnonzero(more_s >= MUCH * more_s.max()).tolist()
    if len(heavy) < 2 or rank not in heavy or 2 * len(heavy) > calls.ranks:
        return [alone], set()
    waits = calls.waits
    waited_s = float((waits.spent_s * waits.outside * calls.seconds_weight[waits.wait]).sum())
    even_s = min(float(more_s.max()), waited_s / calls.ranks)
    who = f"ranks {', '.join(map(str, heavy[:-1]))} and {heavy[-1]}"
    head, change = f"{who} compute more than the others", GIVEN.format(who=who)
    joint = replace(alone, name=head, text=f"{head}; {alone.text}", change=change, sooner=alone.sooner[:0],
                    sooner_s=np.zeros((0, 3)), more_s=(even_s, 0.75 * even_s, 1.25 * even_s))  # fmt: skip
    return [joint], set(heavy)


def _later_s(calls: ProgramCalls, rank: int, less_s: Floats, rows: Ints) -> float:
    """How much longer a rank stands in the queue in MPI, for the processor time that it used before these rows."""
    chosen = np.isin(calls.sampled.row, rows)
    ran_s, gap_s = calls.sampled.seconds[chosen].sum(), (gaps(calls) * calls.seconds_weight)[rows].sum()
    ratio = calls.elapsed_ratio[rank] * ran_s / gap_s if gap_s else 0.0
    return float((less_s * calls.seconds_weight[rows]).sum() * max(ratio - 1.0, 0.0))


@dataclass(frozen=True)
class _Doing:
    """What a rank does while others wait. part: of its time there, that a change takes at least.  moves: it is work,
    which others can take over.  at: where it computes; empty: not known.
    """

    words: str
    change: str
    part: float = 1.0
    moves: bool = False
    at: str = ""


NO_CORE = "computes or has no core"
GIVEN = "give {who} less to compute there, or let the others take a part of it"
_CORE = "give rank {rank} a core of its own"
_LESS_OR_CORE = "give rank {rank} less to compute there, or a core of its own"
_SLEEP = "find what rank {rank} waits for there: a sleep, files, pipes, other processes"
_FILES = "let rank {rank} read and write larger pieces, or in the background, or let all ranks do it"
_PAUSES = frozenset({"nanosleep", "clock_nanosleep", "pause", "select", "pselect6", "poll", "ppoll", "sched_yield"})
LEAST_SYSTEM = 0.25  # of its processor time in system calls, so many of which a second read or write


def doing_of(calls: ProgramCalls, rank: int, rows: Ints, late_s: float, *, is_crowded: bool) -> _Doing:
    """By samples.  Args: rows: calls before which it is late.  late_s: that others waited for it."""
    seen = activity_before(calls, rank, rows)
    if seen is not None:
        late_s = min(late_s, seen.length_s)
        asleep = max(seen.sleeping_s, key=lambda name: seen.sleeping_s[name], default="")
        there = np.flatnonzero(np.isin(calls.site, calls.site[rows]))  # late is what a rank does more than others
        others = [activity_before(calls, other, there[calls.rank[there] == other]) for other in range(calls.ranks)]
        beside = [(other.slept_s, other.system_s) for i, other in enumerate(others) if other and i != rank]
        slept_s, system_s = np.mean(beside or [(0.0, 0.0)], axis=0).tolist()
        if seen.slept_s - slept_s >= OWN * late_s:
            words = "sleeps" if asleep in _PAUSES else f"waits in {asleep}"
            return _Doing(words, _SLEEP, seen.slept_s / seen.length_s)
        count, kind, length = max((seen.reads, "reads", seen.read_bytes), (seen.writes, "writes", seen.written_bytes))
        in_system = max(seen.system_s - system_s, 0.0) / max(seen.ran_s, seen.system_s, 1e-9)
        if in_system >= LEAST_SYSTEM and count >= LEAST_CALLS * seen.length_s:
            if length >= LARGE_BYTES * count:
                return _Doing("is in system calls", _SLEEP, in_system)
            words = f"{kind} ({count:,.0f} system calls of {format_bytes(round(length / count))})"
            return _Doing(words, _FILES, in_system)
        if seen.queued_s >= OWN * late_s:
            # Where no other rank computes half as long: who has nothing to do is not late for want of a processor.
            outside_s = _computed_s(calls)
            alone = is_crowded and outside_s[rank] > ALONE * np.delete(outside_s, rank).max(initial=0.0)
            words, change = ("computes on a shared processor", _LESS_OR_CORE) if alone else (NO_CORE, _CORE)
            return _Doing(words, change, moves=True)
        code = _function(calls, rows)
        at = code.words if code and code.file else ""  # in a library of others nothing is to be changed
        return _Doing(f"computes in {code.words}" if code else "computes", GIVEN, moves=True, at=at)
    return _Doing("is outside MPI", GIVEN)


def _function(calls: ProgramCalls, rows: Ints) -> Code | None:
    """Where most samples before these calls are, beyond those that other ranks have there; None: they are too few."""
    sampled, chosen = calls.sampled, np.isin(calls.sampled.row, rows)
    is_other = ~np.isin(calls.rank[sampled.row], calls.rank[rows]) & np.isin(calls.site[sampled.row], calls.site[rows])
    others = {(code.called, code.function): each_s for code, each_s in sampled.longest(is_other)}
    more_s = {code: each_s - others.get((code.called, code.function), 0.0) / max(calls.ranks - 1, 1)
              for code, each_s in sampled.longest(chosen)}  # fmt: skip
    most = max(more_s, key=lambda code: more_s[code], default=None)
    is_clear = (
        most and chosen.sum() >= LEAST and more_s[most] >= OWN * sum(max(each_s, 0.0) for each_s in more_s.values())
    )
    return most if is_clear else None


def _no_core_s(share: RankShare) -> float:
    """How long the rank stood in the queue for a processor outside MPI: as often as in MPI, where it polls."""
    return (share.waited_s or 0.0) * max(share.span_s - share.mpi_s, 0.0) / share.span_s if share.span_s > 0 else 0.0


# Of a stretch outside MPI, while no other rank is, and seconds of it; of the run, that ranks lose by that.
NO_OTHER, SHORTEST_S, LEAST_ALONE = 0.8, 20e-6, 0.05
SURELY, LEAST_SURELY = 0.8, 0.01  # of the time alone, as TOLD: from there on less of the run counts
# Of all time outside MPI, alone; and of that, begun by a call that waited for what another rank did meanwhile: where
# processors are short, ranks leave calls late that were over before, and compute one after the other by chance.
MOSTLY, TOLD = 0.8, 0.6


def _in_turns(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Ranks that compute one after the other while all others are in MPI, whatever those wait in."""
    outside = np.flatnonzero(gaps(calls) > 0)
    outside = outside[np.argsort(calls.end_s[outside - 1], kind="stable")]
    begun_s, ended_s = calls.end_s[outside - 1], calls.start_s[outside]
    at_s = np.concatenate([begun_s, ended_s])
    order = np.argsort(at_s, kind="stable")
    there, passed_s = np.cumsum(np.repeat([1, -1], outside.size)[order])[:-1], np.diff(at_s[order])
    alone_s, none_s = (np.append(0.0, np.cumsum(passed_s * (there == number)))[: at_s.size] for number in (1, 0))
    alone_at, none_at = (np.interp(at_s, at_s[order], part).reshape(2, -1) if at_s.size else np.zeros((2, 0))
                         for part in (alone_s, none_s))  # fmt: skip
    chosen = np.flatnonzero(np.diff(alone_at, axis=0)[0] >= np.maximum(NO_OTHER * (ended_s - begun_s), SHORTEST_S))
    rows, length_s = outside[chosen], (ended_s - begun_s)[chosen] * calls.seconds_weight[outside[chosen]]
    turn = np.flatnonzero(np.diff(calls.rank[rows])) + 1
    if turn.size < LEAST * calls.ranks:
        return
    of_rank = np.bincount(calls.rank[rows], weights=length_s)
    processors = len({(share.host, number) for share in calls.shares for number in share.processors}) or calls.ranks
    whole_s = float(of_rank.sum())
    least_s = whole_s - max(whole_s / min(processors, calls.ranks), float(of_rank.max()))
    is_told = (calls.end_s - calls.own_s)[rows[turn] - 1] > begun_s[chosen[turn - 1]]
    told, share = length_s[turn][is_told].sum() / length_s[turn].sum(), whole_s / _computed_s(calls).sum()
    least_share = LEAST_ALONE if told < SURELY else LEAST_SURELY
    if least_s < least_share * calls.span_s or share < MOSTLY or told < TOLD:
        return
    until_told_s = (none_at[0, chosen[turn]] - none_at[1, chosen[turn - 1]]) * calls.seconds_weight[rows[turn]]
    most_s = least_s + float(until_told_s.sum()) * (1.0 - 1.0 / calls.ranks)
    name, code = calls.name_of(rows, length_s), _function(calls, rows)
    change = "compute at once what needs no result of another rank, or in smaller parts, and exchange once"
    if (calls.is_one_sided[rows] & calls.is_one_sided[rows - 1]).mean() >= OWN:
        change = "compute outside the epoch, and open it for the transfers alone"
    elif (calls.meets[rows - 1] != NONE).mean() >= OWN:  # all leave one of these at once: each may have its own part
        change = "synchronise once after several parts, not after each, or split each part among all ranks"
    yield SeenPattern(
        name="ranks compute one after the other",
        sites=most(calls.site[rows], length_s),
        count=calls.stood_for(rows),
        text=f"ranks compute in turn{f' in {code.words}' if code else ''}, before {name} in {{place}}, "
        f"{format_time(whole_s)} in {calls.stood_for(rows):,} parts, while all others are in MPI",
        change=change,
        before=True,
        more_s=(most_s, most_s, most_s),
    )


def _meetings(calls: ProgramCalls, is_crowded: bool) -> Iterator[SeenPattern]:
    """Collectives at which another rank is late each time: some in a row are even in sum, and the last one would do."""
    group = _of_all(calls)
    rows = np.flatnonzero(group != NONE)
    count = int(group.max(initial=-1)) + 1
    if count < 2 * LEAST:
        return
    rows = rows[np.lexsort((calls.rank[rows], group[rows]))]
    entered_s = calls.start_s[rows]
    outside_s = _outside_s(calls, calls.thread[rows], entered_s).reshape(count, calls.ranks)
    thread = calls.thread[rows].reshape(count, calls.ranks)
    spent_s = np.diff(outside_s, axis=0, prepend=outside_s[:1])
    spent_s[1:][thread[1:] != thread[:-1]] = 0.0
    # One rank without a core for long is not the usual case.
    more_s = spent_s - spent_s.min(axis=1, keepdims=True)
    more_s = np.minimum(more_s, 3.0 * float(np.median(more_s.max(axis=1))))
    waits_s = float((more_s.max(axis=1, keepdims=True) - more_s).mean(axis=1).sum())
    no_core_s = sum(map(_no_core_s, calls.shares))
    lacks_core = no_core_s >= OWN * waits_s * calls.ranks  # late at random then, and even over many meetings alone
    if is_crowded and lacks_core:
        return
    longest = max(calls.ranks, PERIODS[0]) if lacks_core else PERIODS[-1]
    periods = [period for period in PERIODS if count >= 2 * period and period <= longest]
    saves = [_saved_by(more_s, period) for period in periods]
    least_s = (EVEN_ON_BUSY if lacks_core else EVEN) * waits_s
    if not saves or max(saves) < max(least_s, OFTEN_LATE * calls.span_s):
        return
    period = next(period for period, seconds in zip(periods, saves, strict=True) if seconds >= NEARLY * max(saves))
    inner = rows[(group[rows] % period != period - 1) & (calls.waits.other[rows] != NONE)]
    wait_s = calls.waits.until_s[inner] - calls.start_s[inner]
    name = calls.name_of(inner, wait_s)
    total = round(float(calls.per_collective[rows].sum()))
    later = "wait for it later" if name.startswith("MPI_Wait") else "use the non-blocking form"
    change = f"split each part among all ranks, or synchronise once after {period} parts or more, or {later}"
    if of_file := re.match(r"(MPI_File_(write|read)(_at)?)_all", name):
        change = f"call {of_file[1]}, which waits for nobody, where the part of each rank is one piece"
    yield SeenPattern(
        name=f"another rank is late at each {name}",
        sites=most(calls.site[inner], wait_s),
        count=total,
        text=f"at {total:,} collectives, most of them {name} in {{place}}, another rank is late each time, but the "
        f"ranks compute equally long over {period} of them",
        change=change,
        freed=np.stack([inner, calls.waits.other[inner]], axis=1),
        waited_s=float((wait_s * calls.seconds_weight[inner]).sum()) / calls.ranks,
    )


def _saved_by(spent_s: Floats, period: int) -> float:
    """What meeting once in so many saves.  Args: spent_s: shape (meetings, ranks), outside MPI before each."""
    whole = spent_s[: len(spent_s) // period * period].reshape(-1, period, spent_s.shape[1])
    return float((whole.max(axis=2).sum(axis=1) - whole.sum(axis=1).max(axis=1)).sum())


class Held(IntEnum):
    """What a call that waits is held up by; from UNPACKED on: by the order in which a rank takes messages."""

    TARGET_AWAY, RECEIVE_LATE, SEND_LATE, SYNCHRONOUS_SEND, UNPACKED, FIXED_ORDER, SAME_ORDER = range(7)


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Waits that a program avoids by another order of its calls.

    text, change: where the rank that is waited for mostly computed.  in_mpi: where it was in MPI; empty: no words.
    short_s: of a wait that counts.
    """

    name: str
    text: str
    change: str
    in_mpi: str = ""
    change_in_mpi: str = ""
    short_s: float = 20e-6


ORDERS = {Held[by]: msgspec.convert(row, Order) for by, row in content("calls")["orders"].items()}
_TAKEN = (Held.UNPACKED, Held.FIXED_ORDER, Held.SAME_ORDER)


def _messages(calls: ProgramCalls, own: Sequence[int], *, only_in_mpi: bool = False) -> Iterator[SeenPattern]:
    """Places whose calls usually wait for another rank that is not slow.  Args: own: ranks that are."""
    waits, messages = calls.waits, calls.messages
    wait_s = waits.until_s - calls.start_s
    rows = np.flatnonzero((waits.other != NONE) & ~calls.is_collective & (calls.meets == NONE) & (wait_s > SHORT_S))
    rows = rows[~calls.named("MPI_Win_wait", "MPI_Win_complete", "MPI_Win_start")[rows]]  # not their target's absence
    if not rows.size:
        return
    computed_s, between_s, third_s, known = (
        np.bincount(waits.wait, weights=each * waits.spent_s, minlength=len(calls))
        for each in (waits.outside, *_of_causes(calls), 1.0)
    )
    both = np.flatnonzero((messages.left != NONE) & (messages.posted != NONE) & (messages.sent != NONE))
    needless = calls.named("MPI_Ssend", "MPI_Issend")[messages.sent[both]] & (messages.bytes[both] <= calls.eager_bytes)
    pair = messages.left[both] * len(calls) + messages.posted[both]
    exchanges = messages.arrived[both] * len(calls) + messages.sent[both]  # MPI_Sendrecv waits for the other's send
    of_receive = np.isin(rows * len(calls) + waits.other[rows], np.setdiff1d(pair, exchanges))
    no_core_s = sum(map(_no_core_s, calls.shares))
    kind = np.where(of_receive, Held.RECEIVE_LATE, Held.SEND_LATE)
    kind[calls.is_one_sided[rows]] = Held.TARGET_AWAY
    kind[np.isin(rows, messages.left[both[needless]])] = Held.SYNCHRONOUS_SEND
    kind[(kind == Held.RECEIVE_LATE) & (between_s[rows] >= OWN * known[rows])] = Held.UNPACKED
    kind[(kind == Held.RECEIVE_LATE) & (third_s[rows] >= OWN * known[rows])] = Held.SAME_ORDER
    asks, last = _held_up(calls)
    kind[np.isin(rows, asks)], other = Held.FIXED_ORDER, waits.other.copy()
    other[asks] = last
    even = (kind != Held.SEND_LATE) | ~np.isin(calls.rank[waits.other[rows]], own)
    rows, kind = rows[even], kind[even]
    alike, _ = grouped(kind, calls.site[rows], calls.site[waits.other[rows]])
    for number in np.unique(alike).tolist():
        by = Held(int(kind[alike == number][0]))
        order = ORDERS[by]
        here = rows[(alike == number) & (wait_s[rows] > order.short_s)]
        usual_s = _usual_s(wait_s[here])
        there = np.isin(calls.site, calls.site[here]) & np.isin(calls.call, calls.call[here])
        in_mpi = computed_s[here].sum() < OWN * known[here].sum()
        is_passed_on = in_mpi and bool(order.in_mpi) and _passed_on(calls, waits.other[here])
        # That ranks pass messages on is how the program is made: waits that anyone has without a processor are not.
        is_busy = not is_passed_on and no_core_s >= OWN * float((wait_s[here] * calls.seconds_weight[here]).sum())
        if here.size < max(LEAST, (USUAL_ON_BUSY if is_busy else USUAL) * there.sum() * (by not in _TAKEN)):
            continue
        there = rows[np.isin(calls.site[rows], calls.site[waits.other[here]])]
        reverse = there[np.isin(calls.site[waits.other[there]], calls.site[here])]
        if by == Held.RECEIVE_LATE and usual_s < MORE * _usual_s(wait_s[reverse]):
            continue  # on busy processors either is late now and then
        is_same, pairs = by == Held.SAME_ORDER, np.unique(calls.rank[here] * calls.ranks + calls.rank[other[here]])
        if is_same and (is_busy or pairs.size <= calls.ranks):
            continue  # each has one partner, as in a pipeline, or all have the same
        if (in_mpi and not (is_passed_on or is_same or by == Held.SYNCHRONOUS_SEND)) or (only_in_mpi and not in_mpi):
            continue
        # Equal ranks are as late as that by chance, this one and then that one.
        by_chance = by in (Held.SEND_LATE, *_TAKEN) and usual_s < OFTEN_LATE * calls.span_s * calls.ranks
        if (is_same or not in_mpi) and (by_chance or (by == Held.SEND_LATE and not _in_turn(calls, here, wait_s))):
            continue
        pattern = _reordered(calls, order, here, other[here], wait_s[here], in_mpi=in_mpi)
        every = np.union1d(here, reverse) if is_same else here  # receives wait for sends that come late to their turn
        waited_s = float((wait_s[every] * calls.seconds_weight[every]).sum()) / calls.ranks
        if is_same:  # another order has none of these waits
            yield replace(pattern, more_s=(waited_s, waited_s, waited_s))
            continue
        yield replace(pattern, sites=pattern.sites[:: -1 if by == Held.FIXED_ORDER else 1],
                      freed=np.stack([here, waits.other[here]], axis=1), waited_s=waited_s)  # fmt: skip


def _usual_s(wait_s: Floats) -> float:
    """Their sum, but that one which lasts long counts as three usual ones."""
    return float(np.minimum(wait_s, 3.0 * float(np.median(wait_s))).sum()) if wait_s.size else 0.0


def _in_turn(calls: ProgramCalls, rows: Ints, wait_s: Floats) -> bool:
    """Whether these calls wait while another rank computes, for no longer than usual, and that rank waits, too.

    One that is waited for and never waits has most to do: another order saves nothing.
    """
    mine = np.isin(calls.waits.wait, rows) & calls.waits.outside & np.isfinite(calls.gap_s[calls.waits.cause])
    whole_s = calls.gap_s[np.unique(calls.waits.cause[mine])].sum()
    spent_s = np.zeros(len(calls))
    np.maximum.at(spent_s, calls.waits.cause[mine], calls.waits.spent_s[mine])
    other, which = np.unique(calls.waits.other[rows], return_inverse=True)
    again = np.flatnonzero(calls.thread[other[1:]] == calls.thread[other[:-1]])  # the thread was waited for before
    waits_s = np.cumsum(np.where(calls.waits.other != NONE, wait_s, 0.0))[other]
    for_it_s = np.bincount(which, weights=wait_s[rows])[again + 1]
    waits_itself_s = np.minimum(np.diff(waits_s)[again], for_it_s).sum()
    return bool(spent_s.sum() >= OWN * whole_s > 0 and waits_itself_s >= OWN * for_it_s.sum())


def _of_causes(calls: ProgramCalls) -> tuple[Bools, Bools]:
    """Of each cause of a wait whether it is computing between two receives of one place that name different senders,
    and whether it is a message with a third rank, at a place of the wait's own message.
    """
    wait, cause, site, target = calls.waits.wait, calls.waits.cause, calls.site, calls.target
    same = calls.waits.outside & (site[cause] == site[cause - 1]) & (calls.thread[cause] == calls.thread[cause - 1])
    others: Bools = (target[cause] != target[cause - 1]) & (np.minimum(target[cause], target[cause - 1]) >= 0) & same
    there = (site[cause] == site[wait]) | (site[cause] == site[calls.waits.other[wait]])
    third: Bools = there & ~calls.waits.outside & (target[cause] >= 0) & (target[cause] != calls.rank[wait])
    return others, third


def _held_up(calls: ProgramCalls) -> tuple[Ints, Ints]:
    """Calls that wait for the answer to a message, which lay there while its rank waited for a third; its receives."""
    waits, messages = calls.waits, calls.messages
    asks = np.flatnonzero((waits.other != NONE) & ~calls.is_collective)
    taken, first = np.unique(messages.arrived, return_index=True)  # the first may be NONE
    at = np.searchsorted(taken, waits.other[asks]) - 1
    asks, at = asks[at > 1], at[at > 1]
    answer, last, before = waits.other[asks], taken[at], taken[at - 1]
    given = np.cumsum(np.isin(np.arange(len(calls)), messages.sent))  # what needs all messages first is no such answer
    is_third = calls.rank[waits.cause] != calls.rank[waits.other[waits.wait]]
    third_s, whole_s = (np.bincount(waits.wait, part * waits.spent_s, len(calls))[asks] for part in (is_third, 1.0))
    fits = (messages.source[first[at]] == calls.rank[asks]) & (given[last] > given[before]) & (third_s >= OWN * whole_s)
    fits &= (calls.thread[last] == calls.thread[answer]) & (calls.thread[last] == calls.thread[before])
    fits &= (calls.target[last] >= 0) | calls.named("MPI_Wait")[last]
    return asks[fits], last[fits]


def _passed_on(calls: ProgramCalls, sends: Ints) -> bool:
    """Whether these sends come directly behind receives, and from another buffer; no answers that are computed."""
    before = np.maximum(sends - 1, 0)
    fits = (calls.thread[before] == calls.thread[sends]) & np.isin(before, calls.messages.arrived)
    is_answer = ((calls.target[before] == calls.target[sends]) | (calls.target[before] < 0)) & (
        calls.gap_s[sends] > PYTHON_STEP_S
    )
    fits &= (calls.offset[before] != calls.offset[sends]) & ~calls.is_collective[before] & ~is_answer
    fits &= ~calls.named("MPI_Sendrecv", "MPI_Sendrecv_replace")[sends]  # these send and receive at once already
    return bool(fits.sum() >= USUAL * sends.size)


def _reordered(
    calls: ProgramCalls, wait_kind: Order, rows: Ints, other: Ints, wait_s: Floats, *, in_mpi: bool = False
) -> SeenPattern:
    """Without what it saves.  Args: other: calls for which these waited."""
    ranks = np.unique(calls.rank[other])
    words = {
        "count": f"{calls.stood_for(rows):,}",
        "call": calls.name_of(rows, wait_s),
        "median": format_time(float(np.median(wait_s))),
        "who": f"rank {ranks[0]}" if ranks.size == 1 else f"{ranks.size} ranks",
    }
    sites = most(calls.site[rows], wait_s)
    return SeenPattern(
        name=wait_kind.name,
        sites=sites[:1] + tuple(site for site in most(calls.site[other], wait_s) if site not in sites[:1]),
        count=calls.stood_for(rows),
        text=((in_mpi and wait_kind.in_mpi) or wait_kind.text).format(**words),
        change=((in_mpi and wait_kind.change_in_mpi) or wait_kind.change).format(**words),
    )


# What each rank gets from them depends on all ranks, or, of those with a root, on what all gave it.
_WAITS = content("calls")["waits"]
OF_ALL = tuple(f"MPI_{name}" for name in _WAITS["ALL"]["both"] if not name.startswith("Comm_"))
WITH_ROOT = tuple(f"MPI_{name}" for needs in ("ROOT", "ALL_AT_ROOT") for name in _WAITS[needs]["both"])
MOST_ALONE = 0.1  # of the barriers of a place: more stand alone
AT_ONCE_S = 3e-6, 20e-6  # between barrier and collective, as long as a barrier takes: nothing else happens there
FAST = 10.0  # percentile of barriers that had their processors


def _barriers(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Barriers next to a collective that synchronises by itself, or to messages, whose receives wait; all of one
    collective together: whoever leaves out one leaves out all.
    """
    barrier = calls.named("MPI_Barrier") & calls.is_collective
    if not barrier.any():
        return
    near = {step: _next_to(calls, barrier, step) for step in (1, -1)}
    beside: dict[tuple[int, int], list[tuple[Ints, int]]] = {}
    for site in np.unique(calls.site[barrier]).tolist():
        here = barrier & (calls.site == site)
        for step in (-1, 1):
            rows = np.flatnonzero(here & near[step])
            if np.bincount(calls.rank[here]).max() < LEAST or rows.size < (1 - MOST_ALONE) * here.sum():
                continue
            nearby, counts = np.unique(calls.site[rows + step], return_counts=True)
            collective = int(nearby[counts.argmax()])
            # Of collectives at places that are not known nobody knows which are the same.
            key = (collective, NONE) if collective != NONE else (NONE, site)
            if calls.is_message[rows + step].any():
                key = (NONE, NONE)
            beside.setdefault(key, []).append((rows, step))
            break
    for key, parts in beside.items():
        rows = np.concatenate([part for part, _ in parts])
        total = round(float(calls.per_collective[rows].sum()))
        other = calls.name_of(np.concatenate([part + step for part, step in parts]))
        words = " and ".join(word for word, side in (("before", 1), ("after", -1)) if side in {s for _, s in parts})
        own_s, place = calls.own_s[rows], calls.site[rows]
        sites = most(place, own_s)
        yield SeenPattern(
            name="redundant barrier",
            sites=sites,
            count=total,
            text=f"{total:,} MPI_Barrier in {{place}}{' and {other}' if len(sites) > 1 else ''} directly {words} "
            f"{'messages, each of which is waited for' if key == (NONE, NONE) else f'{other} on the same ranks'}",
            change=("send by MPI_Isend in place of MPI_Rsend, and " * ("rsend" in other.lower()))
            + "remove the barrier, unless it separates files, shared memory or timings",
            rows=rows,
            saved_s=np.stack([usual(own_s, place), usual(own_s, place, 1.0), own_s], axis=1),
        )


def _next_to(calls: ProgramCalls, barrier: Bools, step: int) -> Bools:
    """Barriers whose next call (-1: last) of the thread is a collective that makes them needless, without a pause.

    Behind one-sided calls a barrier may be what tells the others that their data is there.
    """
    rows = np.flatnonzero(barrier)
    rows = rows[(rows + step >= 0) & (rows + step < len(calls))]
    is_next = np.zeros(len(calls), dtype=bool)
    if not rows.size:
        return is_next
    other, before = rows + step, np.maximum(rows - 1, 0)
    of_messages = calls.is_message[other]
    fits = (calls.thread[rows] == calls.thread[other]) & ~((step < 0) & barrier[other])  # of two the first is needless
    fits &= (calls.communicator[rows] == calls.communicator[other]) | of_messages
    # Who only sends does not wait for the others; what a receive from any source takes may be for another one.
    receives = calls.named("MPI_Recv", "MPI_Irecv", "MPI_Sendrecv", "MPI_Sendrecv_replace")
    is_ready = calls.named("MPI_Rsend", "MPI_Irsend")  # what the barrier is for goes with it
    needs_none = calls.named(*OF_ALL, *(WITH_ROOT if step > 0 else ())) & calls.is_collective
    if not (receives & (calls.target < 0)).any():
        needs_none |= calls.is_message & ((receives | is_ready) if step > 0 else calls.brings)
    fits &= needs_none[other]
    fits &= calls.gap_s[np.maximum(rows, other)] <= np.clip(np.percentile(calls.own_s[rows], FAST), *AT_ONCE_S)
    fits &= ~(calls.is_one_sided[before] & (calls.thread[before] == calls.thread[rows]))
    is_next[rows[fits & ~(of_messages & np.isin(calls.group[rows], calls.group[rows[~fits]]))]] = True
    return is_next


VAIN = 10  # polls in vain for each that found something: fewer are what it takes to look
FEWER = 10  # times: as often would do
MOST_LOOPS = 0.1  # of the polls of a place: more belong to loops that wait, whose time is a wait
MOSTLY_POLLS = 0.5  # of what an event spans, which stands for polls less than 1 us apart: less, and they compute there
LEAST_BETWEEN = 0.25  # times a poll: with less between them ranks wait by several polls in turn
LONG_S, LONG = 100e-6, 10.0  # between two polls, and times as long as a poll: the rank does something else meanwhile


def _polls(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Places of MPI_Test and MPI_Iprobe whose calls find nothing, with sleeping or computing between them."""
    vain = np.flatnonzero(calls.in_vain & (calls.site != NONE))
    for call in np.unique(calls.call[vain]).tolist():
        polls = f"two {calls.names[call]}", "a message that comes", _WAIT_IN_MPI
        yield from _sleeps(calls, vain[calls.call[vain] == call], calls.call == call, *polls)
    looks = calls.is_one_sided & ~calls.is_collective
    yield from _sleeps(calls, np.flatnonzero(looks), looks, "one-sided calls", "what comes", _MESSAGE)
    for site, here in calls.by_site(vain):
        yield from _too_often(calls, here, int(np.bincount(calls.call[here]).argmax()), site)


_WAIT_IN_MPI = "wait in MPI instead: MPI_Probe or MPI_Mprobe for MPI_Iprobe, MPI_Wait or MPI_Waitany for MPI_Test"
_MESSAGE = "wait in MPI instead: let the rank that changes the window send a message then, and receive that"


def _sleeps(calls: ProgramCalls, vain: Ints, again: Bools, two: str, comes: str, change: str) -> Iterator[SeenPattern]:
    """Ranks that sleep between two looks: what comes meanwhile waits for the rest of the sleep."""
    behind = vain[vain + 1 < len(calls)] + 1
    behind = behind[(calls.thread[behind] == calls.thread[behind - 1]) & again[behind]]
    if behind.size < LEAST:
        return
    poll_s = float(np.median(calls.end_s[vain] - calls.start_s[vain]))
    rows = behind[calls.gap_s[behind] > max(LONG_S, LONG * poll_s)]
    between_s, asleep_s = calls.gap_s[rows], 0.0
    whole_s = between_s * calls.weight[rows]
    for rank in np.unique(calls.rank[rows]).tolist():
        mine = calls.rank[rows] == rank
        if (seen := activity_before(calls, rank, rows[mine])) is not None:
            asleep_s += float(whole_s[mine].sum()) * seen.slept_s / seen.length_s
    if rows.size < LEAST or asleep_s < OWN * whole_s.sum():
        return
    ranks = np.unique(calls.rank[rows])
    who = f"rank {ranks[0]} sleeps" if ranks.size == 1 else f"{ranks.size} ranks sleep"
    yield SeenPattern(
        name=f"sleep between {two}",
        sites=most(calls.site[rows], between_s),
        count=calls.stood_for(rows),
        text=f"{who} {format_time(float(np.median(between_s)))} (median) between {two} in {{place}}, "
        f"{calls.stood_for(rows):,} times: {comes} meanwhile waits for the rest of the sleep",
        change=change,
        sooner=rows,
        sooner_s=between_s[:, None] * np.array([1.0, 0.5, 1.0]),
    )


def _too_often(calls: ProgramCalls, here: Ints, call: int, site: int) -> Iterator[SeenPattern]:
    """Polls so often that they take time from the computing between them."""
    rows = here[calls.end_s[here] > calls.start_s[here]]  # what belongs to a loop that waits has no time of its own
    if here.size - rows.size > MOST_LOOPS * here.size:
        return
    polling = np.minimum(calls.weight[rows], 1.0)
    inside_s = np.where(polling < MOSTLY_POLLS, 1.0 - polling, 0.0) * calls.own_s[rows]
    if np.median(gaps(calls)[rows] + inside_s) < LEAST_BETWEEN * np.median(polling * calls.own_s[rows]):
        return
    is_waste = (calls.site == site) & (calls.call == call)
    is_waste[here] = False
    hits = round(float(np.maximum(calls.weight[is_waste], 1.0).sum()))  # each is a poll, whatever its share of an event
    count = int(calls.counted[(calls.counted[:, 1] == site) & (calls.counted[:, 0] == call), 3].sum()) - hits
    if not hits or count < VAIN * hits:  # polls that never find anything are there to let the library make progress
        return
    name = calls.names[call]
    yield SeenPattern(
        name=f"{name} finds nothing",
        sites=most(calls.site[rows], calls.own_s[rows]),
        count=count,
        text=f"{count:,} {name} in {{place}} found nothing, {count // hits:,} for each that found something, with "
        "computing between them",
        change=f"call {name} a tenth as often, or wait instead",
        rows=rows,
        saved_s=(polling * calls.own_s[rows])[:, None] * np.array([1 - 1 / FEWER, 0.5, 1.0]),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    pattern=see, program_remedies=(PROGRAM_ASYNCHRONOUS_PROGRESS,), **page_of("SP081")
)
