# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a program had to work with, for slow paths that judge it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from slowpath.core.finding_results import FindingKind, RemedyResult
from slowpath.findings.slow_path import Observe, SlowPath, nothing


@dataclass(frozen=True)
class RankShare:
    """One rank between MPI_Init and MPI_Finalize. None: it was not recorded.

    host        of it.  processors: that any of its threads may use.  online: that the host has
    span_s, mpi_s   from MPI_Init to MPI_Finalize, and in MPI
    waited_s    in which the thread that calls MPI could run and had no processor.  busy: threads that ran for a tenth
                of the time at least, or could have.  busy_waited_s: as waited_s, of all threads, for each busy one
    has_ended_threads   some busy ones were over before the end: busy is the least that they are, and busy_waited_s is
                that of the thread that calls MPI
    grown_bytes by which its memory in RAM grew.  touched_bytes: at most, in between
    faults      page faults without a disk.  fault_s: what one takes, mapped and unmapped, as measured at begin and end
    throttled_s for which its control group's quota stopped processors, added up
    worked_s    by its accounts, in which it neither waited nor lacked a processor.  without_s: in which it lacked one
    """

    rank: int
    host: str
    processors: frozenset[int]
    online: int | None
    span_s: float
    mpi_s: float
    waited_s: float | None
    busy: int | None
    busy_waited_s: float | None
    has_ended_threads: bool = field(default=False, kw_only=True)
    grown_bytes: int | None = field(default=None, kw_only=True)
    touched_bytes: int | None = field(default=None, kw_only=True)
    faults: int | None = field(default=None, kw_only=True)
    fault_s: tuple[float, ...] = field(default=(), kw_only=True)
    throttled_s: float | None = field(default=None, kw_only=True)
    ran_s: float | None = field(default=None, kw_only=True)
    worked_s: float | None = field(default=None, kw_only=True)
    without_s: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class ProgramResources:
    """All ranks that recorded what they had. span_s: of the run.

    launcher_s: processor time of the job's launcher and of processes that ranks started; None: not known.
    """

    ranks: tuple[RankShare, ...]
    span_s: float
    launcher_s: float | None = None


@dataclass(frozen=True)
class Crowd:
    """Ranks of one host that may only use these processors, which are fewer than they are."""

    host: str
    ranks: tuple[RankShare, ...]
    processors: frozenset[int]


def crowds(ranks: Sequence[RankShare], need: Callable[[RankShare], int] = lambda _: 1) -> list[Crowd]:
    """Of each host the ranks that have to share processors: the most crowded set where several hold each other.

    A set of processors is crowded where ranks that may use nothing outside it need more than it has. The sets of single
    ranks and the one of all ranks are looked at, which is what launchers and batch systems give.
    Args: need: processors that a rank could use at one time.
    """
    by_host: dict[str, list[RankShare]] = defaultdict(list)
    for rank in ranks:
        if rank.processors:
            by_host[rank.host].append(rank)
    crowded: list[Crowd] = []
    for host, there in by_host.items():
        every = frozenset[int]().union(*(share.processors for share in there))
        taken: set[int] = set()
        for allowed in sorted(
            {share.processors for share in there} | {every},
            key=lambda processors: (len(processors), sorted(processors)),
        ):
            inside = [share for share in there if share.processors <= allowed and share.rank not in taken]
            if sum(map(need, inside)) > len(allowed):
                crowded.append(Crowd(host, tuple(inside), allowed))
                taken |= {share.rank for share in inside}
    return crowded


def crowded_ranks(ranks: Sequence[RankShare]) -> set[tuple[str, int]]:
    """Host and number of ranks that share processors with other ranks, or with threads of their own."""
    crowded = crowds(ranks) + crowds(ranks, lambda rank: rank.busy or 1)
    return {(crowd.host, rank.rank) for crowd in crowded for rank in crowd.ranks}


# What a slow path sees in a program's own calls, and what it would save: columns in, patterns out. It needs no
# measurement but the watch itself, and its price is an estimate from the program's own times.

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NONE = -1
_NO_ROWS = np.zeros(0, dtype=np.int64)
S_PER_BYTE = 0.25e-9  # what each byte of a longer message is taken to cost more: 4 GB/s, in and out of shared memory
# A length up to which a message's time is that of its call, and not that of its bytes.
SHORT_BYTES = 1024


