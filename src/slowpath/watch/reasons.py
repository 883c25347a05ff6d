# SPDX-License-Identifier: Apache-2.0
"""What a call could not return before: messages that it receives or sends, and ranks that its collective waits for.

Which messages went eagerly is learnt from the program itself (docs/internals/watch.md). Which ranks a collective waits
for: MPI-4.1, chapter 6, what each rank's result depends on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from slowpath.findings.program_pattern import grouped
from slowpath.mpi.libraries import content
from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.match import NO_EVENT, Collectives, Matched
from slowpath.watch.record.layout import EventKind


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


def of_messages(events: Events, pairs: Matched, eager: Eager, error_s: Floats) -> Reasons:
    """A receive ends after its message's send began; a send by rendezvous ends after its receive was posted.

    Args: error_s: of the two clocks, shape (pairs,).
    """
    pair = np.arange(pairs.send.size)
    send_post, send_done = pairs.sends.posted[pairs.send], pairs.sends.done[pairs.send]
    receive_post, receive_done = pairs.receives.posted[pairs.receive], pairs.receives.done[pairs.receive]
    late_sender = _pairs(events, receive_done, send_post, error_s, pair, Why.LATE_SENDER)
    late_receiver = _pairs(events, send_done, receive_post, error_s, pair, Why.LATE_RECEIVER, eager.is_rendezvous)
    doubtful = (~eager.is_rendezvous & ~eager.is_eager) | eager.stalled
    doubt = _pairs(events, send_done, receive_post, error_s, pair, Why.DOUBT, doubtful)
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


# No library's default lets shorter messages between hosts' memories wait for their receive.
SHORT_BYTES = 256
STALLED = 20  # times the median of sends that went at once
LEAST_PROOFS = 2  # messages that prove a length: one may be a clock's or a matching's error
# A send that went at once, but whose rank lost its core inside the call, looks like one that waited for its receive.
# A switch to rendezvous is as likely in one doubling of the length as in another.
LONGEST_EAGER = 2**20  # no library's default sends longer messages at once
RENDEZVOUS_ODDS = 100  # of a switch to rendezvous against ranks that lost their cores
USUAL_STALLS, USUAL_SENDS = 0.02, 2  # of sends that go at once, before any of the program is known: one of 100 stalls


@dataclass(frozen=True)
class Eager:
    """Of each matched pair, shape (pairs,).

    is_eager: its length is proven to go at once.  is_rendezvous: it is synchronous, or longer than all that are proven
    and as long as those that waited, where a rank without a core explains these less; neither: not known.
    arrived: the message was there before its receive was posted.
    longest_bytes: up to which all messages go at once, whichever way.
    stalled: it should have gone at once, took far longer than others that did, and ended after its receive was posted:
    buffers may have been full, or the rank not have run.
    """

    is_eager: Bools
    is_rendezvous: Bools
    arrived: Bools
    longest_bytes: int
    stalled: Bools


def eager_of(events: Events, pairs: Matched, posted_s: Floats, error_s: Floats, is_far: Bools) -> Eager:
    """What the sends that were over before their receive was posted tell.

    Args: posted_s: when each pair's receive was posted, NaN: not kept.  error_s: of the two clocks against each other.
          is_far: the two ranks have no common memory; all of shape (pairs,).
    """
    post, done = pairs.sends.posted[pairs.send], pairs.sends.done[pairs.send]
    reported = pairs.sends.reported[pairs.send]
    lengths = events.bytes[reported]
    kinds = np.where(post == NO_EVENT, events.kind[reported], events.kind[post])
    synchronous = (kinds & int(EventKind.SYNCHRONOUS)) != 0
    buffered = (kinds & int(EventKind.BUFFERED)) != 0
    over_s = _at(events.end_s, done)
    ordinary = ~synchronous & ~buffered
    proven = ordinary & (over_s + error_s < posted_s)
    # A call that completes several requests may have waited for another one, and MPI_Sendrecv for its own receive.
    alone = ((post == done) | (events.requests[done] == 1)) & ~np.isin(done, pairs.receives.done)
    waited = ordinary & alone & (over_s - error_s >= posted_s) & (_at(events.start_s, post) + error_s < posted_s)
    is_eager, is_rendezvous = buffered.copy(), synchronous.copy()
    limits = []
    for far in (False, True):
        of_way = ordinary & (is_far == far)
        longest = max(_longest(lengths[proven & of_way]), SHORT_BYTES)
        limits += [longest] if of_way.any() else []
        shortest = _shortest_rendezvous(lengths[waited & of_way], lengths[proven & of_way], longest)
        is_eager |= of_way & (lengths <= longest)
        is_rendezvous |= of_way & (lengths > longest) & (lengths >= shortest)
    left_s = np.where(is_eager, _at(events.end_s, post), over_s)
    with np.errstate(invalid="ignore"):
        arrived = left_s + error_s < posted_s
        spanning = is_eager & (post == done) & (_at(events.start_s, post) < posted_s) & (over_s > posted_s)
    lengths_s = over_s - _at(events.start_s, post)
    usual_s = float(np.median(lengths_s[proven & (post == done)])) if (proven & (post == done)).any() else np.inf
    stalled = spanning & (lengths_s > STALLED * usual_s)
    return Eager(is_eager, is_rendezvous, arrived, min(limits, default=SHORT_BYTES), stalled)


def _longest(lengths: Ints) -> int:
    """Length that at least LEAST_PROOFS messages reach; -1: none."""
    return int(np.sort(lengths)[-LEAST_PROOFS]) if lengths.size >= LEAST_PROOFS else -1


def _shortest_rendezvous(waited: Ints, proven: Ints, longest: int) -> float:
    """Return from which length on messages wait for their receive, bytes; inf: not known.

    Of messages up to `longest`, some seem to have waited, too: their rank had no core, or buffers were full. That share
    is how likely it is that a longer one, too, only seems to.

    Args:
        waited: Lengths of messages that began before their receive was posted and ended after it, shape (n,).
        proven: Lengths of messages that ended before their receive was posted, shape (m,).
        longest: Length that is proven to go at once.
    """
    share = max(_stalled_share(waited, proven, least, longest) for least in (0, longest // 2))
    candidates = np.sort(waited[waited > longest])
    doublings = np.log2(np.append(candidates, max(LONGEST_EAGER, 2 * int(candidates.max(initial=longest)))) / longest)
    chances = np.diff(doublings, prepend=0.0) * share ** np.arange(doublings.size)  # of a switch below each of them
    above = np.cumsum(chances[::-1])[::-1][1:]  # of a switch above each candidate, which then only seems to have waited
    enough = np.flatnonzero(np.cumsum(chances)[:-1] >= RENDEZVOUS_ODDS * above)
    return float(candidates[enough[0]]) if enough.size else np.inf


def _stalled_share(waited: Ints, proven: Ints, least: int, longest: int) -> float:
    """Return the share of sends of `least` to `longest` bytes that go at once and seem to have waited."""
    stalls = int(((waited >= least) & (waited <= longest)).sum())
    went = int(((proven >= least) & (proven <= longest)).sum())
    return (stalls + USUAL_STALLS) / (stalls + went + USUAL_SENDS)


def _at(times_s: Floats, rows: Ints) -> Floats:
    known_s: Floats = np.where(rows == NO_EVENT, np.nan, times_s[rows])
    return known_s


class Needs(IntEnum):
    """Whose entry a rank's return needs."""

    UNKNOWN = 0  # some of the others'
    ALL = 1
    ROOT = 2  # who is not root needs the root; whether others on the way, is not known
    ALL_AT_ROOT = 3  # the root needs all; whether the others do, is not known


