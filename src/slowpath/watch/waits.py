# SPDX-License-Identifier: Apache-2.0
"""Time lost to ranks that came late, by kind: how much, where, and whom it was waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from slowpath.core.units import format_time
from slowpath.watch.attributed import Attributed, TimePart
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
    """Longest first; of each rank the thread that was longest in MPI, as in RankTime.

    Args: weight: of each event.  ranks: of the job.  span_s: of the run.  site_of: site -> index in results.
    """
    entries = []
    longest = np.array([record.longest_lane for record in found.world.records])
    if longest.size:
        weight = np.where(found.events.lane == longest[found.events.record], weight, 0.0)
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
        inside = _passed_on(found, rows[culprits == culprit], waited)
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


def _passed_on(found: Attributed, rows: Ints, waited: Floats) -> float | None:
    """Share of a rank's delay that it spent in MPI itself: then the delay began elsewhere. None: it began there.

    From one wait for the rank to the end of the next, both have the same time. What the late one spent in MPI of it,
    and the waiting one did not before it waited, is no more computing of the late one: delay analysis by differences
    (Boehme et al., Identifying the root causes of wait states in large-scale parallel applications, ICPP 2010).
    """
    reason = found.split.reason[rows]
    if (found.reasons.other[reason] == found.reasons.call[reason]).all():
        return None
    events, presence = found.events, found.presence
    late, waiting = events.record[found.reasons.other[reason]], events.record[rows]
    start, until = events.start_s[rows], found.split.until_s[rows]
    since = _since(found, rows, late)
    inside = presence.inside_s(late, until) - presence.inside_s(late, since)
    inside -= presence.inside_s(waiting, start) - presence.inside_s(waiting, since)
    length = until - start
    weight = waited[rows] / np.maximum(length, 1e-12)
    share = float((inside * weight).sum() / max(float((length * weight).sum()), 1e-12))
    return None if share < PASSED_ON else min(share, 1.0)


def _since(found: Attributed, rows: Ints, late: Ints) -> Floats:
    """When the thread of each call had last waited for the same rank; its own begin where no such is known.

    Of thinned records only a wait of the same window counts: between two windows nothing is known.
    """
    events = found.events
    chain = np.stack([events.record[rows], events.lane[rows], late], axis=1)
    order = np.lexsort((events.start_s[rows], *chain.T))
    before, after = order[:-1], order[1:]
    known = (chain[before] == chain[after]).all(axis=1)
    if found.world.level:
        known &= events.window[rows[before]] == events.window[rows[after]]
    since = events.start_s[rows].copy()
    since[after[known]] = np.minimum(found.split.until_s[rows[before[known]]], since[after[known]])
    return since


def _where(inside: float | None) -> str:
    if inside is None:
        return ", which is outside MPI: it is computing or has no core"
    return f", which lost {inside:.0%} of that time in MPI itself: the delay begins elsewhere"
