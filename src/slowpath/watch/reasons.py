# SPDX-License-Identifier: Apache-2.0
"""What a call could not return before: the send of a message that it receives, the receive of one that it sends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from slowpath.watch.eager import Eager
from slowpath.watch.events import Bools, Events, Floats, Ints
from slowpath.watch.match import NO_EVENT, Matched


class Why(IntEnum):
    """Kinds of reasons. DOUBT: it may have waited for this, or not."""

    LATE_SENDER = 0
    LATE_RECEIVER = 1
    LATE_RANK = 2
    SENDER_AWAY = 3  # the send began, and the sender computed outside of MPI before its library moved the message
    RECEIVER_AWAY = 4
    DOUBT = 5
    TARGET_AWAY = 6  # of a one-sided call


@dataclass(frozen=True)
class Reasons:
    """Shape (k,) each.

    call      the call that could not return before `until_s`.  other: the event of another rank that it waits for;
              TARGET_AWAY: the call itself
    until_s   entry of `other`, or when its rank came back to MPI.  error_s: of the two ranks' clocks
    why       Why.  culprit: rank of `other`.  pair: matched pair, NO_EVENT: of a collective
    """

    call: Ints
    other: Ints
    until_s: Floats
    error_s: Floats
    why: Ints
    culprit: Ints
    pair: Ints

    def __len__(self) -> int:
        return int(self.call.size)

    @classmethod
    def joined(cls, parts: list[Reasons]) -> Reasons:
        """All of them."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def of_messages(events: Events, found: Matched, eager: Eager, error_s: Floats) -> Reasons:
    """A receive ends after its message's send began; a send by rendezvous ends after its receive was posted.

    Args: error_s: of the two clocks, shape (pairs,).
    """
    pair = np.arange(found.send.size)
    send_post, send_done = found.sends.posted[found.send], found.sends.done[found.send]
    receive_post, receive_done = found.receives.posted[found.receive], found.receives.done[found.receive]
    late_sender = _pairs(events, receive_done, send_post, error_s, pair, Why.LATE_SENDER)
    # A blocking send that began before its receive was posted and ended after it is its own proof.
    waits = eager.is_rendezvous | (~eager.is_eager & (send_post == send_done))
    late_receiver = _pairs(events, send_done, receive_post, error_s, pair, Why.LATE_RECEIVER, waits)
    doubt = _pairs(
        events, send_done, receive_post, error_s, pair, Why.DOUBT, (~waits & ~eager.is_eager) | eager.stalled
    )
    return Reasons.joined([late_sender, late_receiver, doubt])


def _pairs(
    events: Events, call: Ints, other: Ints, error_s: Floats, pair: Ints, why: Why, among: Bools | None = None
) -> Reasons:
    kept = (call != NO_EVENT) & (other != NO_EVENT)
    if among is not None:
        kept &= among
    call, other = call[kept], other[kept]
    return Reasons(
        call, other, events.start_s[other], error_s[kept], np.full(call.size, int(why)), events.rank[other], pair[kept]
    )