@dataclass(frozen=True)
class Messages:
    """Point-to-point messages, shape (m,) each; rows are of ProgramCalls, NONE: not kept.

    sent, left: call that started the send, and that completed it.  posted, arrived: of the receive.
    source, destination: world ranks.
    """

    sent: Ints
    left: Ints
    posted: Ints
    arrived: Ints
    bytes: Ints
    source: Ints
    destination: Ints

    def __len__(self) -> int:
        return int(self.sent.size)


# System calls in which a thread waits for time or for others; in the rest it waits for what it asked for.
PAUSES = frozenset({
    "nanosleep", "clock_nanosleep", "pause", "select", "pselect6", "poll", "ppoll", "epoll_wait", "epoll_pwait",
    "futex", "wait4", "waitid", "sched_yield", "semop", "not known", "stopped",
})  # fmt: skip


@dataclass(frozen=True)
class Activity:
    """What a rank did in some stretches of time together, by samples.

    samples: seen in them; the shares of time are theirs, so that few of them say little.
    sleeping_s: in which system call, by its name or number; "a page" where it waits for memory, "not known" where the
    kernel does not say.
    What the kernel counts (the rest) is known at the samples and taken as even between them: right of stretches that
    are longer than the samples are apart.
    ran_s, queued_s, system_s: on a processor, waiting for one, and in the kernel.  least_system_s: in the kernel if it
    spent all other time there.
    """

    length_s: float
    samples: int
    sleeping_s: Mapping[str, float]
    ran_s: float
    queued_s: float
    system_s: float
    minor_faults: float
    read_bytes: float
    written_bytes: float
    reads: float
    writes: float
    least_system_s: float = 0.0

    @property
    def slept_s(self) -> float:
        """In any system call, and waiting for memory."""
        return sum(self.sleeping_s.values())


@dataclass(frozen=True)
class Waits:
    """What calls waited for.

    other    shape (n,): call of another thread for which each waited to the last, NONE: it did not wait
    until_s  shape (n,): when that one was entered, or had returned; the own entry where it did not wait
    Shape (k,), where the waits' time went:
    wait     call that waits.  cause: what was done meanwhile: this call, or, where outside, the computing before it, by
             the rank that was waited for, or by one for which that one waited itself.  spent_s: of the wait
    """

    other: Ints
    until_s: Floats
    wait: Ints
    cause: Ints
    outside: Bools
    spent_s: Floats


