# SPDX-License-Identifier: Apache-2.0
"""SP079: what calls cost by their number, and what the same would cost in one call or in a cheaper call.

Calls that repeat, while their thread learns nothing that the next of them needs, could be one. Calls for which there is
a cheaper call of the same meaning are priced by the program's own fastest calls of that kind, or by a floor.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.program_pattern import (
    NONE,
    SHORT_BYTES,
    Bools,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    grouped,
    merged,
    most,
    usual,
)
from slowpath.mpi.libraries import read_rows
from slowpath.slowpaths.program.by_hand import collectives_by_hand
from slowpath.slowpaths.program.excess import CALL_S, in_blocks, searching
from slowpath.slowpaths.program.objects import collectives_of_objects
from slowpath.slowpaths.program.outside import LEAST_SAMPLES, TEXT, texts_in
from slowpath.slowpaths.program.repeats import (
    LEAST_RUN,
    MOST_COMPUTING,
    PYTHON_STEP_S,
    Runs,
    alike,
    around_s,
    at_place,
    between_s,
    blocks,
    buffers_of,
    completing_others,
    dense,
    gaps,
    less,
    little_s,
    named_like,
    no_ends,
    samples_in,
    times,
)
from slowpath.slowpaths.remedies import page_of

# Nonblocking, too. What they bring is the same on all ranks, so that it may end a loop.
TO_ALL = tuple(f"MPI_{form}" for name in ("allreduce", "bcast", "allgather", "allgatherv")
               for form in (name.capitalize(), f"I{name}"))  # fmt: skip
PUTS = ("MPI_Put", "MPI_Rput", "MPI_Accumulate", "MPI_Raccumulate")
GETS = ("MPI_Get", "MPI_Rget")
ATOMIC = ("MPI_Get_accumulate", "MPI_Rget_accumulate", "MPI_Fetch_and_op")
CLOSES = ("MPI_Win_unlock", "MPI_Win_unlock_all", "MPI_Win_flush", "MPI_Win_flush_all")
JOINT_OPENS = ("MPI_Win_post", "MPI_Win_start", "MPI_Win_wait")  # wait: of the same epoch as a target
JOINT_CLOSES = ("MPI_Win_fence", "MPI_Win_complete")
MOST_JOINT_BYTES = 8192  # of a transfer or collective: longer ones take as long as their bytes
# Times a send, of each message that a call completes, if its receiver searches; longer is a wait for that.
MOST_COMPLETING = 5.0
LEAST_DIFFERENT = 4  # collectives of one run, by place and buffer
LEAST_RUNS = 3  # of one length, where all of a run use one buffer: a loop until something converges has others
NEXT_TO_NONE = 0.25  # of the calls' time, computing between them: counting what the next one is about
NO_COMPUTING_S = 100e-9  # between two that use one buffer: a loop's step, and no work on what was reduced
FASTEST = 5.0  # percentile: no cheaper call takes longer than these calls do at their fastest, in caches
S_PER_COPIED_BYTE = 0.1e-9  # of what one core copies: 10 GB/s


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Return what could be fewer calls, and what could be other calls."""
    walks = list(_completions(calls))
    walked = np.zeros(len(calls), dtype=bool)
    for rows in (pattern.rows for part in (walks, searching(calls), in_blocks(calls)) for pattern in part):
        walked[rows] = True
    return [
        *walks,
        *_messages(calls, walked),
        *_puts(calls),
        *_collectives(calls),
        *collectives_of_objects(calls),
        *_epochs(calls, calls.named("MPI_Win_lock", "MPI_Win_lock_all"), calls.named(*CLOSES), is_joint=False),
        *_epochs(calls, calls.named(*JOINT_OPENS), calls.named(*JOINT_CLOSES), is_joint=True),
        *_reads(calls),
        *_cheaper(calls),
        *_spare_partners(calls),
        *_exclusive_locks(calls),
        *_contents(calls),
        *_two_in_one(calls),
        *_probes(calls),
        *collectives_by_hand(calls),
        *_counted(calls),
        *_in_pieces(calls),
    ]


# Blocks that could be one.


def _messages(calls: ProgramCalls, walked: Bools) -> Iterator[SeenPattern]:
    """Of each place that sends: runs of short messages to one rank. Args: walked: calls that have a pattern already."""
    messages = calls.messages
    short = np.flatnonzero((messages.sent != NONE) & (messages.bytes <= SHORT_BYTES) & (messages.destination >= 0))
    short = short[np.argsort(messages.sent[short], kind="stable")]
    sent, to = messages.sent[short], messages.destination[short]
    exchanges = _exchanges(calls)
    learnt = calls.brings & (exchanges == NONE)
    every = alike(calls, sent, learnt, np.where(exchanges == NONE, calls.site, exchanges), calls.communicator, to=to)
    different = buffers_of(calls, every, np.ones(len(calls), dtype=bool))  # of all that it repeats in turn
    every = dataclasses.replace(every, length=np.where(different < LEAST_RUN, every.length, different))
    turns = alike(calls, sent, learnt, calls.communicator, to=to)
    kinds = ((every, dense(calls, every)), (turns, _fields(calls, turns)))
    for every, place, mine in ((of, *each) for of, chosen in kinds for each in chosen.by_place(calls)):
        inside = np.isin(every.run, mine.run)
        message = short[inside]
        gone = 1.0 - 1.0 / every.length[every.run[inside]]
        rows, own_s, share, bytes_each = _joined(calls, message, gone, walked)
        if not rows.size:
            continue
        saved_s = merged(calls, rows, own_s, share, bytes_each)
        inner = np.setdiff1d(np.arange(message.size), np.unique(every.run[inside], return_index=True)[1])
        more_s = _waited_within(calls, message[inner], rows, share, saved_s[:, 0])
        saved_s += np.stack([more_s, 0.4 * more_s, np.maximum(saved_s[:, 0] + more_s - saved_s[:, 2], 0.0)], axis=1)
        answered = bool((calls.brings & (exchanges != NONE))[rows].any())
        yield _to_one(calls, place, mine, rows, saved_s, float(np.mean(messages.bytes[message])), answered=answered)


