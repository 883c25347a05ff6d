# SPDX-License-Identifier: Apache-2.0
"""What tests/watch/truth.c knows of its messages, against what a watch says of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slowpath.watch.attributed import Attributed, TimePart
from slowpath.watch.reasons import Why

FIELDS = (
    "is_there", "source", "destination", "tag", "bytes", "order", "is_synchronous", "is_blocking",
    "began_ns", "left_ns", "posted_ns", "entered_ns", "returned_ns",
)  # fmt: skip
MESSAGES, COLLECTIVES, RANKS = 200_000, 20_000, 16
LARGE_BYTES = 500_000  # from here on a send waits for its receive, unless the library is seen to take such ones at once
TIE_S = 20e-6  # the program's own calls of the clock stand around the call: what is closer is not decided by it
POST_S = 200e-6  # a receive that the watch has at the program's own time, but for the start of the call


@dataclass(frozen=True)
class Score:
    """Of what the program could decide."""

    right: int
    asked: int

    @property
    def share(self) -> float:
        """1.0 where nothing was asked."""
        return self.right / self.asked if self.asked else 1.0


def read_table(path: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Messages that were sent, and entries of each rank in each collective."""
    whole = np.fromfile(path, dtype=np.int64)
    messages = whole[: MESSAGES * len(FIELDS)].view([(name, "<i8") for name in FIELDS])
    entries = whole[MESSAGES * len(FIELDS) :].reshape(COLLECTIVES, RANKS)
    return messages[messages["is_there"] == 1], entries[entries.any(axis=1)]


def scores(path: Path, run: Attributed) -> dict[str, Score]:
    """How often the watch is right, by question."""
    messages, entries = read_table(path)
    pair = _pairs(run)
    keys = zip(*(messages[name].tolist() for name in ("source", "destination", "tag", "order")), strict=True)
    index = np.array([pair.get(key, -1) for key in keys])
    known = index >= 0
    reported, at = messages[known], index[known]
    late, waited_send = np.zeros(len(at), dtype=bool), np.zeros(len(at), dtype=bool)
    events, reasons = run.events, run.reasons
    for why, target in ((Why.LATE_SENDER, late), (Why.LATE_RECEIVER, waited_send)):
        rows = (reasons.why == int(why)) & (reasons.pair >= 0)
        rows &= reasons.until_s > events.start_s[reasons.call]
        rows &= reasons.until_s < events.end_s[reasons.call]
        target[:] = np.isin(at, reasons.pair[rows])
    arrived = run.eager.arrived[at]
    began_later = reported["began_ns"] - reported["entered_ns"]
    left_before = reported["posted_ns"] - reported["left_ns"]
    posted_later = reported["posted_ns"] - reported["began_ns"]
    send, receive = run.matched.send[at], run.matched.receive[at]
    sends, receives = run.matched.sends, run.matched.receives
    began = _noted(run, events.start_s, sends.posted[send], reported["began_ns"])
    left = _noted(run, events.end_s, sends.done[send], reported["left_ns"])
    posted = _noted(run, events.start_s, receives.posted[receive], reported["posted_ns"])
    entered = _noted(run, events.start_s, receives.done[receive], reported["entered_ns"])
    must_wait = _must_wait(reported)
    short = ~must_wait
    # Of another send that was still in its call when the receive was posted, the program does not know what it waited
    # for: its rank may have lost its core, the library's own loop gave it away, or it was still copying.
    sure = must_wait | (reported["left_ns"] <= reported["posted_ns"])
    has_left = reported["left_ns"] > 0  # of MPI_Sendrecv nobody knows when its send was over
    return {
        "matched": Score(int(known.sum()), len(messages)),
        "right receive": _right(_posts(run, at), reported),
        "late sender": _score(late, began_later > 0, began & entered & _apart(began_later)),
        "unexpected": _score(arrived, left_before > 0, short & has_left & left & posted & _apart(left_before)),
        "late receiver": _score(
            waited_send,
            must_wait & (posted_later > 0) & (reported["left_ns"] > reported["posted_ns"]),
            (reported["is_blocking"] == 1) & sure & began & left & posted & _apart(posted_later),
        ),
        "last in a collective": _last(run, entries),
    }


