# SPDX-License-Identifier: Apache-2.0
"""SP049: in each round all ranks send to the same partner first, which is served by one queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    grouped,
    most,
    occurrence,
    usual,
)

LEAST_RANKS = 3
LEAST_ROUNDS = 10
SAME = 0.8  # share of the first messages of all rounds that go to one rank
LONGER = 1.3  # times what a later message of the round takes
SHORT_S = 1e-6  # of a wait for a receive that counts
MORE = 2.0  # times what the receiver has more to do outside MPI: the wait is that of the rounds
CHANGE = "let rank r begin with rank r + 1 and continue from there, or use MPI_Alltoall"


@dataclass(frozen=True)
class _Steps:
    """Messages of whole rounds, shape (m,): round of the sender, and the how-manieth of it, from 0."""

    message: Ints
    round: Ints
    step: Ints


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Rounds of blocking sends to all others that begin at one rank, whose messages wait for each other.

    Either the first ones take longer than later ones; or ranks leave the queue one after the other, so that each is
    late for the next, and senders wait for receives.
    """
    found = _steps(calls)
    sent = calls.messages.sent[found.message]
    result = []
    for site in np.unique(calls.site[sent]).tolist():
        here = calls.site[sent] == site
        first = here & (found.step == 0)
        to = np.bincount(calls.messages.destination[found.message[first]])
        # The hot rank itself begins elsewhere.
        others = first & (calls.messages.source[found.message] != to.argmax())
        senders = np.unique(calls.messages.source[found.message[others]]).size
        hot = others & (calls.messages.destination[found.message] == to.argmax())
        if senders < LEAST_RANKS - 1 or hot.sum() < max(LEAST_ROUNDS * senders, SAME * others.sum()):
            continue
        later_s = float(np.median(calls.own_s[sent[here & (found.step > 0)]]))
        if float(np.median(calls.own_s[sent[hot]])) >= LONGER * later_s:
            result.append(_served_in_turn(calls, found.message[hot], int(to.argmax()), later_s))
            continue
        late = _waited_for(calls, found.message[here], np.unique(found.round[here]).size // (senders + 1))
        if late.size:
            result.append(_late_in_turn(calls, late, found.message[hot], int(to.argmax())))
    return result


def _waited_for(calls: ProgramCalls, message: Ints, rounds: int) -> Ints:
    """Messages whose senders waited for the receive, and not for a receiver that has more to do outside MPI.

    Args: rounds: of each rank.
    """
    messages = calls.messages
    known = message[messages.posted[message] != NONE]
    outside_s = np.bincount(calls.rank, weights=np.where(np.isfinite(calls.gap_s), calls.gap_s, 0.0)) / rounds
    more_s = outside_s[messages.destination[known]] - outside_s[messages.source[known]]
    waits = ~messages.early[known] & (_wait_s(calls, known) > np.maximum(MORE * more_s, SHORT_S))
    found: Ints = known[waits]
    return found


def _wait_s(calls: ProgramCalls, message: Ints) -> Floats:
    """How long each sender waited for the receive to be posted, seconds."""
    left, posted = calls.messages.left[message], calls.messages.posted[message]
    found: Floats = np.minimum(calls.start_s[posted], calls.end_s[left]) - calls.start_s[left]
    return found


def _steps(calls: ProgramCalls) -> _Steps:
    """Rounds of a place are rows of sends with no other call between, one to each partner.

    Where other calls are between: the n-th message to each partner is of the n-th round. Of a record that was thinned,
    the first message may be of a round's middle, and all of these rounds begin there.
    """
    messages = calls.messages
    usable = np.flatnonzero((messages.sent != NONE) & (messages.sent == messages.left))
    usable = usable[np.argsort(messages.sent[usable], kind="stable")]
    if not usable.size:
        return _Steps(usable, usable, usable)
    at = messages.sent[usable]
    place, _ = grouped(calls.thread[at], calls.site[at], calls.communicator[at])
    partners = np.array([*calls.members, 0], dtype=np.int64)[calls.communicator[at]] - 1
    stream, _ = grouped(place, messages.destination[usable])
    rounds, _ = grouped(place, occurrence(stream))
    follows = np.append(False, (np.diff(at) == 1) & (np.diff(place) == 0))
    row = np.cumsum(~follows)
    in_rows = _whole(row, messages.destination[usable], partners)
    alone = ~np.isin(place, place[in_rows])
    whole = in_rows | (alone & _whole(rounds, messages.destination[usable], partners))
    number, _ = grouped(np.where(in_rows, row, rounds)[whole], in_rows[whole].astype(np.int64))
    return _Steps(usable[whole], number, occurrence(number))


def _whole(rounds: Ints, to: Ints, partners: Ints) -> Bools:
    """Messages of rounds that have one for each partner."""
    _, first = grouped(rounds, to)
    size = np.bincount(rounds)
    others = np.bincount(rounds[first], minlength=size.size)
    found: Bools = (size[rounds] == partners) & (others[rounds] == partners) & (partners >= LEAST_RANKS - 1)
    return found


def _late_in_turn(calls: ProgramCalls, late: Ints, first: Ints, hot: int) -> SeenPattern:
    """Args: late: messages whose senders waited for the receive.  first: of rounds, to the hot rank."""
    messages, wait_s = calls.messages, _wait_s(calls, late)
    left = messages.left[late]
    length = format_bytes(round(float(messages.bytes[first].mean())))
    waited_s = np.bincount(calls.rank[left], weights=wait_s * calls.seconds_weight[left], minlength=calls.ranks)
    return SeenPattern(
        sites=most(calls.site[left], wait_s),
        count=calls.stood_for(messages.sent[first]),
        text=f"{calls.stood_for(messages.sent[first]):,} messages of {length} in {{place}} are the first of rounds to "
        f"all ranks, and all go to rank {hot}; in these rounds {calls.stood_for(left):,} sends wait for their receive, "
        f"{format_time(float(np.median(wait_s)))} each (median)",
        change=CHANGE,
        basis="a rank's waits in these sends for ranks with no more to do outside MPI; saves nothing if those are "
        "late for another reason, which was not tried",
        more_s=(float(waited_s.mean()), 0.0, float(waited_s.max())),
    )


def _served_in_turn(calls: ProgramCalls, message: Ints, hot: int, later_s: float) -> SeenPattern:
    """Args: message: the first of rounds, to the hot rank.  later_s: that later ones take."""
    messages = calls.messages
    rows = messages.sent[message]
    own_s, call = calls.own_s[rows], calls.call[rows]
    count = calls.stood_for(rows)
    value = np.maximum(usual(own_s, call) - later_s, 0.0)
    low = np.minimum(np.maximum(usual(own_s, call, 1.0) - 2 * later_s, 0.0), value)
    length = format_bytes(round(float(messages.bytes[message].mean())))
    return SeenPattern(
        sites=most(calls.site[rows], own_s),
        count=count,
        text=f"{count:,} messages of {length} in {{place}} are the first of rounds to all ranks, and all go to "
        f"rank {hot}: they take {float(np.median(own_s)) / later_s:.1f} times as long as later ones",
        change=CHANGE,
        basis="the first messages' time beyond that of later ones in the same rounds",
        rows=rows,
        saved_s=np.stack([value, low, np.maximum(own_s - later_s, 0.0)], axis=1),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP049",
    name="hot spot",
    title="In each round all ranks send to the same partner first",
    what="A loop over all ranks from 0 on makes all of them send to rank 0 first, whose messages wait for each "
    "other while the others receive nothing.",
    needs="A watched program with three ranks or more and blocking sends: ten rounds or more, 80 % of which begin "
    "at one rank, with first messages 1.3 times slower, or sends that wait.",
    remedy="Begin with the next rank: (rank + step) % ranks; or MPI_Alltoall(v).",
    cause="All ranks address one partner at the same time.",
    needs_law=False,
    kind="property",
    pattern=see,
)
