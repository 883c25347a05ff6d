# SPDX-License-Identifier: Apache-2.0
"""Which messages went eagerly: their send was over before their receive was posted. Learnt from the program itself.

A library sends short messages at once and lets long ones wait for their receive. Where it changes is a setting; what a
send that returned before its receive was posted proves is that messages of its length, and shorter ones, go at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowpath.watch.events import Bools, Events, Floats, Ints
from slowpath.watch.match import NO_EVENT, Matched
from slowpath.watch.record.layout import Kind

# No library's default lets shorter messages between hosts' memories wait for their receive.
SHORT_BYTES = 256
STALLED = 20  # times the median of sends that went at once
LEAST_PROOFS = 2  # messages that prove a length: one may be a clock's or a matching's error


@dataclass(frozen=True)
class Eager:
    """Of each matched pair, shape (pairs,).

    is_eager: its length is proven to go at once.  is_rendezvous: it is synchronous, or longer than all that are proven
    and as long as one that waited; neither: not known.  arrived: the message was there before its receive was posted.
    longest_bytes: up to which all messages go at once, whichever way.
    stalled: it should have gone at once, took far longer than others that did, and ended after its receive was posted:
    buffers may have been full, or the rank not have run.
    """

    is_eager: Bools
    is_rendezvous: Bools
    arrived: Bools
    longest_bytes: int
    stalled: Bools


def eager_of(events: Events, found: Matched, posted_s: Floats, error_s: Floats, is_far: Bools) -> Eager:
    """What the sends that were over before their receive was posted tell.

    Args: posted_s: when each pair's receive was posted, NaN: not kept.  error_s: of the two clocks against each other.
          is_far: the two ranks have no common memory; all of shape (pairs,).
    """
    post, done = found.sends.posted[found.send], found.sends.done[found.send]
    reported = found.sends.reported[found.send]
    lengths = events.bytes[reported]
    kinds = np.where(post == NO_EVENT, events.kind[reported], events.kind[post])
    synchronous = (kinds & int(Kind.SYNCHRONOUS)) != 0
    buffered = (kinds & int(Kind.BUFFERED)) != 0
    over_s = _ends(events, done)
    ordinary = ~synchronous & ~buffered
    proven = ordinary & (over_s + error_s < posted_s)
    # A call that completes several requests may have waited for another one.
    alone = (post == done) | (events.requests[done] == 1)
    waited = ordinary & alone & (over_s - error_s >= posted_s) & (_starts(events, post) + error_s < posted_s)
    is_eager, is_rendezvous = buffered.copy(), synchronous.copy()
    limits = []
    for far in (False, True):
        of_way = ordinary & (is_far == far)
        longest = max(_longest(lengths[proven & of_way]), SHORT_BYTES)
        limits += [longest] if of_way.any() else []
        shortest = _shortest(lengths[waited & of_way & (lengths > longest)])
        is_eager |= of_way & (lengths <= longest)
        is_rendezvous |= of_way & (lengths > longest) & (lengths >= shortest)
    left_s = np.where(is_eager, _ends(events, post), over_s)
    with np.errstate(invalid="ignore"):
        arrived = left_s + error_s < posted_s
        spanning = is_eager & (post == done) & (_starts(events, post) < posted_s) & (over_s > posted_s)
    lengths_s = over_s - _starts(events, post)
    usual_s = float(np.median(lengths_s[proven & (post == done)])) if (proven & (post == done)).any() else np.inf
    stalled = spanning & (lengths_s > STALLED * usual_s)
    return Eager(is_eager, is_rendezvous, arrived, min(limits, default=SHORT_BYTES), stalled)


def _longest(lengths: Ints) -> int:
    """Length that at least LEAST_PROOFS messages reach; -1: none."""
    return int(np.sort(lengths)[-LEAST_PROOFS]) if lengths.size >= LEAST_PROOFS else -1


def _shortest(lengths: Ints) -> int:
    """Length that at least LEAST_PROOFS messages don't exceed."""
    return int(np.sort(lengths)[LEAST_PROOFS - 1]) if lengths.size >= LEAST_PROOFS else 2**62


def _starts(events: Events, rows: Ints) -> Floats:
    found: Floats = np.where(rows == NO_EVENT, np.nan, events.start_s[rows])
    return found


def _ends(events: Events, rows: Ints) -> Floats:
    found: Floats = np.where(rows == NO_EVENT, np.nan, events.end_s[rows])
    return found
