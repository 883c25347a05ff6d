# SPDX-License-Identifier: Apache-2.0
"""SP082: time outside MPI because of MPI: memory that is mapped again, arrays that are pickled, and system calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.program_pattern import (
    NONE,
    PAUSES,
    SHORT_BYTES,
    Activity,
    Bools,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    RankShare,
    SeenPattern,
    grouped,
    most,
)
from slowpath.mpi.libraries import read_rows
from slowpath.slowpaths.program.managed import MANAGING, PAGE_BYTES
from slowpath.slowpaths.program.repeats import (
    OF_BINDING,
    PYTHON,
    REDUCES,
    around_s,
    gaps,
    in_counted_s,
    named_like,
    no_ends,
    samples_in,
)
from slowpath.slowpaths.remedies import page_of

MAPPED_AGAIN = "memory mapped again and again"
# What a Fortran program is told in place of other languages' examples.
OF_SECTIONS = "a section with gaps as an argument, such as a(5, :), is copied into new memory: pass contiguous arrays"
LEAST = 8  # times that pages are mapped again at one place, by a rank
LEAST_PAGES = 16  # of one time: less is a list that grows
OWN, MADE = 0.5, 0.3  # share of system calls, and of page faults, that counted calls may take for theirs
AGAIN = 0.7  # share of page faults beyond the memory that a rank came to need; lists that grow by doubling have 0.5
LEAST_BYTES = 64 * 1024  # of a new buffer: shorter ones come from pages that malloc keeps
# A fault of the program's takes so many times one that a rank measures alone: in the program it runs beside those of
# other ranks, on memory that the caches do not hold, or the kernel has the pages at hand (docs/results/watch.md).
USUAL_RATIO = 1.2
MOST_PLACES = 40  # kinds of stretches of one rank; the rest are one
IN_CALL = 0.02  # of the faults that a stretch outside of equal length has: calls mostly wait, unless buffers are new
ROUNDS = 6  # of the search for what each kind of stretch faults: few, so that what nothing shows stays as at first
LEAST_PICKLED_BYTES = 16 * 1024  # of a message: shorter ones need not be arrays
LEAST_PICKLING = 0.1  # of the run: of shorter ones, it has to take so long
COPY_S_PER_BYTE = 0.2e-9  # of pickling or unpickling, three copies in memory that is mapped


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Pickled arrays, page faults that those do not explain, and system calls, unless calls that are only counted, as
    those on files and names, take half of these.
    """
    pickled, system_calls = list(_pickled(calls)), list(_system_calls(calls))
    asked_s = sum(float((pattern.sooner_s[:, 0] * calls.weight[pattern.sooner]).sum()) for pattern in system_calls)
    if in_counted_s(calls).sum() >= OWN * asked_s / GOES:
        system_calls = []
    copied = [] if pickled else list(_works(calls))
    return [*pickled, *_mapped_again(calls, sum(pattern.count for pattern in pickled)), *system_calls, *copied]


@dataclass(frozen=True)
class _Again:
    """Page faults of a rank for memory that it had had before, and what one takes."""

    share: RankShare
    faults: int
    each_s: float


def mapped_again(calls: ProgramCalls) -> dict[int, _Again]:
    """Of each rank whose faults go beyond what its memory grew by, in the end or in between, and beyond those of memory
    in which a library may reduce long messages of buffers that are not new, as MPICH does.
    """
    reduces = named_like(calls, REDUCES)[calls.call] & (calls.bytes >= LEAST_BYTES)
    rows, by_rank = np.flatnonzero(reduces & ~np.isin(calls.site, _fresh(calls))), dict[int, _Again]()
    pages = np.bincount(calls.rank[rows], calls.weight[rows] * calls.bytes[rows] / PAGE_BYTES, calls.ranks)
    for share in calls.shares:
        if share.faults is None or not share.fault_s or share.grown_bytes is None:
            continue
        faults = (
            share.faults - max(share.grown_bytes, share.touched_bytes or 0, 0) // PAGE_BYTES - int(pages[share.rank])
        )
        each_s = max(USUAL_RATIO * float(np.median(share.fault_s)), _kernel_s(calls, share.rank))
        if faults >= max(AGAIN * share.faults, LEAST * LEAST_PAGES):
            by_rank[share.rank] = _Again(share, faults, each_s)
    return by_rank


