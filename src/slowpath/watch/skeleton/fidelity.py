# SPDX-License-Identifier: Apache-2.0
"""Whether a skeleton takes what its program took, in total and in each kind of call. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final

import msgspec

from slowpath.stats.anytime import interval
from slowpath.watch.proof import ProofEffect
from slowpath.watch.skeleton.derive import Recorded
from slowpath.watch.skeleton_results import Fidelity, KindTime

MOST_OFF_TOTAL: Final = 0.10
MOST_OFF_KIND: Final = 0.15
LEAST_SHARE: Final = 0.02  # of the run, from which a kind of call is judged
LEVEL: Final = 0.95


class PlayedKind(msgspec.Struct, frozen=True):
    """Operations of one kind on one rank, and nanoseconds in them."""

    calls: int
    length_ns: int


class PlayedRank(msgspec.Struct, frozen=True):
    """One rank of a launch, as slowpath-skeleton writes it."""

    total_ns: int
    kinds: dict[str, PlayedKind]


class Played(msgspec.Struct, frozen=True):
    """One launch, as slowpath-skeleton writes it."""

    ranks: tuple[PlayedRank, ...]

    @property
    def total_s(self) -> float:
        """Of the slowest rank."""
        return max((rank.total_ns for rank in self.ranks), default=0) * 1e-9

    def kind_s(self, kind: str) -> float:
        """Seconds a rank in operations of one kind."""
        every = [rank.kinds[kind].length_ns for rank in self.ranks if kind in rank.kinds]
        return sum(every) * 1e-9 / max(len(self.ranks), 1)


def fidelity_of(recorded: Recorded, launches: Sequence[Played]) -> Fidelity:
    """From launches of the script as it is, at least one."""
    logs = [math.log(one.total_s / recorded.span_s) for one in launches]
    ends = interval(logs, LEVEL)
    ratio = ProofEffect(
        ratio=math.exp(statistics.fmean(logs)),
        interval=None if ends is None else (math.exp(ends.low), math.exp(ends.high)),
        blocks=len(launches),
    )
    kinds = sorted(_kinds(recorded, launches), key=lambda row: -row.program_s)
    reason = _why_not(ratio.ratio, kinds)
    faithful = f"within {MOST_OFF_TOTAL:.0%} in total and {MOST_OFF_KIND:.0%} in each kind of call"
    return Fidelity(
        program_s=recorded.span_s,
        skeleton_s=statistics.fmean(one.total_s for one in launches),
        ratio=ratio,
        kinds=tuple(kinds),
        is_faithful=reason is None,
        reason=reason or faithful,
    )


def _kinds(recorded: Recorded, launches: Sequence[Played]) -> list[KindTime]:
    ranks = max(len(recorded.kinds), 1)
    found = []
    for kind in sorted({kind for rank in recorded.kinds for kind in rank}):
        rows = [rank[kind] for rank in recorded.kinds if kind in rank]
        program_s = sum(seconds for _, seconds in rows) / ranks
        skeleton_s = statistics.fmean(one.kind_s(kind) for one in launches)
        judged = max(program_s, skeleton_s) >= LEAST_SHARE * recorded.span_s
        near = program_s > 0 and abs(skeleton_s / program_s - 1) <= MOST_OFF_KIND
        found.append(
            KindTime(
                kind=kind,
                calls=sum(calls for calls, _ in rows),
                program_s=program_s,
                skeleton_s=skeleton_s,
                is_judged=judged,
                is_faithful=near or not judged,
            )
        )
    return found


def _why_not(ratio: float, kinds: Sequence[KindTime]) -> str | None:
    off = []
    if abs(ratio - 1) > MOST_OFF_TOTAL:
        off.append(f"the total is {abs(ratio - 1):.0%} {'longer' if ratio > 1 else 'shorter'}, more than 10 %")
    for row in kinds:
        if not row.is_faithful:
            by = f"{row.skeleton_s / row.program_s:.2f} of the program's time" if row.program_s else "new time"
            off.append(f"{row.kind} takes {by}")
    return "; ".join(off[:4]) if off else None