LEAST_FIELDS, LEAST_TIMES, ALWAYS = 3, 100, 0.8  # messages of one element, elements, and share of a place's messages


def _fields(calls: ProgramCalls, runs: Runs) -> Runs:
    """Of calls with little computing between them those of several places and buffers, each once and always so."""
    fields = buffers_of(calls, runs, np.ones(len(calls), dtype=bool))
    _, first = grouped(runs.run, calls.site[runs.rows])
    places = np.bincount(runs.run[first], minlength=runs.length.size)
    fits = (runs.length >= LEAST_FIELDS) & (runs.length < LEAST_RUN) & (places == runs.length) & (fields == places)
    fits &= times(calls, runs)[1] <= little_s(calls, runs)
    site = calls.site[runs.rows] + 1
    every, mine = (np.bincount(site, weights=part) for part in (np.ones(site.size), fits[runs.run]))
    is_always = np.ones(runs.length.size, dtype=bool)
    np.logical_and.at(is_always, runs.run, ((mine >= LEAST_TIMES) & (mine >= ALWAYS * every))[site])
    return runs.only(fits & is_always)


def _waited_within(calls: ProgramCalls, inner: Ints, rows: Ints, share: Floats, saved_s: Floats) -> Floats:
    """What calls take beyond their own time behind the first message of a row: both sides wait for the other side's
    calls, or for a processor, as often as there are messages. No more than the side has that waits less: the other one
    may wait for computing.
    """
    more_s = np.maximum(share * (calls.end_s - calls.start_s)[rows] - saved_s, 0.0)
    sides = [np.isin(rows, each[inner]) for each in (calls.messages.sent, calls.messages.posted)]
    of_side_s = [float((more_s * calls.seconds_weight[rows])[side].sum()) for side in sides]
    ratio = [min(of_side_s) / max(seconds, 1e-12) for seconds in of_side_s]
    less: Floats = more_s * np.maximum(sides[0] * ratio[0], sides[1] * ratio[1])
    return less


