# SPDX-License-Identifier: Apache-2.0
"""A broadcast, scatter or gather that is written out as a loop of messages. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Ints,
    ProgramCalls,
    SeenPattern,
    grouped,
    occurrence,
    usual,
)

LEAST_PARTNERS = 3  # with fewer, a tree has as many steps
LEAST_ROUNDS = 5
MOST_ROWS = 2.5  # calls from the first message of a round to the last one, for each message: a loop and its waits
ONE_ROOT = 0.9  # of the messages of a place
LONG_BYTES = 65536  # of all parts of a scatter or gather: beyond, bytes take longer than calls, and a tree has more


@dataclass(frozen=True)
class _Rounds:
    """Messages in whole rounds: each of these has one message of one length for every other rank of a communicator.

    message, round: shape (m,).  mine: the root's call of each message.
    """

    message: Ints
    round: Ints
    mine: Ints


def collectives_by_hand(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place where one rank sends to all others in a row, or receives from all."""
    messages = calls.messages
    sent = _rounds(calls, messages.sent, messages.source, messages.destination)
    came = _rounds(calls, np.where(messages.posted == NONE, messages.arrived, messages.posted),
                   messages.destination, messages.source)  # fmt: skip
    return [*_patterns(calls, sent, sends=True), *_patterns(calls, came, sends=False)]


def _rounds(calls: ProgramCalls, rows: Ints, root: Ints, partner: Ints) -> _Rounds:
    """The n-th message of each root's place to each partner is of its n-th round."""
    usable = np.flatnonzero((rows != NONE) & (partner >= 0) & (root != partner))
    none = np.zeros(0, dtype=np.int64)
    if not usable.size:
        return _Rounds(none, none, none)
    usable = usable[np.argsort(rows[usable], kind="stable")]
    at = rows[usable]
    stream, _ = grouped(calls.thread[at], calls.site[at], calls.communicator[at], partner[usable])
    number, _ = grouped(calls.thread[at], calls.site[at], calls.communicator[at], occurrence(stream))
    fits = _is_whole(calls, at, number, calls.messages.bytes[usable])[number]
    return _Rounds(usable[fits], number[fits], at[fits])


def _is_whole(calls: ProgramCalls, at: Ints, number: Ints, length: Ints) -> Bools:
    rounds = int(number.max()) + 1
    count = np.bincount(number, minlength=rounds)
    first, last = np.full(rounds, len(calls)), np.full(rounds, -1)
    short, long = np.full(rounds, 2**62), np.full(rounds, -1)
    for low, high, values in ((first, last, at), (short, long, length)):
        np.minimum.at(low, number, values)
        np.maximum.at(high, number, values)
    partners = np.zeros(rounds, dtype=np.int64)
    partners[number] = np.array([*calls.members, 0], dtype=np.int64)[calls.communicator[at]] - 1
    found: Bools = (
        (count == partners) & (count >= LEAST_PARTNERS) & (short == long) & (last - first < MOST_ROWS * count)
    )
    return found


def _patterns(calls: ProgramCalls, found: _Rounds, *, sends: bool) -> list[SeenPattern]:
    messages = calls.messages
    root = messages.source if sends else messages.destination
    result = []
    for site in np.unique(calls.site[found.mine]).tolist():
        here = calls.site[found.mine] == site
        message, number, mine = found.message[here], found.round[here], found.mine[here]
        roots = np.bincount(root[message])
        if np.unique(number).size < LEAST_ROUNDS or roots.max() < ONE_ROOT * message.size:
            continue
        name = _name(calls, number, mine, sends=sends)
        partners = message.size / np.unique(number).size
        length = round(float(messages.bytes[message].mean()))
        if name == "MPI_Bcast" or length * partners <= LONG_BYTES:
            result.append(_pattern(calls, message, mine, int(site), name, int(roots.argmax()), sends=sends))
    return result


def _name(calls: ProgramCalls, number: Ints, mine: Ints, *, sends: bool) -> str:
    """What it is: parts of a scatter, or of a gather, have buffers of their own."""
    if not sends:
        return "MPI_Gather"
    low, high = np.full(int(number.max()) + 1, 2**62), np.full(int(number.max()) + 1, -1)
    np.minimum.at(low, number, calls.offset[mine])
    np.maximum.at(high, number, calls.offset[mine])
    rounds = np.unique(number)
    return "MPI_Bcast" if (low == high)[rounds].mean() >= ONE_ROOT else "MPI_Scatter"


def _pattern(
    calls: ProgramCalls, message: Ints, mine: Ints, site: int, name: str, root: int, *, sends: bool
) -> SeenPattern:
    messages = calls.messages
    partners = float(np.array(calls.members)[calls.communicator[mine]].mean()) - 1
    steps = math.ceil(math.log2(partners + 1))
    rows = np.unique(mine)
    count = calls.stood_for(mine)
    own_s, call = calls.own_s[rows], calls.call[rows]
    share = max(1.0 - steps / partners, 0.0)
    there = (messages.arrived if sends else messages.sent)[message]
    other = [int(place) for place in np.unique(calls.site[there[there != NONE]]) if place != site]
    word = "sent by" if sends else "received by"
    length = format_bytes(round(float(messages.bytes[message].mean())))
    return SeenPattern(
        name="collective by hand",
        sites=(site, *other[:3]) if site != NONE else (),
        count=count,
        text=f"{count:,} messages of {length} {word} rank {root} in {{place}}, one for each other rank in a row",
        change=f"call {name} on all ranks instead of the loop",
        basis=f"a tree has {steps} steps where the loop has {partners:.0f}",
        rows=rows,
        saved_s=share * np.stack([usual(own_s, call), usual(own_s, call, 1.0), own_s], axis=1),
    )