@dataclass(frozen=True)
class Code:
    """Code of the program. called: function of a library that it calls; empty: none.  function: empty: not known."""

    called: str
    function: str
    object: str
    file: str | None
    line: int | None

    @property
    def at(self) -> str:
        """`x.c:12`; the object where no line is known."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else self.object

    @property
    def words(self) -> str:
        """`memcpy, called in pack (x.c:12)`."""
        own = f"{self.function} ({self.at})" if self.function else f"{self.at} (no symbol: debug symbols may name it)"
        return f"{self.called}, called in {own}" if self.called else own


@dataclass(frozen=True)
class Sampled:
    """Where ranks computed outside MPI, by samples, shape (s,).

    row: call that ends the stretch.  code: index in codes.  seconds: of the run that the sample stands for.
    """

    row: Ints
    code: Ints
    seconds: Floats
    codes: tuple[Code, ...] = ()

    def longest(self, chosen: Bools) -> list[tuple[Code, float]]:
        """Functions of these samples with their seconds, the longest first; the line is the one with most of them."""
        lines: dict[tuple[str, str, str], dict[Code, float]] = {}
        of_code = np.bincount(self.code[chosen], weights=self.seconds[chosen], minlength=len(self.codes))
        for code, seconds in zip(self.codes, of_code.tolist(), strict=True):
            if seconds > 0:
                lines.setdefault((code.called, code.function, code.object), {})[code] = seconds
        longest = [(max(part, key=lambda code: part[code]), sum(part.values())) for part in lines.values()]
        return sorted(longest, key=lambda entry: -entry[1])


@dataclass(frozen=True)
class ProgramCalls:
    """Kept calls of a program, by rank, thread and time; shape (n,) each.

    rank        in the world.  start_s, end_s: entry and return
    thread      number of (rank, thread, stretch of kept time): between two stretches nothing is known
    own_s       from when nothing else was waited for to the return: what the call itself took
    call        index in names.  site: index in the results' sites, NONE: not known.  communicator: number, NONE: none
    bytes       of the message as this rank gives it.  root: of a collective, NONE: none.  offset: of the buffer's start
    is_collective   blocking ones.  is_message: point to point, completions included.  is_one_sided
    brings      it brought data or news of another rank: a receive completed, or it was a collective
    group       shape (n,): number of the collective that the call is part of, NONE: not known
    weight      how many calls it stands for
    target_wait_s   of one-sided calls: time until their target called MPI again
    target      other rank of the call, root of a collective; < 0: none
    requests    that it was given to complete.  is_read: one-sided, brings the target's data and changes none of it
    block_bytes mean stretch of the datatype of what the call moves; NaN: contiguous, or not known
    detail      of collectives and one-sided calls, as schema/watch.json says of `tag`; -1: nothing
    time_weight by how much its time is multiplied to be that of its kind, as the profile counts it

    counted: shape (k, 4), exact counts of all calls: call, site, rank, calls. counted_s: shape (k,), time in them.
    moved: shape (k, 2), bytes of these, and 1 where these have gaps; files and packing, too. members: ranks of each
    communicator, by number. ranks: of the world. span_s: of the run. cost_s: by which watching lengthens the time
    between two calls. first_uses: shape (f, 4), allocations of the host's heap that MPI saw for the first time: site,
    rank, how many, bytes of one. resources: what its ranks had to work with; None: not recorded. eager_bytes: up to
    which standard sends go before their receive is posted, as far as it is known. completions: shape (c, 3): site,
    rank, and how many requests that were started there were completed or freed; site NONE: it is not known where. None:
    not recorded. in_vain: polls that found nothing, shape (n,); without a time of their own where a loop waits by them.
    within: of each site the function of a binding that makes several MPI calls of one call of the program's
    (`object_call` in slowpath.watch.analysis), empty: none. at: `x.c:12` of each site, empty: not known. activity: what
    a rank did between begins and ends of stretches, seconds; None: there are too few samples. faults: when a rank was
    looked at, and its page faults without a disk by then. contents: shape (c, 6): call, site, pieces of messages that
    were compared with the message before them, and of these the ones that are zero, those as before, and digits, signs
    and blanks alone. sampled: where ranks computed; called_back: where they did within these calls (row), outside of
    MPI. moved_bytes: of each rank, by all of its calls. waits: what they waited for. meets: shape (n,), number of the
    collective that waits for all of its ranks, NONE: it is none.
    """

    rank: Ints
    thread: Ints
    start_s: Floats
    end_s: Floats
    own_s: Floats
    call: Ints
    site: Ints
    communicator: Ints
    bytes: Ints
    root: Ints
    offset: Ints
    is_collective: Bools
    is_message: Bools
    is_one_sided: Bools
    brings: Bools
    group: Ints
    weight: Floats
    time_weight: Floats
    target_wait_s: Floats
    target: Ints
    in_vain: Bools
    requests: Ints
    is_read: Bools
    detail: Ints
    block_bytes: Floats
    waits: Waits
    meets: Ints
    names: tuple[str, ...]
    messages: Messages
    counted: Ints
    counted_s: Floats
    members: tuple[int, ...]
    ranks: int
    span_s: float
    cost_s: float = 0.0
    moved: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    first_uses: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    contents: Ints = field(default_factory=lambda: np.zeros((0, 6), dtype=np.int64))
    resources: ProgramResources | None = None
    within: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    eager_bytes: int = 0
    completions: Ints | None = None
    activity: Callable[[int, Floats, Floats], Activity | None] = lambda rank, start_s, end_s: None
    faults: Callable[[int], tuple[Floats, Ints]] = lambda rank: (np.zeros(0), np.zeros(0, dtype=np.int64))
    sampled: Sampled = field(default_factory=lambda: Sampled(_NO_ROWS, _NO_ROWS, np.zeros(0)))
    called_back: Sampled = field(default_factory=lambda: Sampled(_NO_ROWS, _NO_ROWS, np.zeros(0)))
    moved_bytes: Mapping[int, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.rank.size)

    def named(self, *names: str) -> Bools:
        """Calls of these names, their large-count forms too; shape (n,)."""
        return self.name_is(*names)[self.call]

    def name_is(self, *names: str) -> Bools:
        """Of each name whether it is one of these, shape (len(names),)."""
        return np.array([name.removesuffix("_c") in names for name in self.names], dtype=bool)

    def stood_for(self, rows: Ints) -> int:
        """How many calls these stand for."""
        return round(float(self.weight[rows].sum()))

    def by_site(self, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """Of each site those of these rows that are there."""
        for site in np.unique(self.site[rows]).tolist():
            yield site, rows[self.site[rows] == site]

    def name_of(self, rows: Ints, weights: Floats | None = None) -> str:
        """Name that most of these calls have."""
        return self.names[int(np.bincount(self.call[rows], weights=weights).argmax())]

    @property
    def shares(self) -> tuple[RankShare, ...]:
        """What its ranks had to work with; empty: not recorded."""
        return self.resources.ranks if self.resources else ()

    @cached_property
    def elapsed_ratio(self) -> Floats:
        """How long a second of each rank's processor time takes, with the time in the queue for one; shape (ranks,)."""
        ratio = np.ones(self.ranks)
        for share in self.shares:
            ratio[share.rank] += (share.waited_s or 0.0) / (share.ran_s or np.inf)
        return ratio

    @property
    def seconds_weight(self) -> Floats:
        """How many calls' time that of each stands for, shape (n,): by `weight`, but no kind of call has more time than
        the profile's exact sum. In a thinned record calls take longer while each event is written.
        """
        return np.minimum(self.weight, self.time_weight)

    @property
    def per_collective(self) -> Floats:
        """Of each call the part of a collective that it is, by its weight; shape (n,)."""
        size: Floats = np.array([*self.members, 1], dtype=float)[self.communicator]
        return self.weight / np.maximum(size, 1.0)

    @cached_property
    def gap_s(self) -> Floats:
        """Outside MPI since the thread's call before; inf: there is none.  shape (n,).

        Less what watching adds there: it can take longer than the send of a few bytes.
        """
        outside_s = np.maximum(self.start_s[1:] - self.end_s[:-1] - self.cost_s, 0.0)
        same = self.thread[1:] == self.thread[:-1]
        return np.append(np.inf, np.where(same, outside_s, np.inf))[: len(self)]


