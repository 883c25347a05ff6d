# SPDX-License-Identifier: Apache-2.0
"""SP055: ranks pass messages on one after the other, where all could send at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    grouped,
    most,
)

LEAST_CHAINS = 5
LEAST_HOPS = 3  # messages of one chain
# Messages that are all sent at once share the memory, and each takes longer: with 8 ranks in a node about 1.3 to 2.1
# times as long as in the chain (docs/results/watch.md). Between nodes they may take no longer.
MOST_AT_ONCE = 2.5
SHORT_S = 1e-6  # between the receive and the send, or half of the send's own time: nothing was computed from it


@dataclass(frozen=True)
class _Chains:
    """Messages in chains, shape (m,) each: number of the chain, and how many came before it."""

    message: Ints
    chain: Ints
    depth: Ints


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Messages that are sent directly after another one's receive, to a third rank and from another buffer."""
    found = _chains(calls)
    if found is None:
        return ()
    messages = calls.messages
    last = np.zeros(int(found.chain.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(last, found.chain, found.depth)
    long = last + 1 >= max(LEAST_HOPS, calls.ranks - 1)
    inside = long[found.chain]
    message, chain = found.message[inside], found.chain[inside]
    if not message.size:
        return ()
    alike, _ = grouped(messages.bytes[message], calls.site[messages.arrived[message]])
    result = []
    for kind in np.unique(alike).tolist():
        mine = alike == kind
        if np.unique(chain[mine]).size >= LEAST_CHAINS:
            result.append(_pattern(calls, message[mine], chain[mine]))
    return result


def _chains(calls: ProgramCalls) -> _Chains | None:
    messages = calls.messages
    usable = np.flatnonzero((messages.sent != NONE) & (messages.arrived != NONE))
    if not usable.size:
        return None
    came = np.full(len(calls), NONE, dtype=np.int64)  # of each call the message that it received
    came[messages.arrived[usable]] = usable
    sent = messages.sent[usable]
    before = np.maximum(sent - 1, 0)
    parent = np.where((sent > 0) & (calls.thread[before] == calls.thread[sent]), came[before], NONE)
    parent = np.where((parent != NONE) & _passes_on(calls, usable, parent), parent, NONE)
    parent = np.where((parent != NONE) & _in_turn(calls, usable, parent), parent, NONE)
    parent_of = np.full(len(messages), NONE, dtype=np.int64)
    parent_of[usable] = parent
    # What a chain begins with, and how far each message is from it: pointers that jump twice as far each time.
    root, depth = np.arange(len(messages)), (parent_of != NONE).astype(np.int64)
    jump = np.where(parent_of != NONE, parent_of, root)
    for _ in range(32):
        further = depth[jump]
        if not further.any():
            break
        depth, jump = depth + further, jump[jump]
    return _Chains(usable, jump[usable], depth[usable])


def _passes_on(calls: ProgramCalls, message: Ints, parent: Ints) -> Bools:
    """Whether each message follows its parent, and can't hold what that brought: another buffer, and no time."""
    messages = calls.messages
    sent, received = messages.sent[message], messages.arrived[np.maximum(parent, 0)]
    fits = messages.destination[message] != messages.source[np.maximum(parent, 0)]
    fits &= messages.bytes[message] == messages.bytes[np.maximum(parent, 0)]
    fits &= (calls.offset[sent] != calls.offset[received]) & ~calls.is_collective[received]
    fits &= received != messages.sent[message]
    found: Bools = fits & (calls.gap_s[sent] <= np.maximum(SHORT_S, 0.5 * calls.own_s[sent]))
    return found


def _in_turn(calls: ProgramCalls, message: Ints, parent: Ints) -> Bools:
    """Whether the sender of each message was behind its parent's: where all send at once, round after round, its last
    message to the same rank left about when the parent did, and nearer to it than this one, which is of the next round.
    """
    messages = calls.messages
    at_s = calls.start_s[messages.sent[message]]
    order = np.lexsort((at_s, messages.destination[message], messages.source[message]))
    source, destination = messages.source[message][order], messages.destination[message][order]
    again = np.concatenate([[False], (source[1:] == source[:-1]) & (destination[1:] == destination[:-1])])
    last_s = np.full(message.size, -np.inf)
    last_s[order[again]] = at_s[order[np.flatnonzero(again) - 1]]
    from_s = calls.start_s[np.maximum(messages.sent[np.maximum(parent, 0)], 0)]
    found: Bools = at_s - from_s < np.abs(from_s - last_s)
    return found


def _pattern(calls: ProgramCalls, message: Ints, chain: Ints) -> SeenPattern:
    messages = calls.messages
    _, number = np.unique(chain, return_inverse=True)
    number = number.reshape(-1)
    chains = int(number.max()) + 1
    hops = np.bincount(number)
    sent, arrived = messages.sent[message], messages.arrived[message]
    count = calls.stood_for(arrived)
    # Of each chain: how many it stands for, and how many seconds each of its own.
    stands, weight = (
        np.bincount(number, weights=each[arrived]) / hops for each in (calls.weight, calls.seconds_weight)
    )
    began, ended = np.full(chains, np.inf), np.full(chains, -np.inf)
    np.minimum.at(began, number, calls.start_s[sent])
    np.maximum.at(ended, number, calls.end_s[arrived])
    # A chain that waits for a rank that computes longer is not longer for being a chain.
    took = np.maximum(ended - began, 0.0)
    typical = np.minimum(took, 3.0 * float(np.median(took)))
    # At once, each rank still sends and receives one message.
    once = float(
        np.median(calls.end_s[arrived] - calls.start_s[sent]) + np.median(calls.end_s[sent] - calls.start_s[sent])
    )
    value, low = (float((np.maximum(typical - times * once, 0.0) * weight).sum()) for times in (1.0, MOST_AT_ONCE))
    waited_s = np.maximum(calls.end_s[arrived] - np.maximum(calls.start_s[arrived], began[number]), 0.0)
    low = min(float((waited_s * weight[number]).sum()) / calls.ranks, low)
    each, length = float(hops.mean()), round(float(messages.bytes[message].mean()))
    return SeenPattern(
        sites=most(calls.site[arrived], np.ones(arrived.size))
        + tuple(site for site in most(calls.site[sent], np.ones(sent.size)) if site not in calls.site[arrived]),
        count=count,
        text=f"{count:,} messages of {format_bytes(length)} received in {{place}} and passed on in "
        f"{round(float(stands.sum())):,} chains of {each:.0f}: each rank receives first, then sends from "
        "another buffer",
        change="send and receive at once: MPI_Sendrecv, or MPI_Irecv before the send",
        basis="each chain's time, less one message sent and received; low: less 2.5 times that, because simultaneous "
        "messages share the memory, at most the chain's mean wait",
        more_s=(value, low, value),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP055",
    name="serial chain",
    title="Ranks receive before they send, so that messages go round one after the other",
    what="Each rank waits for its neighbour's message before it sends its own to the next one, so the last of N "
    "ranks waits for N messages in a row.",
    needs="A watched program: chains as long as there are ranks, at least five, with no time between receive and "
    "send. The saving is the chains' time less one message, at the low end 2.5 times that.",
    remedy="MPI_Sendrecv; or post the receive (MPI_Irecv), send, and wait.",
    cause="The order of receive and send makes each message wait for the one before.",
    needs_law=False,
    kind="property",
    pattern=see,
)