def _kernel_s(calls: ProgramCalls, rank: int) -> float:
    """What each page fault outside MPI took, where the rank was in the kernel for nothing else; 0: not known."""
    seen = activity_before(calls, rank, np.flatnonzero(calls.rank == rank))
    if seen is None or seen.reads + seen.writes >= LEAST_CALLS * seen.length_s:
        return 0.0
    return seen.least_system_s / max(seen.minor_faults, 1.0)


def activity_before(calls: ProgramCalls, rank: int, rows: Ints) -> Activity | None:
    rows = rows[np.isfinite(calls.gap_s[rows])]
    rows = rows[np.argsort(calls.start_s[rows], kind="stable")]
    return calls.activity(rank, calls.end_s[rows - 1], calls.start_s[rows])


def _mapped_again(calls: ProgramCalls, pickled: int) -> Iterator[SeenPattern]:
    """Ranks whose memory is given back and mapped again.  Args: pickled: messages whose memory this may be."""
    ranks = mapped_again(calls)
    if not ranks or pickled >= LEAST:
        return
    places = {rank: _places(calls, again) for rank, again in ranks.items()}
    faults = sum(again.faults for again in ranks.values())
    made = np.setdiff1d(np.flatnonzero(named_like(calls, MANAGING)), calls.call)
    making_s = float(calls.counted_s[np.isin(calls.counted[:, 0], made)].sum())
    if making_s >= MADE * sum(again.faults * again.each_s for again in ranks.values()):
        return  # these calls have no times of their own: the memory may be what they take and give back
    new = calls.first_uses[(calls.first_uses[:, 3] >= LEAST_BYTES) & np.isin(calls.first_uses[:, 1], list(ranks))]
    new = _repeated(new)
    pages = int((new[:, 2] * (new[:, 3] // PAGE_BYTES)).sum())
    seen = [place for of_rank in places.values() for place in of_rank or () if place.times >= LEAST]
    if pages < AGAIN * faults and sum(place.faults for place in seen) < AGAIN * faults:
        return
    kept = [(place, ranks[rank]) for rank, of_rank in places.items() for place in of_rank or ()]
    outside = [(place.rows, place.each(calls, again.each_s)) for place, again in kept if not place.is_call]
    inside = [(place.rows, place.each(calls, again.each_s)) for place, again in kept if place.is_call]
    sooner, rows = (np.concatenate([np.zeros(0, np.int64), *(row for row, _ in part)]) for part in (outside, inside))
    sooner_s, saved_s = (np.concatenate([np.zeros((0, 3)), *(each for _, each in part)]) for part in (outside, inside))
    rows, saved_s = _with_sends(calls, rows, saved_s)
    left_s = sum(again.faults * again.each_s for rank, again in ranks.items() if places[rank] is None) / calls.ranks
    sites, text, is_before = _buffers(new, faults) if pages >= AGAIN * faults else _stretches(calls, seen, faults)
    yield SeenPattern(
        name=MAPPED_AGAIN,
        sites=sites,
        count=faults,
        text=text,
        change="allocate the memory that is used there once, before the loop, and reuse it",
        before=is_before,
        rows=rows,
        saved_s=saved_s,
        sooner=sooner,
        sooner_s=sooner_s,
        more_s=(left_s, left_s, left_s),
    )


def _with_sends(calls: ProgramCalls, rows: Ints, saved_s: Floats) -> tuple[Ints, Floats]:
    """With sends of long messages that these calls receive: they last as long as their receive takes the bytes."""
    place = np.full(len(calls) + 1, NONE, dtype=np.int64)  # the last is of messages without a receive
    place[rows] = np.arange(rows.size)
    messages = calls.messages
    is_long = (place[messages.arrived] != NONE) & (messages.bytes > calls.eager_bytes)
    sends, first = np.unique(messages.left[is_long], return_index=True)
    alone = (sends != NONE) & ~np.isin(sends, rows)
    less_s = saved_s[place[messages.arrived[is_long][first[alone]]]]
    sends = sends[alone]
    return np.append(rows, sends), np.append(saved_s, np.minimum(less_s, calls.own_s[sends, None]), axis=0)


def _repeated(rows: Ints) -> Ints:
    """First uses at places that bring new buffers again and again."""
    key, place = np.unique(rows[:, :2], axis=0, return_inverse=True)
    count = np.bincount(place.reshape(-1), weights=rows[:, 2], minlength=len(key))
    return rows[count[place.reshape(-1)] >= LEAST]


def _fresh(calls: ProgramCalls) -> Ints:
    """Places of calls that bring long new buffers again and again."""
    return _repeated(calls.first_uses[calls.first_uses[:, 3] >= LEAST_BYTES])[:, 0]


def _buffers(new: Ints, faults: int) -> tuple[tuple[int, ...], str, bool]:
    count = int(new[:, 2].sum())
    length = format_bytes(round(float((new[:, 2] * new[:, 3]).sum()) / count))
    sites = most(new[:, 0], (new[:, 2] * new[:, 3]).astype(float))
    text = f"{count:,} buffers of {length} in {{place}} and elsewhere were new to MPI"
    return sites, f"{text}, and the ranks had {faults:,} page faults for memory that they had had before", False


def _stretches(calls: ProgramCalls, seen: Sequence[_Place], faults: int) -> tuple[tuple[int, ...], str, bool]:
    by_kind: dict[tuple[int, int, bool], float] = {}
    for place in seen:
        key = (place.before, place.after, place.is_call)
        by_kind[key] = by_kind.get(key, 0.0) + place.faults
    (before, after, is_call), part = max(by_kind.items(), key=lambda kind: kind[1])
    kind = (before, after, is_call)
    rows = np.concatenate([place.rows for place in seen if (place.before, place.after, place.is_call) == kind])
    where = f"in {calls.name_of(rows)} in {{place}}" if is_call else between_words(calls, rows, before == after)
    text = (
        f"the ranks had {faults:,} page faults for memory that they had had before and given back, about "
        f"{part / faults:.0%} of them {where}"
    )
    return (after, *((before,) if before not in (after, NONE) else ())), text, not is_call


def between_words(calls: ProgramCalls, rows: Ints, is_one_place: bool) -> str:
    """Where a stretch outside MPI is that these calls end."""
    if is_one_place:
        return f"outside MPI before {calls.name_of(rows)} in {{place}}"
    return f"between {calls.name_of(rows - 1)} in {{other}} and {calls.name_of(rows)} in {{place}}"


@dataclass(frozen=True)
class _Place:
    """Stretches of one kind of a rank, with their page faults.

    before, after: sites of the calls around it; of a call itself twice its own.  rows: calls that end a stretch, or are
    one.  times: they stand for.
    """

    before: int
    after: int
    is_call: bool
    rows: Ints
    times: float
    faults: float

    def each(self, calls: ProgramCalls, each_s: float) -> Floats:
        """What each stretch would take less, shape (rows, 3)."""
        took_s = calls.own_s[self.rows] if self.is_call else calls.gap_s[self.rows]
        return no_ends(np.minimum(self.faults / max(self.times, 1.0) * each_s, took_s))


def _places(calls: ProgramCalls, again: _Again) -> list[_Place] | None:
    """Kinds of stretches of a rank with their faults, by how many came between two samples; None: not known.

    Faults in calls on buffers that are not new are of memory of MPI's own, and left out.
    """
    rank = again.share.rank
    at_s, counted = calls.faults(rank)
    mine = np.flatnonzero(calls.rank == rank)
    if at_s.size < LEAST or not mine.size or (np.diff(calls.start_s[mine]) < 0).any():
        return None  # several threads call at once: whose faults these are is not known
    gaps = mine[np.isfinite(calls.gap_s[mine])]
    kinds = [
        *((int(a), int(b), False) for a, b in zip(calls.site[gaps - 1], calls.site[gaps], strict=True)),
        *((int(a), int(a), True) for a in calls.site[mine]),
    ]
    rows = np.concatenate([gaps, mine])
    starts = np.concatenate([calls.end_s[gaps - 1], calls.start_s[mine]])
    ends = np.concatenate([calls.start_s[gaps], calls.end_s[mine]])
    numbers: Mapping[tuple[int, int, bool], int] = {key: i for i, key in enumerate(dict.fromkeys(kinds))}
    number = np.array([numbers[key] for key in kinds], dtype=np.int64)
    largest = np.argsort(-np.bincount(number, weights=ends - starts), kind="stable")[:MOST_PLACES]
    time_s = np.zeros((at_s.size - 1, largest.size))
    for column, kind in enumerate(largest.tolist()):
        here = np.flatnonzero(number == kind)
        edges = np.stack([starts[here], ends[here]], axis=1).ravel()
        lasted = np.cumsum(np.stack([np.zeros(here.size), ends[here] - starts[here]], axis=1).ravel())
        time_s[:, column] = np.diff(np.interp(at_s, edges, lasted, left=0.0))
    keys = list(numbers)
    fresh = _fresh(calls)
    waits = [keys[kind][2] and keys[kind][1] not in fresh for kind in largest.tolist()]
    shares = _shares(time_s, np.diff(counted).astype(float), np.where(waits, IN_CALL, 1.0))
    places = []
    for kind, share in zip(largest.tolist(), shares.tolist(), strict=True):
        before, after, is_one = keys[kind]
        here = rows[number == kind]
        if share > 0 and not (is_one and after not in fresh):
            times = float(calls.weight[here].sum())
            places.append(_Place(before, after, is_one, here, times, share * again.faults))
    return places


def _shares(time_s: Floats, faults: Floats, weight: Floats) -> Floats:
    """Share of the faults that each kind of stretch has: towards the likeliest rates of all kinds.

    Args: time_s: shape (intervals, kinds), of each kind in the time between two samples.  faults: shape (intervals,).
    weight: of each kind's rate at first: where nothing tells kinds apart, it stays.
    """
    known = time_s.sum(axis=1) > 0
    time_s, faults = time_s[known], faults[known]
    total_s = np.maximum(time_s.sum(axis=0), 1e-12)
    rate = weight.copy()
    shared = np.zeros(weight.size)
    for _ in range(ROUNDS):
        part = time_s * rate
        part /= np.maximum(part.sum(axis=1, keepdims=True), 1e-300)
        shared = (part * faults[:, None]).sum(axis=0)
        rate = shared / total_s
    shares: Floats = shared / max(shared.sum(), 1e-300)
    return shares


_ALL: Final = ("allgather", "alltoall", "neighbor_allgather", "neighbor_alltoall")
_GIVE: Final = ("send", "ssend", "bsend", "isend", "issend", "ibsend", "sendrecv", "gather", *_ALL)
_TAKE: Final = ("recv", "irecv", "sendrecv", "scatter", *_ALL)
_ROOT_GIVES: Final = ("bcast", "scatter")
_ROOT_TAKES: Final = ("gather",)
_PICKLED: Final = tuple(dict.fromkeys((*_GIVE, *_TAKE, *_ROOT_GIVES)))


def _pickled(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Messages of mpi4py's calls in lower case, short ones where pickling takes a tenth of the run: both sides copy."""
    method = np.array([name.rpartition(".")[2] for name in (*calls.within, "")])
    every = np.flatnonzero(np.isin(method, _PICKLED)[calls.site] & (calls.bytes > 0))
    around = np.isin(calls.sampled.row, np.append(every, every + 1))  # elsewhere the binding does something else
    pickling_s = float(calls.sampled.seconds[samples_in(calls, OF_BINDING) & around].sum())
    rows = every[calls.bytes[every] >= LEAST_PICKLED_BYTES]
    if rows.size < LEAST and pickling_s >= LEAST_PICKLING * calls.span_s * calls.ranks:
        rows = every
    if rows.size < LEAST:
        return
    faults = sum(share.faults or 0 for share in calls.shares)
    fault_s = [at_s for share in calls.shares for at_s in share.fault_s]
    length = calls.bytes[rows].astype(float)
    pages = float((length * calls.weight[rows]).sum()) / PAGE_BYTES
    mapped = min(faults / pages, 2.0) * float(np.median(fault_s)) / PAGE_BYTES if fault_s and pages else 0.0
    each_s = length * (mapped + COPY_S_PER_BYTE)
    # An array is pickled before its call, or before the one of its length, and unpickled after it was received.
    of = method[calls.site[rows]]
    is_root = (calls.root[rows] == NONE) | (calls.root[rows] == calls.rank[rows])
    before = np.isin(of, _GIVE) | (np.isin(of, _ROOT_GIVES) & is_root)
    after = np.isin(of, _TAKE) | (np.isin(of, _ROOT_TAKES) & is_root) | (np.isin(of, _ROOT_GIVES[:1]) & ~is_root)
    earlier = np.maximum(rows - 1, 0)
    follows = (method[calls.site[earlier]] == of) & (calls.bytes[earlier] <= SHORT_BYTES)
    entered = np.concatenate([np.where(follows, earlier, rows)[before], np.minimum(rows + 1, len(calls) - 1)[after]])
    alone, place = np.unique(entered, return_inverse=True)
    sides_s = np.concatenate([each_s[before], each_s[after]])
    less_s = np.bincount(place.reshape(-1), sides_s, alone.size).astype(float)
    gap_s = np.where(np.isfinite(calls.gap_s[alone]), calls.gap_s[alone], 0.0)
    known_s = float((np.minimum(less_s, gap_s) * calls.weight[alone]).sum())
    less_s *= max(1.0, GOES * pickling_s / max(known_s, 1e-12))
    names = sorted({str(name) for name in method[calls.site[rows]]}, key=_PICKLED.index)
    buffered = " and ".join(f"comm.{name.capitalize()}" for name in names[:2])
    count, usual_bytes = calls.stood_for(rows), round(float(np.median(length)))
    said = " and ".join(f"comm.{name}" for name in names[:2])
    many = "collect many objects in one, for one message or comm.gather, or " * (usual_bytes < LEAST_PICKLED_BYTES)
    yield SeenPattern(
        name=f"{said} of objects",
        sites=most(calls.site[rows], length * calls.weight[rows]),
        count=count,
        text=f"{count:,} messages of {format_bytes(usual_bytes)} by {said} in {{place}} and elsewhere are pickled"
        + f", which takes {format_time(pickling_s / calls.ranks)} a rank" * bool(pickling_s),
        change=f"{many}send arrays by {buffered}, without pickling, and of other objects only the part that is used",
        rows=rows,
        saved_s=no_ends(calls.own_s[rows] * (GOES if many else 0.2)),
        sooner=alone,
        sooner_s=no_ends(np.minimum(less_s, gap_s)),
    )


MOST_KINDS = 5  # of stretches that are looked at
LEAST_SHARE = 0.2  # of a stretch in system calls, without what a rank had no processor for
LEAST_CALLS = 100  # reads and writes a second
LARGE_BYTES = 256 * 1024  # of a read or write: larger ones would not be faster
GOES = 0.7  # of their time: larger pieces take some, too


def _system_calls(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Files and the like that most ranks read or write; what one does alone is a wait of the others."""
    after = np.flatnonzero(np.isfinite(calls.gap_s) & (calls.gap_s > 0))
    kind, firsts = grouped(calls.site[after - 1], calls.site[after])
    lasted_s = np.bincount(kind, weights=calls.gap_s[after], minlength=len(firsts))
    for number in np.argsort(-lasted_s)[:MOST_KINDS].tolist():
        rows = after[kind == number]
        parts = [part for rank in np.unique(calls.rank[rows]).tolist() if (part := _asked(calls, rank, rows))]
        if 2 * len(parts) <= calls.ranks:
            continue
        before, there = (int(site) for site in calls.site[after[firsts[number]] + np.array([-1, 0])])
        rows_of, seconds, named, pieces_of, lengths = zip(*parts, strict=True)
        mine, each_s, pieces, length = np.concatenate(rows_of), np.concatenate(seconds), sum(pieces_of), sum(lengths)
        where = between_words(calls, mine, before == there)
        names = ", ".join(sorted({*named} - {""}))
        asked = f"{pieces:,.0f} reads and writes of {format_bytes(round(length / pieces))}" if pieces else names
        yield SeenPattern(
            name="system calls outside MPI",
            sites=(there, *((before,) if before not in (there, NONE) else ())) if there != NONE else (),
            count=calls.stood_for(mine),
            text=f"{len(parts)} of {calls.ranks} ranks make system calls {where}: {asked}",
            change=f"read and write less often{' and in larger pieces' * (pieces > 0)}, or in the background",
            before=True,
            sooner=mine,
            sooner_s=no_ends(np.minimum(each_s, calls.gap_s[mine]) * GOES),
        )


def _asked(calls: ProgramCalls, rank: int, rows: Ints) -> tuple[Ints, Floats, str, float, float] | None:
    """System calls of a rank in stretches: the rows that end them, seconds of each, the longest's name, reads and
    writes, and their bytes.
    """
    mine = rows[calls.rank[rows] == rank]
    seen = activity_before(calls, rank, mine)
    if seen is None:
        return None
    asleep = {name: value_s for name, value_s in seen.sleeping_s.items() if name not in {*PAUSES, "a page"}}
    fault_s = min((at_s for share in calls.shares if share.rank == rank for at_s in share.fault_s), default=0.0)
    pieces, moved_bytes = seen.reads + seen.writes, seen.read_bytes + seen.written_bytes
    is_often = pieces >= LEAST_CALLS * seen.length_s and moved_bytes < LARGE_BYTES * pieces
    busy_s = max(seen.system_s - seen.minor_faults * fault_s, 0.0) if is_often else 0.0
    seconds = min(sum(asleep.values()) + busy_s, seen.length_s)
    if seconds < LEAST_SHARE * max(seen.length_s - seen.queued_s, 0.0):
        return None
    seconds = min(seconds * seen.length_s / max(seen.length_s - seen.queued_s, 1e-9), seen.length_s)
    longest = max(asleep, key=lambda name: asleep[name], default="")
    return mine, np.full(mine.size, seconds / mine.size), longest, pieces if is_often else 0.0, moved_bytes


LEAST_SAMPLES = 10
OF_TEXT, LEAST_TEXT = 0.8, 64  # of pieces of two messages, and pieces of a place
SPINS = 0.1  # of the samples of a stretch, in the clock: a loop's step in Python takes ten times as long


class Work(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Work outside MPI, by samples.

    fits: what functions of libraries, objects, or functions of mpi4py are called.  name, change: of the finding.
    least_share: of the run, by the rank that does most.  s_per_byte: that it may take of each byte which MPI moves.
    role: of a row that `_works` treats by itself.
    """

    name: str
    change: str
    fits: str = "(?!)"
    least_share: float = 0.03
    s_per_byte: float = 0.0
    role: str = ""


WORKS: Final = read_rows("calls", "work", Work)
_BY_ROLE = {work.role: work for work in WORKS}
_CLOCK, _PYTHON, _ARGUMENT, TEXT, _COLLECTOR = map(
    _BY_ROLE.__getitem__, ("clock", "python", "argument", "text", "collector")
)


def _works(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """The line of a call computes its arguments: Fortran's sections with gaps are copied (Fortran 2018, 15.5.2.4)."""
    kind, (row, seconds) = _stretch(calls), (calls.sampled.row, calls.sampled.seconds)
    clock, python = samples_in(calls, _CLOCK.fits), samples_in(calls, PYTHON)
    of_clock_s, of_all_s = (np.bincount(kind[row], seconds * which, kind.max(initial=0) + 1) for which in (clock, 1.0))
    spins = clock | ((python | samples_in(calls, OF_BINDING)) & (of_clock_s >= SPINS * of_all_s)[kind[row]])
    line, of_code = np.array([*calls.at, ""]), np.array([code.at for code in calls.sampled.codes])[calls.sampled.code]
    argument = (of_code == line[calls.site[row]]) | (of_code == line[calls.site[row - 1]])
    chosen = {_CLOCK: spins, _PYTHON: python & ~spins & ~samples_in(calls, _COLLECTOR.fits), _ARGUMENT: argument}
    for work in WORKS:
        yield from _library_work(calls, work, chosen.get(work, samples_in(calls, work.fits) & ~argument))


def _stretch(calls: ProgramCalls) -> Ints:
    """Of each call the kind of the stretch before it."""
    return grouped(calls.rank, calls.site, np.append(NONE, calls.site[:-1])[: len(calls)])[0]


def _library_work(calls: ProgramCalls, work: Work, chosen: Bools) -> Iterator[SeenPattern]:
    """Args: chosen: its samples.  Text is converted for MPI where messages are text, bytes are copied to be sent."""
    sampled, texts, moved_bytes = calls.sampled, texts_in(calls) * (work is TEXT), sum(calls.moved_bytes.values())
    longest = sampled.longest(chosen)[:2]
    took_s = np.bincount(calls.rank[sampled.row[chosen]], weights=sampled.seconds[chosen], minlength=calls.ranks)
    needed_s = work.s_per_byte * np.array([calls.moved_bytes.get(rank, 0.0) for rank in range(calls.ranks)])
    needed_s += (work is _PYTHON) * np.bincount(calls.counted[:, 2], around_s(calls), calls.ranks)
    spare_s = np.maximum(took_s - needed_s, 0.0)
    of_run_s = spare_s.mean() if work is _PYTHON else spare_s.max()  # one rank may be what all others wait for
    if chosen.sum() < LEAST_SAMPLES or of_run_s < work.least_share * calls.span_s or (work is TEXT and not texts):
        return
    kind = _stretch(calls)
    in_kind_s: Floats = np.bincount(kind[sampled.row[chosen]], sampled.seconds[chosen], kind.max() + 1).astype(float)
    if work is _CLOCK:  # of MPI's own part no samples are kept: it is all that others there do not have
        left_s = np.bincount(kind, gaps(calls) * calls.seconds_weight)
        left_s -= np.bincount(kind[sampled.row[~chosen]], sampled.seconds[~chosen], kind.max() + 1)
        in_kind_s = np.maximum(in_kind_s, left_s * (in_kind_s > 0))
    is_stretch = np.isfinite(calls.gap_s)
    each_s = (in_kind_s / np.maximum(np.bincount(kind, weights=calls.weight * is_stretch), 1e-9))[kind]
    rows = np.flatnonzero((each_s > 0) & is_stretch)
    part = (spare_s / np.maximum(took_s, 1e-12))[calls.rank[rows]]
    here = rows[kind[rows] == in_kind_s.argmax()]
    sites = tuple(dict.fromkeys(int(calls.site[here[0] + step]) for step in (0, -1)))
    in_source = [code for code, _ in longest if re.search(r"\.(?!h$)", code.file or "")]  # not inlined from a header
    called = " and ".join(dict.fromkeys(code.called or code.object for code, _ in longest))
    places = ", ".join(f"{format_time(seconds / calls.ranks)} in {code.words}" for code, seconds in longest)
    yield SeenPattern(
        name=work.name.format(called=called, call=(call := calls.name_of(here))),
        sites=tuple(dict.fromkeys(site for site in (*sites, *texts) if site != NONE)),
        count=calls.stood_for(rows),
        text=f"{format_time(took_s.sum() / calls.ranks)} a rank in {called} ({places}), most of it "
        f"{between_words(calls, here, len(sites) == 1)}; MPI moves {moved_bytes / calls.ranks / 1e6:.3g} MB a rank"
        f"{', numbers as text' * bool(texts)}",
        change=work.change.format(call=call),
        at=", ".join(dict.fromkeys(code.at for code in in_source)),
        before=True,
        sooner=rows,
        sooner_s=no_ends(np.minimum(each_s[rows] * part, calls.gap_s[rows])),
    )


def texts_in(calls: ProgramCalls) -> tuple[int, ...]:
    """Places of messages that are seen to be numbers as text."""
    site, looked, text = calls.contents[:, [1, 2, 5]].T
    return most(np.where(text >= np.maximum(2 * OF_TEXT * looked, LEAST_TEXT), site, NONE), text.astype(float))


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(pattern=see, **page_of("SP082"))