@dataclass(frozen=True)
class SeenPattern:
    """One pattern at one place.

    name: a few words; empty: the slow path's.  sites: indices, the most costly first, NONE: not known.
    count: of what `text` counts.  text: one sentence, without its cost; {place} is the first site, {other} the second.
    change: what to write instead.
    rows: of ProgramCalls, once each.  saved_s: shape (rows, 3): value, low and high end of what each would take less.
    more_s: value, low, high of what no kept call holds, seconds of the run: calls that are only counted, time between.
    reported: it is worth a line whatever it costs.
    sooner: rows that would be entered sooner, since less is done before them; sooner_s: shape (sooner, 3), by how much.
    freed: shape (k, 2), calls, and calls for which they would no longer wait; it saves what a replay finds.
    waited_s: what they wait, seconds a rank.
    at: where `change` is to be made, in words; empty: at the first site.  before: outside MPI, before that.
    is_measured: by cells of this machine.  remedies, prove: of results.json; empty: a change of the code alone.
    """

    sites: tuple[int, ...]
    count: int
    text: str
    change: str
    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    saved_s: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    more_s: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reported: bool = False
    sooner: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sooner_s: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    freed: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    waited_s: float = 0.0
    name: str = ""
    at: str = ""
    before: bool = False
    is_measured: bool = False
    remedies: tuple[RemedyResult, ...] = ()
    prove: str | None = None