NEEDS: dict[str, Needs] = {
    f"MPI_{name}": Needs[needs]
    for needs, calls in content("calls")["waits"].items()
    for call in (*calls["both"], *calls.get("blocking", ()))
    for name in (call, *([f"I{call.lower()}"] if call in calls["both"] else []))
}


def of_collectives(
    events: Events, world: World, groups: Collectives, done_of: Ints, error_s: float
) -> tuple[Reasons, Bools, Bools]:
    """What each call of a collective waits for.

    Args: done_of: shape (n,), the call in which the request of a non-blocking one completed; itself where it blocks.
          error_s: of clocks.
    Returns: reasons; calls whose group lacks ranks, which may have come later, shape (n,); and groups whose calls all
    wait for all, shape (groups,).
    """
    rows, group = groups.event, groups.group
    lacking = np.zeros(len(events), dtype=bool)
    if not rows.size:
        return _reasons(events, rows, rows, rows, done_of, error_s), lacking, np.zeros(groups.groups, dtype=bool)
    needs = np.array([int(NEEDS.get(name.removesuffix("_c"), Needs.UNKNOWN)) for name in world.calls])[
        events.call[rows]
    ]
    root = _roots(events, rows, group, groups.groups)
    is_root = events.rank[rows] == events.peer[rows]
    last, last_before = _last(events, groups, done_of)
    expected = [len(world.members.get(int(i), ())) or 2**31 for i in events.communicator[rows[groups.first[:-1]]]]
    lacking_rows = rows[(np.diff(groups.first) < np.array(expected))[group]]
    lacking[done_of[lacking_rows][done_of[lacking_rows] != NO_EVENT]] = True
    refuted = _is_refuted(events, groups, done_of, error_s)
    of_group, root_of, last_of = (each[groups.first[:-1]] for each in (needs, root, last))
    known = ~refuted & (
        (of_group == Needs.ALL) | _seen_to_need_all(events, groups, refuted, of_group, root_of == last_of)
    )
    needs = np.where(refuted[group] & (needs == Needs.ALL), Needs.UNKNOWN, np.where(known[group], Needs.ALL, needs))
    waits_all = (needs == Needs.ALL) | ((needs == Needs.ALL_AT_ROOT) & is_root)
    waits_root = (needs == Needs.ROOT) & ~is_root & (root != NO_EVENT)
    doubts = ~waits_all & ~((needs == Needs.ROOT) & is_root)
    parts = [
        (rows[waits_all], last[waits_all], Why.LATE_RANK),
        (rows[waits_root], root[waits_root], Why.LATE_RANK),
        (rows[doubts], last_before[doubts], Why.DOUBT),
    ]
    call = np.concatenate([part[0] for part in parts])
    other = np.concatenate([part[1] for part in parts])
    why = np.concatenate([np.full(part[0].size, int(part[2])) for part in parts])
    return _reasons(events, call, other, why, done_of, error_s), lacking, known