def _must_wait(reported: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which sends could not end before their receive was posted, shape (n,).

    Intel MPI takes 1 MiB between ranks of a node at once, at times: where one such send was over before its receive was
    posted, all others of the run may have been copying and not waiting. MPI_Ssend waits under every library.
    """
    is_synchronous = reported["is_synchronous"] == 1
    is_large = ~is_synchronous & (reported["bytes"] >= LARGE_BYTES)
    went = is_large & (reported["is_blocking"] == 1) & (reported["left_ns"] < reported["posted_ns"] + TIE_S * 1e9)
    must: np.ndarray[Any, Any] = is_synchronous | (is_large & ~went.any())
    return must


def _noted(
    run: Attributed, times_s: np.ndarray[Any, Any], calls: np.ndarray[Any, Any], program_ns: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return where the program's note and the watch's of one moment are one, shape (n,).

    A rank that lost its core between the two does not know when the call itself began or ended.
    """
    at_s = times_s[calls] + float(run.world.origin_s[0])
    near: np.ndarray[Any, Any] = (calls >= 0) & (np.abs(at_s - program_ns * 1e-9) < TIE_S)
    return near


def _apart(difference_ns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return where two moments are no tie."""
    apart: np.ndarray[Any, Any] = np.abs(difference_ns) > 2 * TIE_S * 1e9
    return apart


def _score(said: np.ndarray[Any, Any], true: np.ndarray[Any, Any], decided: np.ndarray[Any, Any]) -> Score:
    return Score(int((said == true)[decided].sum()), int(decided.sum()))


def _pairs(run: Attributed) -> dict[tuple[int, int, int, int], int]:
    """Stream and number -> matched pair. Tags of the program name its communicator, too."""
    events = run.events
    reported = run.matched.sends.reported[run.matched.send]
    columns = (events.rank[reported], events.peer[reported], events.tag[reported], events.sequence[reported])
    return {key: i for i, key in enumerate(zip(*(column.tolist() for column in columns), strict=True))}


def _posts(run: Attributed, at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """When the receive of each pair was posted, s of CLOCK_MONOTONIC."""
    posted = run.matched.receives.posted[run.matched.receive[at]]
    times: np.ndarray[Any, Any] = run.events.start_s[posted] + float(run.world.origin_s[0])
    return times


def _right(said_s: np.ndarray[Any, Any], reported: np.ndarray[Any, Any]) -> Score:
    """Return whether each pair's receive is the one that got the message.

    Its call began at the time that the program noted, or later, but before the rank noted its next receive.
    """
    true_s = reported["posted_ns"] * 1e-9
    right = np.abs(said_s - true_s) < POST_S
    for rank in np.unique(reported["destination"]):
        rows = np.flatnonzero(reported["destination"] == rank)
        notes_s = np.append(np.unique(true_s[rows]), np.inf)
        next_s = notes_s[np.searchsorted(notes_s, true_s[rows], side="right")]
        right[rows] |= (true_s[rows] <= said_s[rows]) & (said_s[rows] < next_s)
    return Score(int(right.sum()), len(said_s))


def _last(run: Attributed, entries: np.ndarray[Any, Any]) -> Score:
    """Of each rank that waited long enough to tell: was it said to wait for the last one?"""
    ranks = run.world.job.size
    entries = entries[:, :ranks].astype(float)
    right = asked = 0
    names = np.array(run.world.calls)
    is_collective = np.isin(names[run.events.call], ["MPI_Barrier", "MPI_Allreduce"])
    calls = [np.flatnonzero(is_collective & (run.events.rank == rank))[: len(entries)] for rank in range(ranks)]
    noted = np.all([_noted(run, run.events.start_s, rows, entries[:, rank]) for rank, rows in enumerate(calls)], axis=0)
    for rank, rows in enumerate(calls):
        # Not the first: before it the library looks at a call site for the first time, which can delay a rank by more
        # than others' delays, and the program notes its time before that.
        for row, times, is_noted in list(zip(rows.tolist(), entries, noted, strict=True))[1:]:
            ordered = np.sort(times)
            if not (is_noted and _apart(ordered[-1] - ordered[-2]) and _apart(ordered[-1] - times[rank])):
                continue
            reason = run.split.reason[row]
            asked += 1
            is_named = reason >= 0 and run.reasons.culprit[reason] == int(times.argmax())
            right += is_named and run.split.parts_s[row, TimePart.IMBALANCE] > 0
    return Score(int(right), asked)