SeePatterns = Callable[[ProgramCalls], Sequence[SeenPattern]]


@dataclass(frozen=True, kw_only=True)
class ProgramSlowPath(SlowPath):
    """A slow path that is seen in a program's own calls alone.  pattern: from these to what it could do without."""

    pattern: SeePatterns
    observe: Observe = nothing
    needs_law: bool = False
    kind: FindingKind = "property"


def grouped(*columns: Ints) -> tuple[Ints, Ints]:
    """Number of each row's group of equal columns, in ascending order of these, and the groups' first rows.

    What np.unique of the rows gives, in a tenth of its time: nothing is sorted where the values lie close together.
    """
    size = columns[0].size
    if not size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    number = _dense(columns[0].astype(np.int64))
    for column in columns[1:]:
        value = _dense(column.astype(np.int64))
        number = _dense(number * (int(value.max()) + 1) + value)
    first = np.zeros(int(number.max()) + 1, dtype=np.int64)
    first[number[::-1]] = np.arange(size)[::-1]
    return number, first


def _dense(values: Ints) -> Ints:
    least = int(values.min())
    span = int(values.max()) - least + 1
    if span > 4 * values.size + 1024:
        dense: Ints = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return dense
    there = np.zeros(span, dtype=np.int64)
    there[values - least] = 1
    numbers: Ints = (np.cumsum(there) - 1)[values - least]
    return numbers


def occurrence(stream: Ints) -> Ints:
    """The how-manieth of its stream each is, from 0; in the order given."""
    order = np.argsort(stream, kind="stable")
    counts = np.zeros(stream.size, dtype=np.int64)
    counts[order] = np.arange(stream.size) - np.searchsorted(stream[order], stream[order])
    return counts


def most(sites: Ints, weight: Floats, count: int = 8) -> tuple[int, ...]:
    """Sites with the largest sums, NONE left out."""
    known = sites != NONE
    if not known.any():
        return ()
    total = np.bincount(sites[known], weights=weight[known])
    order = np.argsort(-total, kind="stable")[:count]
    return tuple(int(site) for site in order if total[site] > 0 or site in sites)


def usual(own_s: Floats, call: Ints, times: float = 3.0) -> Floats:
    """Times of calls, none longer than so many times the median of its kind: what a rank without a core adds is no
    call's own.
    """
    levelled_s = own_s.copy()
    order = np.argsort(call, kind="stable")
    for here in np.split(order, np.flatnonzero(np.diff(call[order])) + 1) if order.size else ():
        levelled_s[here] = np.minimum(own_s[here], times * float(np.median(own_s[here])))
    return levelled_s


def unhindered(calls: ProgramCalls, rows: Ints, own_s: Floats) -> Floats:
    """As `usual` by rank, but no more is taken off in all than ranks stood in the queue: a lock is the call's own."""
    capped_s = usual(own_s, grouped(calls.call[rows], calls.rank[rows])[0])  # those of a root take longer than others
    queued_s = [share.waited_s for share in calls.shares if share.waited_s is not None]
    taken_s = float(((own_s - capped_s) * calls.seconds_weight[rows]).sum())
    if len(queued_s) < calls.ranks or taken_s <= 0:
        return capped_s
    return capped_s + (own_s - capped_s) * max(1.0 - sum(queued_s) / taken_s, 0.0)


def merged(calls: ProgramCalls, rows: Ints, own_s: Floats, share: Floats, bytes_each: Floats) -> Floats:
    """What calls save that become one, shape (n, 3).

    Args: own_s: what each takes.  share: of each that goes.  bytes_each: that its part of the longer message has.
    The value takes off what the bytes cost in the longer message; the low end four times that, the high end nothing.
    """
    call, _ = grouped(calls.call[rows], calls.rank[rows])
    value = np.maximum(unhindered(calls, rows, own_s) * share - bytes_each * S_PER_BYTE, 0.0)
    low = np.maximum(usual(own_s, call, 1.0) * share - 4 * bytes_each * S_PER_BYTE, 0.0)
    return np.stack([value, np.minimum(low, value), np.maximum(usual(own_s, call, 9.0) * share, value)], axis=1)