LATE_S = 20e-6  # by which the last rank has to come later than the first, so that the others show whether they wait
LEAST_SEEN = 10  # collectives of a kind that show it
MOST_REFUTED = 0.02  # of them, that show the contrary: a rank's clock or a matching may be wrong


def _seen_to_need_all(events: Events, groups: Collectives, refuted: Bools, needs: Ints, root_is_last: Bools) -> Bools:
    """Groups of kinds (call, size class) of which no rank left before the last came, though the standard lets it.

    MPI_Reduce of MPICH 5.0.2 inside a node holds all ranks until the root has come.
    """
    rows, first = groups.event, groups.first[:-1]
    start_s, size = events.start_s[rows], np.diff(groups.first)
    late_s = np.maximum.reduceat(start_s, first) - np.minimum.reduceat(start_s, first)
    # Of a gather by two ranks the root waits for the other by definition, as all do for the root of a broadcast.
    shows = (late_s > LATE_S) & np.where(needs == Needs.ROOT, ~root_is_last, True)
    shows &= np.where(needs == Needs.ALL_AT_ROOT, size - 1 - ~root_is_last > 0, True)
    lengths = np.frexp(np.maximum(events.bytes[rows[first]], 0).astype(float))[1]
    kind = np.unique(np.stack([events.call[rows[first]], lengths]), axis=1, return_inverse=True)[1].reshape(-1)
    against, seen = (np.bincount(kind[shows & which], minlength=int(kind.max()) + 1) for which in (refuted, ~refuted))
    needs_all: Bools = ((seen >= LEAST_SEEN) & (against <= MOST_REFUTED * seen))[kind]
    return needs_all


def _is_refuted(events: Events, groups: Collectives, done_of: Ints, error_s: float) -> Bools:
    """Groups of which a call returned before another one began: it did not wait for all, shape (groups,).

    A fence with assertions need not, nor does an MPI_Alltoallv that exchanges nothing with some.
    """
    rows = groups.event
    done = done_of[rows]
    end = np.where(done == NO_EVENT, np.inf, events.end_s[done])
    first_out = np.minimum.reduceat(end, groups.first[:-1])
    last_in = np.maximum.reduceat(events.start_s[rows], groups.first[:-1])
    refuted: Bools = first_out + error_s < last_in
    return refuted