def _puts(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Short puts to one rank within one epoch."""
    puts = calls.named(*PUTS) & (calls.bytes <= SHORT_BYTES)
    if not puts.any():
        return
    ends = calls.is_one_sided & ~calls.named(*PUTS, *GETS) | calls.brings
    runs = alike(calls, np.flatnonzero(puts), ends, calls.site, calls.target, calls.communicator)
    for place, mine in dense(calls, runs).by_place(calls):
        size = calls.bytes[mine.rows].astype(float)
        saved_s = merged(calls, mine.rows, calls.own_s[mine.rows], mine.gone, size)
        yield _to_one(calls, place, mine, mine.rows, saved_s, float(size.mean()), answered=False)


def _to_one(
    calls: ProgramCalls, place: int, mine: Runs, rows: Ints, saved_s: Floats, size: float, *, answered: bool
) -> SeenPattern:
    """What a row of transfers to one rank would save as one.  Args: size: of each, bytes.  answered: in exchanges."""
    total, kind = calls.stood_for(mine.rows), "put" if calls.is_one_sided[mine.rows[0]] else "message"
    others = most(calls.site[rows], calls.weight[rows] * calls.own_s[rows])
    whole = calls.weight[mine.rows].max() < 1.5  # of a thinned record rows are cut
    of = f" of {format_bytes(round(size * mine.each))}" if whole else ""
    return SeenPattern(
        name=f"many small {kind}s",
        sites=(place, *(other for other in others if other != place)) if place >= 0 else (),
        count=total,
        text=f"{total:,} {kind}s of {format_bytes(round(size))} by {calls.name_of(mine.rows)} in {{place}}, "
        f"{mine.in_a_row(calls)} {'in exchanges with' if answered else 'to'} one rank without "
        f"{'computing' if answered else 'an answer'} in between",
        change=f"send one {kind}{of}: collect them in one buffer, or describe their places by a datatype"
        + ", if none needs what another brought (lengths first, in a message of their own)" * answered,
        rows=rows,
        saved_s=saved_s,
        more_s=between_s(calls, mine),
    )


VARIES = 0.05  # of the messages of a row, that are not as long as the one before: more than a loop over lengths does


def _exchanges(calls: ProgramCalls) -> Ints:
    """Of each call the place of its block, NONE: it is of none that sends several elements in turn, with no computing
    between: what these bring stays here. The elements are of several buffers, or of lengths that vary, as counts and
    numbers are.
    """
    every = blocks(calls)
    sends = np.zeros(len(calls), dtype=bool)
    sends[calls.messages.sent[calls.messages.sent != NONE]] = True
    before = np.maximum(every.rows - every.period[every.run], 0)  # of the first block it may be anything
    differs = sends[every.rows] & (calls.bytes[every.rows] != calls.bytes[before])
    many, other, own_s = (np.bincount(every.run, weights=of, minlength=every.length.size) for of in
                          (sends[every.rows], differs, calls.own_s[every.rows]))  # fmt: skip
    are_several = buffers_of(calls, every, sends) >= np.minimum(0.9 * many, LEAST_RUN)
    are_several |= other >= every.period + VARIES * many
    place = np.full(len(calls), NONE, dtype=np.int64)
    for site, mine in every.only((many > 0) & are_several & (times(calls, every)[1] <= own_s)).by_place(calls):
        place[mine.rows] = site
    return place


def _joined(calls: ProgramCalls, mine: Ints, gone: Floats, walked: Bools) -> tuple[Ints, Floats, Floats, Floats]:
    """Of messages that become one the calls, what they cost in each at most, the share of each that goes, and its part
    of the longer message's bytes. A call that completes other messages too keeps what is theirs; one whose receiver
    searches may wait for that.

    Args: mine: messages.  gone: share of each that goes.  walked: calls that are left out.
    """
    messages = calls.messages
    goes, moved, extra = (np.zeros(len(calls)) for _ in range(3))
    left = np.where(messages.left == messages.sent, NONE, messages.left)
    arrived = np.where(messages.arrived == messages.posted, NONE, messages.arrived)
    for every in (messages.sent, left, messages.posted, arrived):
        np.add.at(moved, every[every != NONE], 1.0)
        own = every[mine]
        known = own != NONE
        np.add.at(goes, own[known], gone[known])
        np.add.at(extra, own[known], 0.5 * messages.bytes[mine][known])  # in starting and in completing call
    rows = np.flatnonzero((goes > 0) & ~walked)
    send_s = max(float(np.median(calls.own_s[messages.sent[mine]])), CALL_S)
    late = (messages.posted != NONE) & walked[messages.posted]
    completes = np.isin(rows, np.concatenate([left[late], arrived[late]]))
    own_s = np.minimum(calls.own_s[rows], np.where(completes, MOST_COMPLETING * send_s * moved[rows], np.inf))
    return rows, own_s, goes[rows] / np.maximum(moved[rows], 1.0), extra[rows]


def _collectives(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Of each place: runs of short collectives on one communicator with little computing between them."""
    small = (calls.group != NONE) & (calls.bytes <= MOST_JOINT_BYTES) & (calls.bytes > 0)
    ends, started = _completing(calls, small & ~calls.is_collective)
    every = alike(calls, np.flatnonzero(small), ~small & ~ends, calls.call, calls.communicator, calls.root)
    own_s, outside_s = times(calls, every)
    few = _fields(calls, every).only(outside_s <= NEXT_TO_NONE * own_s)
    both = (_of_different_things(calls, dense(calls, every)), few)
    for mine in (mine for runs in both for _, mine in runs.by_place(calls)):
        rows = mine.rows
        name, size = calls.name_of(rows).removesuffix("_c"), format_bytes(round(float(calls.bytes[rows].mean())))
        total = round(float(calls.per_collective[rows].sum()))
        gone = np.zeros(len(calls))
        gone[rows] = mine.gone
        ended = np.append(rows, np.flatnonzero(ends & (gone[started] > 0)))
        gone = np.where(ends[ended], gone[started[ended]], gone[ended])
        took_s = gone * usual(calls.end_s[ended] - calls.start_s[ended], calls.call[ended])
        yield SeenPattern(
            name="small collectives in a row",
            sites=most(calls.site[rows], calls.own_s[rows]),
            count=total,
            text=f"{total:,} {name} of {size} in {{place}}, {mine.in_a_row(calls)} on one communicator",
            change=f"put their operands into one array and call {name} once, for all of their "
            "elements, if none needs another's result",
            rows=ended,
            saved_s=np.maximum(merged(calls, ended, calls.own_s[ended], gone, calls.bytes[ended].astype(float)),
                               took_s[:, None] * [0.0, 0.0, 1.0]),
        )  # fmt: skip


def _completing(calls: ProgramCalls, starts: Bools) -> tuple[Bools, Ints]:
    """Calls that complete at most what these starts right before them started, and the last of those; shape (n,)."""
    rows = np.arange(len(calls))
    done = calls.named("MPI_Wait", "MPI_Waitall")
    last = np.maximum.accumulate(np.where(done, 0, rows))
    done &= starts[last] & (calls.thread[last] == calls.thread)
    row = np.cumsum(starts & ~np.append(False, starts)[:-1])  # starts that follow each other at once
    given = np.maximum(calls.requests, 1)
    spare = np.bincount(row, weights=starts) - np.bincount(row, weights=given * done)
    return done & (spare >= 0)[row], last


def _of_different_things(calls: ProgramCalls, runs: Runs) -> Runs:
    """Runs whose calls are about different things; their length is how many of them could be one.

    They use several places or buffers; or bring what differs by rank, and so ends no loop, with next to no computing
    within, but not from neighbours alone, which is a step of a loop; or have none within, and one length in several
    runs: a loop until something converges has other lengths.
    """
    if not runs.rows.size:
        return runs
    different = buffers_of(calls, runs, np.ones(len(calls), dtype=bool))
    thread, ends_none = np.zeros(runs.length.size, dtype=np.int64), np.zeros(runs.length.size, dtype=bool)
    thread[runs.run] = calls.thread[runs.rows]
    same, where = grouped(thread, runs.length)
    often = np.bincount(same, minlength=where.size)[same]
    own_s, between_s = times(calls, runs)
    repeats = (often >= LEAST_RUNS) & (often >= 0.9 * np.bincount(thread)[thread])
    repeats &= between_s <= (runs.length - 1) * NO_COMPUTING_S
    steps = calls.named("MPI_Start", *TO_ALL) | named_like(calls, r"(?i:i?neighbor_.*)")[calls.call]
    ends_none[runs.run[~steps[runs.rows]]] = True
    repeats |= ends_none & (between_s <= NEXT_TO_NONE * own_s)
    are_several = different >= LEAST_DIFFERENT
    return dataclasses.replace(runs, length=np.where(are_several, different, runs.length)).only(are_several | repeats)


def _epochs(calls: ProgramCalls, opens: Bools, closes: Bools, *, is_joint: bool) -> Iterator[SeenPattern]:
    """Epochs of few transfers, one behind the other: lock, put, unlock; put, fence.

    What gets bring is needed at once, unless each of them has a buffer of its own.
    Args: is_joint: targets take part, so that an epoch's end may bring what the next one sends.
    """
    puts, gets = calls.named(*PUTS), calls.named(*GETS)
    every = blocks(calls, to_each=False) if closes.any() else None
    if every is None or not every.rows.size:
        return
    opened, closed, put, got, others = (
        np.bincount(every.run, weights=which[every.rows], minlength=every.length.size)
        for which in (opens, closes, puts, gets, ~(opens | closes | puts | gets)))  # fmt: skip
    is_apart = got <= buffers_of(calls, every, gets)
    is_row = is_apart if is_joint else (opened > 0) | (got == 0)
    fits = (closed > 0) & (put + got > 0) & ((put == 0) | (got == 0)) & (others == 0) & is_row
    for place, mine in dense(calls, every.only(fits)).by_place(calls):
        order = np.where(opens, 0, np.where(closes, 2, 1))[mine.rows]
        block = mine.rows[np.argsort(order, kind="stable")]
        kinds = ", ".join(dict.fromkeys(calls.names[call] for call in calls.call[block]))
        moves = mine.rows[(puts | gets)[mine.rows]]
        ends = (opens | closes)[mine.rows]
        rows = mine.rows[ends]
        total = calls.stood_for(rows[closes[rows]])
        size = format_bytes(round(float(calls.bytes[moves].mean())))
        between_moves_s = np.diff(np.cumsum(gaps(calls))[moves], prepend=0.0)
        computes = np.median(between_moves_s) > 3 * NO_COMPUTING_S  # three gaps: an iteration's exchange, and no row
        if is_joint and (computes or calls.bytes[moves].mean() > MOST_JOINT_BYTES):
            continue
        share = mine.gone[ends] * np.where(is_apart, 1.0, 0.6)[mine.run[ends]]
        saved_s = merged(calls, rows, calls.own_s[rows], share, np.zeros(rows.size))
        if is_joint:  # ranks wait for each other in each of them
            took_s = usual(calls.end_s[rows] - calls.start_s[rows], calls.call[rows])
            saved_s[:, 2] = np.maximum(saved_s[:, 2], share * took_s)
        half_s, least_s, whole_s = between_s(calls, mine)
        # What computes the next one is longer than the steps of a loop, and stays.
        steps_s = MOST_COMPUTING * float((saved_s[:, 0] * calls.seconds_weight[rows]).sum()) / calls.ranks
        is_flushed = not (is_joint or opens[mine.rows].any())  # all within one epoch
        yield SeenPattern(
            name=f"one {'flush' if is_flushed else 'epoch'} for each transfer",
            sites=(place, *(site for site in most(calls.site[rows], calls.own_s[rows]) if site != place)),
            count=total,
            text=f"{total:,} times {kinds} of {size} in {{place}}, {mine.in_a_row(calls)}",
            change=("move all of them within one epoch, " + "and " * (not is_joint)) * (not is_flushed)
            + ("if none needs what another brought" if is_joint else "call MPI_Win_flush where a result is needed"),
            rows=rows,
            saved_s=saved_s,
            more_s=(min(half_s, steps_s), least_s, min(whole_s, steps_s)),
        )


LEAST_READS = 1000  # of a place
READ_AT_ONCE = 10  # that one call would bring, or one flush complete: how many can be known before is the program's


def _reads(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Short reads of a place that are each completed at once."""
    reads = calls.named(*GETS, *ATOMIC) & (calls.bytes <= SHORT_BYTES)
    same = calls.thread[1:] == calls.thread[:-1]
    alone = np.flatnonzero(reads[:-1] & calls.named(*CLOSES)[1:] & same)
    then = np.minimum(alone + 2, len(calls) - 1)  # what is read may be what is put next
    alone = alone[~(calls.named(*PUTS, "MPI_Compare_and_swap")[then] & (calls.thread[then] == calls.thread[alone]))]
    for _, mine in calls.by_site(alone):
        if calls.stood_for(mine) < LEAST_READS:
            continue
        rows, is_atomic = np.concatenate([mine, mine + 1]), bool(calls.named(*ATOMIC)[mine].all())
        saved_s = merged(calls, rows, calls.own_s[rows], np.full(rows.size, 1 - 1 / READ_AT_ONCE),
                         np.zeros(rows.size))  # fmt: skip
        size = format_bytes(round(float(calls.bytes[mine].mean())))
        what = f"of {size} in {{place}}, each completed by its own {calls.name_of(mine + 1)}"
        name, change = (
            ("each read waits for itself", "read more by one call, or start several reads and flush once"),
            ("each atomic waits for itself",
             "combine them first and bring them in by one call (MPI_Accumulate), or start several and flush once"),
        )[is_atomic]  # fmt: skip
        yield at_place(calls, mine, name, what, change, saved_s, mine + 1)


# Calls for which there is a cheaper one.


class Cheaper(NamedTuple):
    """Calls for which a cheaper one does the same.

    name: of what they are.  calls: behind MPI_.  when: what has to be so, and what the other one takes (`_cheaper`).
    what, change: ends of sentences.
    """

    name: str
    calls: str
    when: str
    what: str
    change: str


SWAPS, SHARED = "reads for a swap", "within memory that ranks share"
CHEAPER = (
    Cheaper("atomic reads", "(?i:r?get_accumulate)|Fetch_and_op", "reads", "with MPI_NO_OP",
            "read with MPI_Get, if nobody writes there by accumulate calls at the same time"),
    Cheaper("reads before compare and swap", "(?i:r?get(_accumulate)?)|Fetch_and_op", SWAPS,
            "each for an MPI_Compare_and_swap right behind",
            "call MPI_Fetch_and_op once instead of both, if its operations make the new value"),
    Cheaper("accumulates that replace", "(?i:r?accumulate)", "replaces", "with MPI_REPLACE, each of them atomic",
            "write with MPI_Put, if no two ranks write the same place at the same time"),
    Cheaper("a rank's own part is sent", "Alltoall[vw]", "own part", "much of whose bytes goes to the rank itself",
            "give 0 as the count of the own rank, and copy that part"),
    Cheaper("exchange in one buffer", "Sendrecv_replace", "copies", "that the library may copy to its own memory first",
            "receive into a second buffer by MPI_Sendrecv, and swap the two"),
    Cheaper("transfers within shared memory", "(?i:r?(get|put))", SHARED, SHARED,
            "read and write there in place: ask MPI_Win_shared_query for its address once, before the loop"),
)  # fmt: skip
LEAST_OWN, LEAST_OWN_BYTES = 0.2, 65536  # of the bytes of an all-to-all; of all: of fewer, the copy is nothing


def _cheaper(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """With what completes them right behind; the first row that fits a call is its own."""
    made = calls.counted[named_like(calls, r"Win_(create|allocate)\w*")[calls.counted[:, 0]], 0]
    windows = {calls.names[call].removesuffix("_c") for call in made.tolist()}
    swaps = np.append(calls.named("MPI_Compare_and_swap"), [False, False])[2:]
    copied_s, own_ratio, is_long = (
        S_PER_COPIED_BYTE * calls.bytes,
        calls.detail / 1000.0,
        calls.bytes >= LEAST_OWN_BYTES,
    )
    takes = {
        "reads": (calls.is_read & ~swaps, CALL_S + copied_s),
        SWAPS: (calls.is_read & swaps, 0.0 * copied_s),
        "replaces": (calls.detail == 1, CALL_S + copied_s),
        "own part": (is_long & (own_ratio >= LEAST_OWN), calls.own_s * (1.0 - own_ratio)),
        "copies": (is_long, np.maximum(calls.own_s - copied_s, 0.2 * calls.own_s)),
        SHARED: ((calls.bytes <= SHORT_BYTES) & (windows == {"MPI_Win_allocate_shared"}), copied_s),
    }
    for row in CHEAPER:
        fits, other_s = takes[row.when]
        for _, mine in calls.by_site(np.flatnonzero(fits & named_like(calls, row.calls)[calls.call])):
            ends = mine[mine + 1 < len(calls)] + 1
            ends = ends[calls.named(*CLOSES)[ends] & (calls.thread[ends] == calls.thread[ends - 1])]
            ends_s = np.minimum(usual(calls.own_s[ends], calls.call[ends], 1.0), CALL_S) * (
                row.when not in (SWAPS, SHARED)
            )
            least_s = other_s[mine]
            if calls.is_one_sided[mine].any():
                least_s = np.minimum(least_s, float(np.percentile(calls.own_s[mine], FASTEST)))
            what = f"of {format_bytes(round(float(calls.bytes[mine].mean())))} in {{place}}, {row.what}"
            saved_s = less(calls, np.concatenate([mine, ends]), np.concatenate([least_s, ends_s]))
            yield at_place(calls, mine, row.name, what, row.change, saved_s, ends)


MOST_USED = 0.7  # of the ranks in groups of epochs


def _spare_partners(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Epochs by groups with ranks to which no transfer ever goes: each of them is told, and waited for."""
    starts = np.flatnonzero(calls.named("MPI_Win_start") & (calls.detail > 0))
    moves = np.flatnonzero(calls.named(*PUTS, *GETS, *ATOMIC, "MPI_Compare_and_swap") & (calls.target >= 0))
    if not starts.size or not moves.size:
        return
    first = grouped(calls.rank[moves], calls.target[moves])[1]
    partners = np.bincount(calls.rank[moves[first]], minlength=calls.ranks)
    used, given = float(partners[calls.rank[starts]].mean()), float(calls.detail[starts].mean())
    if used > MOST_USED * given:
        return
    others = np.setdiff1d(np.flatnonzero(calls.named(*JOINT_OPENS, "MPI_Win_complete")), starts)
    rows = np.concatenate([starts, others])
    what = f"in {{place}}, for {given:.3g} ranks each, {used:.3g} of which a transfer goes to (means)"
    change = "give MPI_Win_start and MPI_Win_post groups of those ranks alone that data goes to or comes from"
    saved_s = (1.0 - used / given) * usual(calls.own_s[rows], calls.call[rows])[:, None] * [1.0, 0.5, 1.5]
    yield at_place(calls, starts, "epochs with ranks that nothing goes to", what, change, saved_s, others)


def _exclusive_locks(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Locks for which ranks wait while another one holds it, and does not both read and write by it."""
    is_lock = calls.named("MPI_Win_lock") & (calls.detail == 1)
    both = np.flatnonzero(is_lock | calls.named("MPI_Win_unlock"))
    both = both[np.lexsort((both, calls.target[both], calls.communicator[both], calls.thread[both]))]
    of = [column[both] for column in (calls.thread, calls.communicator, calls.target)]
    held = np.flatnonzero(is_lock[both[:-1]] & ~is_lock[both[1:]] & np.all([np.diff(each) == 0 for each in of], axis=0))
    locks, unlocks = both[held], both[held + 1]
    within = [np.cumsum(calls.named(*names))[unlocks] - np.cumsum(calls.named(*names))[locks] for names in (PUTS, GETS)]
    if not locks.size or np.any((within[0] > 0) & (within[1] > 0)):
        return
    waited_s = np.zeros(len(calls))
    window = grouped(*(each[held] for each in of[1:]))[0]
    for number in range(int(window.max()) + 1):
        mine = np.flatnonzero(window == number)
        mine = mine[np.argsort(calls.end_s[locks[mine]])]
        begin_s, end_s = calls.end_s[locks[mine]], calls.end_s[unlocks[mine]]
        end_s = np.minimum(end_s, np.append(begin_s[1:], np.inf))
        at_s, sum_s = np.stack([begin_s, end_s], axis=1).ravel(), np.cumsum(end_s - begin_s)
        known_s = np.stack([sum_s - (end_s - begin_s), sum_s], axis=1).ravel()
        waited_s[locks[mine]] = np.interp(begin_s, at_s, known_s) - np.interp(calls.start_s[locks[mine]], at_s, known_s)
    for _, rows in calls.by_site(np.flatnonzero(waited_s > 0)):
        each = format_time(float(np.median(waited_s[rows])))
        what = f"in {{place}} waited {each} each (median) while another rank held the exclusive lock"
        change = "take MPI_LOCK_SHARED, which several ranks hold at once, if no two of them write the same place"
        yield at_place(calls, rows, "exclusive locks", what, change, waited_s[rows, None] * [1.0, 0.5, 1.0])


# Pieces of a place that were compared, bytes of such messages, and shares that are zero, or as before.
LEAST_PIECES, LEAST_BYTES, ZEROS, AGAIN = 256, 1024, 0.6, 0.9
OF_EACH = r"I?(neighbor_)?((all)?gather|alltoall|scatter)v?"  # in any case: what each rank gives is its own
MOST_FLAG_BYTES = 8  # a flag that may change at last may be as it was until then


# Names, what such bytes are, and changes; the last where no sample shows what converts, as in Python.
IN_MESSAGES = (
    ("messages of zeros", "zeros", "send only what is used, by its count"),
    ("the same message again", "the same as before", "send it once, and again only when it has changed"),
    ("numbers sent as text", "numbers as text", "send numbers as they are (MPI_DOUBLE), not as text"),
)
NUMBER_BYTES, CONVERTING_S = 20, 0.4e-6  # of a number as text; and what it takes to be written and read


def _contents(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Places whose messages are mostly zeros, or what the ones before them were; of short ones collectives alone."""
    own_s = calls.own_s / calls.elapsed_ratio[calls.rank]
    last_in_s = np.full(int(calls.group.max(initial=0)) + 2, -np.inf)  # the last is of no group
    np.maximum.at(last_in_s, calls.group, calls.start_s)
    settings = calls.is_collective & (
        (calls.bytes > MOST_FLAG_BYTES) | named_like(calls, f"(?i:{OF_EACH})")[calls.call]
    )
    texts = () if samples_in(calls, TEXT.fits).sum() >= LEAST_SAMPLES else texts_in(calls)  # else by these
    for place in np.unique(calls.contents[:, 1]).tolist():
        looked, zero, same, text = calls.contents[calls.contents[:, 1] == place, 2:].sum(axis=0).tolist()
        looked = max(looked, text / 2)  # of texts, whose lengths differ, few are compared
        is_again = same >= AGAIN * looked
        rows = np.flatnonzero((calls.site == place) & ((calls.bytes >= LEAST_BYTES) | (settings & is_again)))
        is_text = not is_again and place in texts
        fits = is_again or is_text or ZEROS * looked <= zero < looked  # where all are zeros, nobody wrote anything
        if place == NONE or looked < LEAST_PIECES or not fits or not rows.size:
            continue
        name, what, change = IN_MESSAGES[1 if is_again else 2 * is_text]
        share = (same if is_again else text / 2 if is_text else zero) / looked
        size = round(float(calls.bytes[rows].mean()))
        total, which = calls.stood_for(rows), f"{calls.name_of(rows)} of {format_bytes(size)}"
        each_s = CONVERTING_S * is_text * total * size / NUMBER_BYTES / calls.ranks
        gone = share * (1.0 - is_text * 8 / NUMBER_BYTES)
        message, part = np.flatnonzero(np.isin(calls.messages.sent, rows)), np.full(rows.size, gone)
        ends, _ = _completing(calls, np.isin(np.arange(len(calls)), rows) & (calls.group != NONE))
        if message.size:  # its receive takes less, too
            rows, _, part, _ = _joined(calls, message, np.full(message.size, gone), np.zeros(len(calls), dtype=bool))
        elif ends.any():  # a nonblocking collective passes in the call that completes it
            rows = np.append(rows, np.flatnonzero(ends))
            part = np.full(rows.size, gone)
        saved_s = no_ends(part * usual(own_s[rows], calls.call[rows]))
        if is_again and calls.is_collective[rows].all():  # the whole call goes, but who comes late is waited for later
            change = "call it once before the loop, and again only when what a rank gives can have changed"
            last_s = np.where(calls.group[rows] == NONE, calls.start_s[rows], last_in_s[calls.group[rows]])
            took_s = np.minimum(calls.own_s[rows], np.maximum(calls.end_s[rows] - last_s, 0.0))
            saved_s = part[:, None] * usual(took_s, calls.call[rows])[:, None] * [1.0, 0.5, 2.0]
        yield SeenPattern(
            name=name,
            sites=(place,),
            count=total,
            text=f"{share:.0%} of {total:,} {which} in {{place}} is {what}",
            change=change,
            rows=rows,
            saved_s=saved_s,
            more_s=(each_s, each_s, each_s),
        )


PICKS = ("MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome")
LEAST_REQUESTS = 64  # given to one call
S_PER_REQUEST = 1e-9  # that a call looks at
MOST_ELSE = 4.0  # times that: more is what a call does with the one that it completes


def _completions(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Loops of MPI_Waitany and the like over many requests: each call looks at all of them again."""
    chosen = calls.named(*PICKS) & (calls.requests >= LEAST_REQUESTS)
    runs = alike(calls, np.flatnonzero(chosen), ~chosen, calls.site, calls.call, calls.requests)
    runs = runs.only(runs.length >= 16) if runs.rows.size else runs
    for _, mine in runs.by_place(calls):
        rows = mine.rows
        own_s, given = calls.own_s[rows], calls.requests[rows]
        if float(np.median(own_s)) > MOST_ELSE * S_PER_REQUEST * float(given.mean()):
            continue  # looking at them is little of what it does
        what = (
            f"in {{place}}, each given {int(np.median(given)):,} requests, all of which it looks at again: "
            f"{format_time(float(np.median(own_s)))} a call (median)"
        )
        change, saved_s = (
            "complete them by MPI_Waitall, or in groups of few requests",
            less(calls, rows, CALL_S + 0 * own_s),
        )
        yield at_place(calls, rows, "each call looks at all requests", what, change, saved_s)


UNCHANGED, ADDED = "if the root does not change the result in between", "if the root only adds up what ranks gave"
# Two calls right behind each other with one root, one call that does the same, and when.
TWO_IN_ONE = (
    ("Reduce", "Bcast", "MPI_Allreduce", UNCHANGED),
    ("Gather", "Bcast", "MPI_Allgather", UNCHANGED),
    ("Gatherv", "Bcast", "MPI_Allgatherv", UNCHANGED),
    ("Reduce", "Scatter", "MPI_Reduce_scatter_block", UNCHANGED),
    ("Reduce", "Scatterv", "MPI_Reduce_scatter", UNCHANGED),
    ("Gather", "Scatter", "MPI_Scan or MPI_Exscan", ADDED),
)


def _two_in_one(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """A reduction or gather to a root that gives the result to all at once, without computing for long."""
    size = np.array([*calls.members, 1])[calls.communicator[:-1]]
    pair = (calls.thread[1:] == calls.thread[:-1]) & (calls.communicator[1:] == calls.communicator[:-1])
    pair &= (calls.root[1:] == calls.root[:-1]) & (calls.root[1:] != NONE)
    pair &= calls.gap_s[1:] <= np.maximum(calls.end_s - calls.start_s, 2 * PYTHON_STEP_S)[:-1]
    lengths = [calls.bytes[1:] * times == calls.bytes[:-1] * of for times, of in ((1, 1), (1, size), (size, 1))]
    for first, then, both, when in TWO_IN_ONE:
        fits = pair & calls.named(f"MPI_{first}")[:-1] & calls.named(f"MPI_{then}")[1:]
        fits &= np.any(lengths, axis=0) | ("v" in first + then)
        for place, mine in calls.by_site(np.flatnonzero(fits)):
            if mine.size < 10 or not (calls.root[mine] == calls.rank[mine]).any():  # the root computes there
                continue
            other = [site for site in most(calls.site[mine + 1], calls.own_s[mine + 1]) if site != place]
            given = format_bytes(round(float(calls.bytes[mine + 1].mean())))
            what = f"in {{place}} right before MPI_{then} of {given} from that root"
            own_s = usual(np.append(calls.own_s[mine], calls.own_s[mine + 1]), calls.call[np.append(mine, mine + 1)])
            seen = at_place(calls, mine, f"{both} in two steps", what, f"call {both} instead of both ({when})",
                            own_s[:, None] * [0.5, 0.25, 0.75], mine + 1)  # fmt: skip
            yield dataclasses.replace(seen, sites=(place, *other))


def _probes(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Blocking probes right before the receives of messages that all have one length."""
    probes = calls.named("MPI_Probe", "MPI_Mprobe")[:-1] & (calls.thread[1:] == calls.thread[:-1])
    for place, mine in calls.by_site(np.flatnonzero(probes & calls.is_message[1:] & calls.brings[1:])):
        length = int(calls.bytes[mine[0] + 1])
        if mine.size < LEAST_TIMES or calls.within[place] or (calls.bytes[mine + 1] != length).any():
            continue  # a binding asks by itself how long an object is
        what = f"in {{place}}, each before a message of {format_bytes(length)}"
        change = "receive at once (from MPI_ANY_SOURCE where any rank may send), if all messages are as long"
        saved_s = usual(calls.own_s[mine], calls.call[mine])[:, None] * [1.0, 0.5, 1.5]
        yield at_place(calls, mine, "a probe before each message", what, change, saved_s)


class InLoop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls that come again and again.

    name: of what they are.  calls: behind MPI_.  least: of a rank at one place.  most_s, most_bytes: what one takes and
    moves at most; 0: nothing is known of bytes.  least_share: of the run, that they take.  goes_ratio: part of their
    time that goes with the change.  slows: calls that take longer after it.  is_waited_for: what completes no message
    completes it.  in_vain: where they never find anything.  why, change: ends of sentences; a change may use groups of
    the first of `calls`.
    """

    name: str
    calls: tuple[str, ...]
    change: str
    slows: str = "(?!)"
    is_waited_for: bool = False
    in_vain: bool = False
    goes_ratio: float = 0.7
    why: str = "and sends nothing"
    least: int = 100
    least_share: float = 0.0
    most_s: float = np.inf
    most_bytes: float = 0.0


IN_LOOPS = read_rows("calls", "again", InLoop)
MOST_SITES = 8  # that a finding lists


def _at_places(calls: ProgramCalls, like: str) -> Iterator[tuple[int, str, Bools]]:
    """Calls like this by place and name, with their rows of `counted`."""
    chosen = named_like(calls, like)[calls.counted[:, 0]]
    for call, place in sorted(set(map(tuple, calls.counted[chosen, :2].tolist()))):
        yield place, calls.names[call], (calls.counted[:, :2] == (call, place)).all(axis=1)


def _never_find(calls: ProgramCalls) -> bool:
    """Whether no probe finds anything, as a loop that waits does at its end, and none helps what was started along."""
    finds = named_like(calls, "Im?probe")[calls.call] & ~calls.in_vain
    starts = named_like(calls, r"I(?!m?probe|nit|nfo|nter|s_)\w+|Start(all)?|Win_\w+")[calls.counted[:, 0]]
    is_thinned = (calls.weight[~calls.in_vain] >= 1.5).any()  # what found something may be missing
    return not (finds.any() or starts.any() or is_thinned)


def _counted(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Calls that are only counted, again and again: they send nothing, move little, or wait for a shared pointer.

    All places with one change are one: a loop that asks for several things is left out as a whole.
    """
    table, every_took_s = calls.counted, calls.counted_s + around_s(calls)
    known, alike_at = set[str](), dict[str, list[tuple[InLoop, int, str, Bools, Floats]]]()
    for row in IN_LOOPS:
        places = [place for place in _at_places(calls, "|".join(row.calls)) if place[1] not in known]
        known |= {name for _, name, _ in places}
        for place, name, here in places:
            total, took_s = int(table[here, 3].sum()), every_took_s[here]
            each, every_s = (np.bincount(table[here, 2], part, calls.ranks) for part in (table[here, 3], took_s))
            is_long = row.most_bytes and not 0 < calls.moved[here, 0].sum() <= row.most_bytes * total
            is_useful = row.in_vain and not _never_find(calls)
            if each.max() < row.least or took_s.sum() > row.most_s * total or is_long or is_useful:
                continue
            match = re.fullmatch(f"MPI_(?:{row.calls[0]})(_c)?", name)
            # The last rank to come to one of all ranks does not wait for others in it.
            is_of_all = (
                re.search(r"_all(_c)?$|File_(sync|preallocate|set_[sv])|Comm_(spawn|accept|connect)", name) is not None
            )
            goes_s = row.goes_ratio * np.minimum(every_s, every_s[each > 0].min() if is_of_all else np.inf)
            change = match.expand(row.change) if match else row.change
            alike_at.setdefault(change, []).append((row, place, name, here, goes_s))
    for change, parts in alike_at.items():
        parts.sort(key=lambda part: -float(part[-1].max()))
        row, place, name, here, _ = parts[0]
        every = np.any([part[3] for part in parts], axis=0)
        slowed_s = every_took_s * named_like(calls, row.slows)[table[:, 0]]
        every_s, slower_s = (np.bincount(table[:, 2], took_s, calls.ranks)
                             for took_s in (every_took_s * every + slowed_s, slowed_s))  # fmt: skip
        waits = np.flatnonzero(completing_others(calls) & row.is_waited_for)
        if every_s.max() < min(part[0].least_share for part in parts) * calls.span_s:
            continue
        goes_s = np.sum([part[-1] for part in parts], axis=0) + row.goes_ratio * slower_s
        value_s, total = float(goes_s.max()), int(table[here, 3].sum())
        more = f", and {len(parts) - 1} more like it" if len(parts) > 1 else ""
        most_s = f"{format_time(float(every_s.max()))} on rank {every_s.argmax()}"
        yield SeenPattern(
            name=row.name,
            sites=tuple(dict.fromkeys(part[1] for part in parts))[:MOST_SITES],
            count=int(table[every, 3].sum()),
            text=f"{name} is called {total:,} times in {{place}}{more}, {row.why}: {most_s}",
            change=f"{name}, {total:,} times{more}: {change}",
            rows=waits,
            saved_s=row.goes_ratio * no_ends(calls.own_s[waits]),
            more_s=(value_s, value_s, value_s),
        )


MOST_PIECE_BYTES, LEAST_PIECES = 65536, 8  # of a system call; of these for each transfer of a file


def _in_pieces(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Transfers of files that the library makes by many short system calls: its buffer is small, or parts lie apart."""
    if not len(calls.moved) or not len(calls):
        return
    begin_s, end_s = calls.start_s.min(keepdims=True), calls.end_s.max(keepdims=True)
    seen = [done for rank in range(calls.ranks) if (done := calls.activity(rank, begin_s, end_s)) is not None]
    for word, pieces, size in (
        ("read", sum(done.reads for done in seen), sum(done.read_bytes for done in seen)),
        ("write", sum(done.writes for done in seen), sum(done.written_bytes for done in seen)),
    ):
        here = named_like(calls, rf"File_i?{word}\w*")[calls.counted[:, 0]]
        moves = np.flatnonzero(here & (calls.moved[:, 0] > 0))
        total, moved = int(calls.counted[moves, 3].sum()), float(calls.moved[moves, 0].sum())
        few = pieces < max(LEAST_PIECES * total, LEAST_READS) or size > MOST_PIECE_BYTES * pieces
        if few or not 0.5 * moved <= size <= 2.0 * moved:  # else they are of other files, too
            continue
        call, site = calls.counted[moves[calls.counted_s[moves].argmax()], :2].tolist()
        piece, took_s = format_bytes(round(size / pieces)), float(calls.counted_s[here].sum()) / calls.ranks
        name = f"{total:,} {calls.names[call]} of {format_bytes(round(moved / total))}"
        yield SeenPattern(
            name="transfers of a file in small pieces",
            sites=(site,),
            count=total,
            text=f"{name} in {{place}} are {pieces:,.0f} system calls of {piece}",
            change=f"{name} go to the system in pieces of {piece}: leave out hints that make the library's buffer "
            "small (cb_buffer_size; MPI_File_get_info shows them), or use collective calls where the parts lie apart",
            more_s=(0.5 * took_s, 0.3 * took_s, 0.85 * took_s),
        )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(pattern=see, **page_of("SP079"))
