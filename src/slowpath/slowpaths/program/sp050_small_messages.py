# SPDX-License-Identifier: Apache-2.0
"""SP050: many small messages to one rank where one would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slowpath.core.units import format_bytes
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
)

LEAST_RUN = 8  # messages in a row; fewer may be fields of one exchange
MOST_COMPUTING = 4.0  # times the calls of a run: with more, messages leave while the rest is computed


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place that sends: runs of short messages to one rank, between which the sender learnt nothing."""
    messages = calls.messages
    usable = np.flatnonzero((messages.sent != NONE) & (messages.bytes <= SHORT_BYTES) & (messages.destination >= 0))
    if not usable.size:
        return ()
    sent = messages.sent[usable]
    run, _ = grouped(
        calls.thread[sent], calls.site[sent], messages.destination[usable], calls.communicator[sent], calls.epoch[sent]
    )
    length = np.bincount(run)
    chosen = (length >= LEAST_RUN) & _is_dense(calls, sent, run, length)
    inside = chosen[run]
    return list(_patterns(calls, usable[inside], run[inside], length))


def _is_dense(calls: ProgramCalls, sent: Ints, run: Ints, length: Ints) -> Bools:
    """Of each run: there is little computing between the messages of most long runs of its place.

    Single runs are not judged: in one of them the rank may have had no core.
    """
    in_mpi_s, outside_s = _times(calls, sent, run, length.size)
    is_dense = outside_s <= MOST_COMPUTING * in_mpi_s
    place = np.zeros(length.size, dtype=np.int64)
    place[run] = calls.site[sent] + 1
    long = length >= LEAST_RUN
    size = int(place.max(initial=0)) + 1
    runs, dense = (np.bincount(place[chosen], minlength=size) for chosen in (long, long & is_dense))
    found: Bools = (2 * dense > runs)[place]
    return found


def _times(calls: ProgramCalls, sent: Ints, run: Ints, runs: int) -> tuple[Floats, Floats]:
    """Of each run its time in MPI and outside, from the first send to the last; shape (runs,)."""
    first, last = np.full(runs, len(calls)), np.full(runs, -1)
    np.minimum.at(first, run, sent)
    np.maximum.at(last, run, sent)
    in_mpi, outside = (np.append(0.0, np.cumsum(part)) for part in (calls.end_s - calls.start_s, _gaps(calls)))
    return in_mpi[last + 1] - in_mpi[first], outside[last + 1] - outside[first + 1]


def _gaps(calls: ProgramCalls) -> Floats:
    """Time outside of MPI before each call; 0: it is the first of its thread."""
    return np.where(np.isfinite(calls.gap_s), calls.gap_s, 0.0)


def _patterns(calls: ProgramCalls, chosen: Ints, run: Ints, length: Ints) -> Iterator[SeenPattern]:
    """One for each place that sends. Args: chosen: messages in runs.  run: of each.  length: of each run."""
    messages = calls.messages
    site = calls.site[messages.sent[chosen]]
    for place in np.unique(site).tolist():
        here = site == place
        mine, of_run = chosen[here], run[here]
        gone = 1.0 - 1.0 / length[of_run]
        rows, share, bytes_each = _shares(calls, mine, gone)
        weight = calls.weight[rows] * calls.own_s[rows]
        runs = np.unique(of_run).size
        each, size = mine.size / runs, float(np.mean(messages.bytes[mine]))
        total = calls.stood_for(messages.sent[mine])
        lead = calls.names[int(np.bincount(calls.call[messages.sent[mine]]).argmax())]
        yield SeenPattern(
            sites=(place, *(other for other in most(calls.site[rows], weight) if other != place)) if place >= 0 else (),
            count=total,
            text=f"{total:,} messages of {format_bytes(round(size))} by {lead} in {{place}}, {each:.0f} in a row to "
            "one rank without an answer in between",
            change=f"send them as one message of {format_bytes(round(size * each))}: collect them in one buffer, or "
            "pass all elements to one call",
            basis="the calls' own time, less one call and 1 ns a byte for the longer message; high: with the time "
            "between the sends of a row, on the rank with most",
            rows=rows,
            saved_s=merged(calls.own_s[rows], calls.call[rows], share, bytes_each),
            more_s=(0.0, 0.0, _between_s(calls, mine, of_run)),
            outside=True,
        )


def _between_s(calls: ProgramCalls, message: Ints, run: Ints) -> float:
    """Time outside of MPI between the sends of all runs, of the rank that has most: steps of a loop, which may call
    other functions of MPI, or what computes an element.

    Which of both is not known from outside. In Python a step takes longer than the send.
    """
    sent = calls.messages.sent[message]
    runs, of = np.unique(run, return_inverse=True)
    of = of.reshape(-1)
    in_mpi_s, outside_s = _times(calls, sent, of, runs.size)
    outside_s = np.minimum(outside_s, MOST_COMPUTING * in_mpi_s)
    _, first = grouped(of)
    spent_s = np.bincount(calls.rank[sent[first]], weights=calls.weight[sent[first]] * outside_s)
    return float(spent_s.max(initial=0.0))


def _shares(calls: ProgramCalls, mine: Ints, gone: Floats) -> tuple[Ints, Floats, Floats]:
    """Calls of these messages, the share of each that goes, and its part of the longer message's bytes.

    A call that completes other messages too keeps what is theirs.
    """
    messages = calls.messages
    goes, moved, extra = (np.zeros(len(calls)) for _ in range(3))
    for every in _calls_of(messages.sent, messages.left, messages.posted, messages.arrived):
        rows = every[every != NONE]
        np.add.at(moved, rows, 1.0)
        own = every[mine]
        known = own != NONE
        np.add.at(goes, own[known], gone[known])
        np.add.at(extra, own[known], messages.bytes[mine][known].astype(float))
    rows = np.flatnonzero(goes > 0)
    return rows, goes[rows] / np.maximum(moved[rows], 1.0), extra[rows]


def _calls_of(*columns: Ints) -> Iterator[Ints]:
    """Of each side the call that starts a message, and that which completes it where it is another one."""
    sent, left, posted, arrived = columns
    yield sent
    yield np.where(left == sent, NONE, left)
    yield posted
    yield np.where(arrived == posted, NONE, arrived)


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP050",
    name="many small messages",
    title="Many small messages go to one rank where one would do",
    what="A program sends each element, or each short field, by a call of its own, and pays for a call on both "
    "sides each time.",
    needs="A watched program: eight or more messages of at most 1 KiB leave one place for one rank, with no receive "
    "between them. The saving is all but one of a row, and 1 ns for each byte of the longer message.",
    remedy="Collect the elements in one buffer and send that; give one call the whole array; or describe scattered "
    "elements by a derived datatype.",
    cause="Each short message takes the time of a call.",
    needs_law=False,
    kind="property",
    pattern=see,
)