def _roots(events: Events, rows: Ints, group: Ints, groups: int) -> Ints:
    of_group = np.full(groups, NO_EVENT, dtype=np.int64)
    is_root = events.rank[rows] == events.peer[rows]
    of_group[group[is_root]] = rows[is_root]
    return of_group[group]


def _last(events: Events, groups: Collectives, done_of: Ints) -> tuple[Ints, Ints]:
    """Of each call's group the last entry, and the last one before the call's own return; as events."""
    rows, group = groups.event, groups.group
    start = events.start_s[rows]
    done = done_of[rows]
    end = np.where(done == NO_EVENT, events.end_s[rows], events.end_s[done])
    order = np.lexsort((start, group))
    last = rows[order[groups.first[1:] - 1]][group]
    _, number = np.unique(np.concatenate([start, end]), return_inverse=True)
    many = number.max() + 1
    keys = group[order] * many + number[: rows.size][order]
    at = np.searchsorted(keys, group * many + number[rows.size :], side="right") - 1
    return last, rows[order[at]]


def _reasons(events: Events, call: Ints, other: Ints, why: Ints, done_of: Ints, error_s: float) -> Reasons:
    done = done_of[call]
    kept = (done != NO_EVENT) & (events.record[call] != events.record[other])
    done, other = done[kept], other[kept]
    none = np.full(done.size, NO_EVENT, dtype=np.int64)
    errors: Floats = np.full(done.size, error_s)
    return Reasons(done, other, events.start_s[other], errors, why[kept], events.rank[other], none)


def of_exposures(events: Events, world: World, error_s: float) -> Reasons:
    """MPI_Win_wait lasts until all that move something there have entered MPI_Win_complete; MPI_Win_complete, and in
    some libraries MPI_Win_start, until its targets have entered MPI_Win_post (MPI 5.0, section 12.5.2).
    """
    starts, completes, posts, waits = (
        np.flatnonzero(np.array([name == f"MPI_Win_{verb}" for name in world.calls], dtype=bool)[events.call])
        for verb in ("start", "complete", "post", "wait")
    )
    window = grouped(events.communicator.astype(np.int64), events.sequence >> 16)[0] * world.job.size
    place, start_s, end_s = window + events.rank, events.start_s, events.end_s
    moves = events.has(EventKind.ONE_SIDED) & events.has(EventKind.SEND | EventKind.RECEIVE)
    moved = np.flatnonzero(moves & (events.peer >= 0))
    ended = _first_from(place, start_s, completes, place[moved], start_s[moved])
    each = np.flatnonzero(ended != NO_EVENT)
    each = each[grouped(ended[each], events.peer[moved[each]])[1]]
    complete, target = ended[each], window[ended[each]] + events.peer[moved[each]]
    wait = _first_from(place, end_s, waits, target, start_s[complete])
    post = _first_from(place, -start_s, posts, target, -end_s[complete])
    start = _first_from(place, -start_s, starts, place[complete], -start_s[complete])
    call, other = np.concatenate([wait, complete, start]), np.concatenate([complete, post, post])
    inside = (call != NO_EVENT) & (other != NO_EVENT)
    inside &= (start_s[other] > start_s[call]) & (start_s[other] <= end_s[call])
    call, why = call[inside], np.full(int(inside.sum()), int(Why.LATE_RANK))
    return _reasons(events, call, other[inside], why, np.arange(len(events)), error_s)


def _first_from(place: Ints, at_s: Floats, rows: Ints, wanted: Ints, from_s: Floats) -> Ints:
    """Of each wanted place the first of these rows there whose time is from_s or later; NO_EVENT: there is none."""
    _, number = np.unique(np.concatenate([from_s, at_s[rows]]), return_inverse=True)
    key, own = wanted * number.size + number[: wanted.size], place[rows] * number.size + number[wanted.size :]
    order = np.argsort(own)
    at = np.append(rows[order], NO_EVENT)[np.searchsorted(own[order], key)]
    first: Ints = np.where(place[at] == wanted, at, NO_EVENT)
    return first
