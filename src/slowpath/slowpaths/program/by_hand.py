# SPDX-License-Identifier: Apache-2.0
"""A broadcast, scatter or gather that is written out as a loop of messages. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Ints,
    ProgramCalls,
    SeenPattern,
    grouped,
    most,
    occurrence,
    usual,
)

LEAST_PARTNERS = 3  # with fewer, a tree has as many steps
LEAST_ROUNDS = 5
MOST_ROWS = 2.5  # calls from the first message of a round to the last one, for each message: a loop and its waits
ONE_ROOT = 0.9  # of the messages of a place
LONG_BYTES = 65536  # of all parts of a scatter or gather: beyond, bytes take longer than calls, and a tree has more
TWICE = 2  # goes each byte of a long broadcast, whatever the number of ranks


def collectives_by_hand(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place where one rank sends to all others in a row, or receives from all."""
    messages = calls.messages
    came = np.where(messages.posted == NONE, messages.arrived, messages.posted)
    return [
        *_patterns(calls, messages.sent, messages.source, messages.destination, sends=True),
        *_patterns(calls, came, messages.destination, messages.source, sends=False),
        *_given_back(calls),
    ]


def _given_back(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Messages of all others to one rank, which broadcasts at least as many bytes right behind, whatever the parts."""
    messages, gives = calls.messages, calls.named("MPI_Bcast") & (calls.root == calls.rank)
    last_other = np.maximum.accumulate(np.where(calls.is_message, -1, np.arange(len(calls))))
    by_arrival = np.argsort(messages.arrived, kind="stable")
    begins = np.flatnonzero(gives[1:] & calls.is_message[:-1] & (calls.thread[1:] == calls.thread[:-1])) + 1
    ends = np.append(np.flatnonzero(~gives), len(calls))
    sides = np.searchsorted(messages.arrived[by_arrival], [last_other[begins - 1] + 1, begins])
    every = np.stack([begins, ends[np.searchsorted(ends, begins)], *sides], axis=1)
    for site, mine in calls.by_site(begins):
        taken, given = list[Ints](), list[Ints]()
        for begin, end, low, high in every[np.isin(begins, mine)].tolist():
            came, others = by_arrival[low:high], calls.members[calls.communicator[begin]] - 1
            is_all = np.unique(messages.source[came]).size == others > 1
            if is_all and calls.bytes[begin:end].sum() >= messages.bytes[came].sum():
                taken.append(np.unique(messages.arrived[came]))
                given.append(calls.group[begin:end])
        if len(taken) < LEAST_ROUNDS:
            continue
        received, groups = np.concatenate(taken), np.setdiff1d(np.concatenate(given), [NONE])
        rows, total = np.append(received, np.flatnonzero(np.isin(calls.group, groups))), calls.stood_for(received)
        yield SeenPattern(
            name="MPI_Allgatherv by hand",
            sites=(*most(calls.site[received], calls.own_s[received], 1), site),
            count=total,
            text=f"{total:,} messages of all to rank {calls.rank[received[0]]} in {{place}}, which gives them to all",
            change="call MPI_Allgatherv on all ranks instead of both (if the root does not change what it got)",
            rows=rows,
            saved_s=usual(calls.own_s[rows], calls.call[rows])[:, None] * [0.5, 0.25, 0.75],
        )


def _is_whole(calls: ProgramCalls, at: Ints, number: Ints, length: Ints) -> Bools:
    rounds = int(number.max()) + 1
    count = np.bincount(number, minlength=rounds)
    first, last = np.full(rounds, len(calls)), np.full(rounds, -1)
    np.minimum.at(first, number, at)
    np.maximum.at(last, number, at)
    lengths = np.bincount(number[grouped(number, length)[1]], minlength=rounds)
    partners = np.zeros(rounds, dtype=np.int64)
    partners[number] = np.array([*calls.members, 0], dtype=np.int64)[calls.communicator[at]] - 1
    whole: Bools = (count == partners) & (count >= LEAST_PARTNERS) & (lengths == 1) & (last - first < MOST_ROWS * count)
    return whole


def _patterns(calls: ProgramCalls, rows: Ints, root: Ints, partner: Ints, *, sends: bool) -> Iterator[SeenPattern]:
    """The n-th message of each root's place to each partner is of its n-th round; only whole rounds count.

    Args: rows, root, partner: of each message the root's call, the root, and the other rank.
    """
    usable = np.flatnonzero((rows != NONE) & (partner >= 0) & (root != partner))
    if not usable.size:
        return
    usable = usable[np.argsort(rows[usable], kind="stable")]
    at = rows[usable]
    stream, _ = grouped(calls.thread[at], calls.site[at], calls.communicator[at], partner[usable])
    every, _ = grouped(calls.thread[at], calls.site[at], calls.communicator[at], occurrence(stream))
    fits = _is_whole(calls, at, every, calls.messages.bytes[usable])[every]
    for site in np.unique(calls.site[at[fits]]).tolist():
        here = fits & (calls.site[at] == site)
        message, number, mine = usable[here], every[here], at[here]
        roots, rounds = np.bincount(root[message]), np.unique(number).size
        if rounds < LEAST_ROUNDS or roots.max() < ONE_ROOT * message.size:
            continue
        is_one_buffer = ONE_ROOT * grouped(number, calls.offset[mine])[1].size <= rounds
        gather = "MPI_Reduce (MPI_Gather, if they are not combined)" if is_one_buffer else "MPI_Gather"
        name = gather if not sends else "MPI_Bcast" if is_one_buffer else "MPI_Scatter"
        length = float(calls.messages.bytes[message].mean())
        if name == "MPI_Bcast" or length * message.size / rounds <= LONG_BYTES:
            yield _pattern(calls, message, mine, int(site), name, int(roots.argmax()), sends=sends)


def _pattern(
    calls: ProgramCalls, message: Ints, mine: Ints, site: int, name: str, root: int, *, sends: bool
) -> SeenPattern:
    messages = calls.messages
    partners = float(np.array(calls.members)[calls.communicator[mine]].mean()) - 1
    length = float(messages.bytes[message].mean())
    steps = math.ceil(math.log2(partners + 1))
    if name == "MPI_Bcast" and length > LONG_BYTES:  # a scatter and an allgather (Thakur et al. 2005)
        steps = min(steps, TWICE)
    rows = np.unique(mine)
    count = calls.stood_for(mine)
    own_s, call = calls.own_s[rows], calls.call[rows]
    share = max(1.0 - steps / partners, 0.0)
    there = (messages.arrived if sends else messages.sent)[message]
    other = [int(place) for place in np.unique(calls.site[there[there != NONE]]) if place != site]
    word = "sent by" if sends else "received by"
    return SeenPattern(
        name="collective by hand",
        sites=(site, *other[:3]) if site != NONE else (),
        count=count,
        text=f"{count:,} messages of {format_bytes(round(length))} {word} rank {root} in {{place}}, "
        "one for each other rank in a row",
        change=f"call {name} on all ranks instead of the loop",
        rows=rows,
        saved_s=share * np.stack([usual(own_s, call), usual(own_s, call, 1.0), own_s], axis=1),
    )
