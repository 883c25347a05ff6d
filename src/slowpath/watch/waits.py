# SPDX-License-Identifier: Apache-2.0
"""Time lost to ranks that came late, by kind: how much, where, and whom it was waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from slowpath.core.units import format_time
from slowpath.watch.attributed import Attributed, TimePart, barriers_of
from slowpath.watch.events import NO_SITE, Floats, Ints
from slowpath.watch.match import NO_EVENT
from slowpath.watch.results import Wait, WaitKind

Began = Literal["outside MPI", "inside MPI"]
LEAST_SHARE = 0.001  # of the run; shorter waits are not listed
ONE_RANK = 0.5  # share of a wait from which it is one rank's ...
CLEARLY = 1.5  # ... and how much more than the next one's
# Of the time for which a rank was waited: spent in MPI itself. From here on it is not where the delay began.
PASSED_ON = 0.5
_KINDS: Mapping[TimePart, WaitKind] = {
    TimePart.LATE_SENDER: "late sender",
    TimePart.LATE_RECEIVER: "late receiver",
    TimePart.IMBALANCE: "collective imbalance",
    TimePart.SENDER_AWAY: "late progress",
    TimePart.RECEIVER_AWAY: "late progress",
    TimePart.LATE_TARGET: "late target",
}
_SAYS: Mapping[WaitKind, str] = {
    "late sender": "receives wait for messages that were not sent yet",
    "late receiver": "sends wait for receives that were not posted yet",
    "collective imbalance": "collectives wait for ranks that arrive late",
    "late target": "locks, flushes and unlocks wait for targets outside MPI",
    "late progress": "started messages make no progress while a rank is outside MPI",
}


def waits_of(
    found: Attributed, weight: Floats, ranks: int, span_s: float, site_of: Mapping[int, int]
) -> tuple[Wait, ...]:
    """Longest first; of each rank its leading thread, as in RankTime.

    Args: weight: of each event.  ranks: of the job.  span_s: of the run.  site_of: site -> index in results.
    """
    entries = []
    leading = np.array([record.leading_lane for record in found.world.records])
    if leading.size:
        weight = np.where(found.events.lane == leading[found.events.record], weight, 0.0)
    for kind in dict.fromkeys(_KINDS.values()):
        columns = [int(part) for part, name in _KINDS.items() if name == kind]
        waited = found.split.parts_s[:, columns].sum(axis=1) * weight
        total = float(waited.sum()) / max(ranks, 1)
        if total > 0 and total >= LEAST_SHARE * span_s:
            entries.append(_wait(found, kind, waited, ranks, span_s, site_of))
    return tuple(sorted(entries, key=lambda wait: -wait.seconds))


def _wait(
    found: Attributed, kind: WaitKind, waited: Floats, ranks: int, span_s: float, site_of: Mapping[int, int]
) -> Wait:
    rows = np.flatnonzero((waited > 0) & (found.split.reason != NO_EVENT))
    culprits = found.reasons.culprit[found.split.reason[rows]]
    culprit, share, all_of_it = _culprit(culprits, waited[rows], float(waited.sum()))
    seconds = float(waited.sum()) / max(ranks, 1)
    sites = found.events.site[rows]
    named = sites != NO_SITE
    by_site = np.bincount(sites[named], weights=waited[rows][named]) if named.any() else np.zeros(0)
    site = site_of.get(int(by_site.argmax())) if by_site.size else None
    call_s = np.bincount(found.events.call[rows], weights=waited[rows], minlength=len(found.world.calls))
    call = found.world.calls[int(call_s.argmax())]
    run_share = min(seconds / span_s, 1.0) if span_s > 0 else 0.0
    by_rank = np.bincount(found.events.rank[rows], weights=waited[rows])
    longest = int(by_rank.argmax())
    words = f"{_SAYS[kind]}, mostly in {call}; {spread_words(seconds, float(by_rank[longest]), longest, ranks)}"
    began: Began | None = None
    if culprit is not None:
        inside = _passed_on(found, rows[culprits == culprit], waited, kind)
        began = "outside MPI" if inside is None else "inside MPI"
        words += f"; {all_of_it:.0%} of the time for rank {culprit}" + _where(inside)
    return Wait(
        kind=kind,
        culprit=culprit,
        culprit_share=share,
        seconds=seconds,
        share=run_share,
        site=site,
        text=words,
        longest_s=float(by_rank[longest]),
        longest_rank=longest,
        began=began,
    )


def spread_words(mean_s: float, longest_s: float, rank: int, ranks: int) -> str:
    """`rank 1 waits longest, 1.17 s; the mean of 2 ranks is 586 ms`."""
    longest = f"rank {rank} waits longest, {format_time(longest_s)}"
    return f"{longest}; the mean of {ranks} ranks is {format_time(mean_s)}" if ranks > 1 else longest


def _culprit(culprits: Ints, waited: Floats, total: float) -> tuple[int | None, float, float]:
    """The rank that most of it was waited for, its share, and again; None: no one rank."""
    if not culprits.size or total <= 0:
        return None, 0.0, 0.0
    by_rank = np.bincount(culprits, weights=waited)
    order = np.argsort(by_rank)
    first, share = int(order[-1]), min(float(by_rank[order[-1]]) / total, 1.0)
    following = float(by_rank[order[-2]]) / total if order.size > 1 else 0.0
    clear = share >= ONE_RANK and share >= CLEARLY * following
    return (first if clear else None), share, share


def _passed_on(found: Attributed, rows: Ints, waited: Floats, kind: WaitKind) -> float | None:
    """Share of a rank's delay that it spent in MPI itself: then the delay began elsewhere. None: it began there.

    From when the two ranks last met to the end of the wait, both have the same time. What the late one spent in MPI of
    it, and the waiting one did not before it waited, is no more computing of the late one: delay analysis by
    differences (Boehme et al., Identifying the root causes of wait states in large-scale parallel applications, ICPP
    2010).
    """
    reason = found.split.reason[rows]
    if (found.reasons.other[reason] == found.reasons.call[reason]).all():
        return None
    events, presence = found.events, found.presence
    late, waiting = events.record[found.reasons.other[reason]], events.record[rows]
    start, until = events.start_s[rows], found.split.until_s[rows]
    since = _last_met(found, int(late[0]), rows, of_pairs=kind != "collective imbalance")
    inside = presence.inside_s(late, until) - presence.inside_s(late, since)
    inside -= presence.inside_s(waiting, start) - presence.inside_s(waiting, since)
    length = until - start
    weight = waited[rows] / np.maximum(length, 1e-12)
    share = float((inside * weight).sum() / max(float((length * weight).sum()), 1e-12))
    return None if share < PASSED_ON else min(share, 1.0)


def _last_met(found: Attributed, late: int, rows: Ints, *, of_pairs: bool) -> Floats:
    """When the rank of each call and the late one last met, seconds; the call's own begin where that is not known.

    They meet where the last rank enters a collective of both that needs all, and, for waits of pairs, where one of them
    waits for the other. Of thinned records a meeting of the same window counts alone: between two windows nothing is
    known.

    Args: late: its record.  of_pairs: of pairs, too.
    """
    events = found.events
    met, at_s, window = _meetings(found, late, of_pairs)
    ours, start_s = events.record[rows], events.start_s[rows]
    if not met.size:
        return start_s.copy()
    turn = np.argsort(np.argsort(np.concatenate([at_s, start_s]), kind="stable"), kind="stable")
    many = turn.size + 1
    key, wanted = met * many + turn[: met.size], ours * many + turn[met.size :]
    order = np.argsort(key)
    at = order[np.maximum(np.searchsorted(key[order], wanted) - 1, 0)]
    known = (met[at] == ours) & (at_s[at] <= start_s)
    if found.world.level:
        known &= window[at] == events.window[rows]
    return np.where(known, at_s[at], start_s)


def _meetings(found: Attributed, late: int, of_pairs: bool) -> tuple[Ints, Floats, Ints]:
    """Records that met the late one, when, and in which window; shape (meetings,) each."""
    events, groups = found.events, barriers_of(found.events, found.world, found.groups)
    waits = np.flatnonzero(found.split.reason != NO_EVENT)
    partner = events.record[found.reasons.other[found.split.reason[waits]]]
    own = events.record[waits]
    of_pair = ((own == late) | (partner == late)) & (own != partner) & of_pairs
    other = np.where(own == late, partner, own)[of_pair]
    waits = waits[of_pair]
    call, group = groups.event, groups.group
    entered_s, number = np.full(groups.groups, -np.inf), np.zeros(groups.groups, dtype=np.int64)
    np.maximum.at(entered_s, group, events.start_s[call])
    number[group] = events.window[call]
    with_late = np.zeros(groups.groups, dtype=bool)
    with_late[group[events.record[call] == late]] = True
    member = with_late[group] & (events.record[call] != late)
    return (
        np.concatenate([other, events.record[call[member]]]),
        np.concatenate([found.split.until_s[waits], entered_s[group[member]]]),
        np.concatenate([events.window[waits], number[group[member]]]),
    )


def _where(inside: float | None) -> str:
    if inside is None:
        return ", which is outside MPI: it computes, sleeps or has no core"
    return f", which lost {inside:.0%} of that time in MPI itself: the delay begins elsewhere"
