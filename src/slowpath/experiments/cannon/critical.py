# SPDX-License-Identifier: Apache-2.0
"""The critical n: from which order of the matrices on communication is less than a share of the blocking time. Pure.

The time of a multiplication grows with n^3 and what it communicates with n^2, so exposed over computed time falls as
1/n as long as bandwidth decides: the logarithm of share / (1 - share) is a straight line over log n. Between two
measured points it is taken as one; nothing is claimed beyond them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from slowpath.core.cannon_results import CannonPoint, CannonVariant, CriticalMove, CriticalN
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.points import Measured, rounds_of, value_of
from slowpath.experiments.cannon.variants import REFERENCE, YARDSTICKS
from slowpath.stats.contrast import ContrastEstimate, paired
from slowpath.stats.estimate import estimate_over_launches
from slowpath.stats.multiplicity import benjamini_hochberg
from slowpath.stats.verdict import judge

SHARES = {"half": 0.5, "tenth": 0.1}
MOVES = 0.1  # a critical n that differs by less stays where it is
Curve = Sequence[tuple[int, float]]  # (n, share), ascending n


@dataclass(frozen=True)
class NoCrossing:
    """where: on which side of the share the whole curve lies; None: it was not measured.  text: the same in words."""

    where: Literal["below", "above"] | None
    text: str


def critical_n(
    group: CellGroup, measured: Measured, points: Sequence[CannonPoint], variant: str = REFERENCE
) -> dict[str, CriticalN]:
    """CRITICAL of docs/reference/results.md for each of SHARES.

    Args: points: of the variant, ascending n.
    """
    return {name: _critical(group, measured, points, variant, share) for name, share in SHARES.items()}


def with_moves(
    variants: Sequence[CannonVariant], reference: Mapping[str, CriticalN], group: CellGroup, measured: Measured
) -> list[CannonVariant]:
    """The styles with their critical n, each with its move against the reference's; yardsticks have none.

    The p values of all moves are corrected together (Benjamini-Hochberg).
    """
    own = {
        variant.variant: critical_n(group, measured, variant.points, variant.variant)
        for variant in variants
        if variant.variant not in YARDSTICKS
    }
    moved = {
        (variant, name): _ratio(group, measured, variant, share)
        for variant in own
        if variant != REFERENCE
        for name, share in SHARES.items()
    }
    tested = {key: one.p for key, one in moved.items() if one is not None and one.p is not None}
    corrected: Sequence[float] = [float(p) for p in benjamini_hochberg(list(tested.values()))] if tested else []
    adjusted = dict(zip(tested, corrected, strict=True))
    found = []
    for variant in variants:
        entries = own.get(variant.variant, {})
        for name, entry in entries.items():
            if (key := (variant.variant, name)) in moved:
                move = _move(entry, reference[name], moved[key], adjusted.get(key))
                move = move or _beyond(group, measured, variant.variant, entry, reference[name])
                entries = {**entries, name: replace(entry, move=move)}
        found.append(replace(variant, critical_n=entries))
    return found


def crossing(curve: Curve, share: float) -> float | NoCrossing:
    """The first n at which the curve falls below `share`, or why there is none."""
    if not curve:
        return NoCrossing(None, "its exposed share was not measured")
    first, last = curve[0], curve[-1]
    if first[1] < share:
        text = f"it is below already at n = {first[0]}, the smallest: {100 * first[1]:.3g} %"
        return NoCrossing("below", text)
    for (n, above), (next_n, below) in itertools.pairwise(curve):
        if below < share:  # and above is not, as all before it
            way = (_logit(above) - _logit(share)) / (_logit(above) - _logit(below))
            return math.exp(math.log(n) + way * (math.log(next_n) - math.log(n)))
    return NoCrossing("above", f"it is still {100 * last[1]:.3g} % at n = {last[0]}, the largest")


def _logit(share: float) -> float:
    """Shares are in (0, 1): what communicates also computes. Kept from the ends, where a clock's step would decide."""
    kept = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(kept / (1 - kept))


def _critical(
    group: CellGroup, measured: Measured, points: Sequence[CannonPoint], variant: str, share: float
) -> CriticalN:
    known = [(point.n, point.exposed_ratio.value) for point in points if point.exposed_ratio]
    found = crossing(known, share)
    if isinstance(found, NoCrossing):
        unknown = [] if known else [point.exposed_ratio_reason for point in points if not point.exposed_ratio]
        why = unknown[0] if unknown else found.text
        return CriticalN(share=share, n=None, interval=None, interval_kind=None, level=None, launches=0, reason=why)
    by_round = _by_round(group, measured, variant, share)
    each = [value for value in by_round.values() if not isinstance(value, NoCrossing)]
    missing = len(by_round) - len(each)
    spread = estimate_over_launches(each) if each and not missing else None
    kind = spread.kind if spread else f"{missing} of {missing + len(each)} launches have no crossing, no interval"
    return CriticalN(
        share=share,
        n=found,
        interval=spread.interval if spread else None,
        interval_kind=kind,
        level=spread.level if spread else None,
        launches=len(each),
        reason=None,
    )


def _by_round(group: CellGroup, measured: Measured, variant: str, share: float) -> dict[int, float | NoCrossing]:
    """The variant's crossing in each round that measured every n, or why it has none there."""
    by_n = {n: rounds_of(measured, group, variant, n, "exposed_ratio") for n in group.n}
    by_n = {n: rounds for n, rounds in by_n.items() if rounds}
    shared = sorted(set.intersection(*(set(rounds) for rounds in by_n.values()))) if by_n else []
    return {r: crossing([(n, rounds[r][1].centre_s) for n, rounds in by_n.items()], share) for r in shared}


def _ratio(group: CellGroup, measured: Measured, variant: str, share: float) -> ContrastEstimate | None:
    """The variant's crossing over the reference's, round by round; None where a round lacks one of them."""
    mine = _by_round(group, measured, variant, share)
    blocking = _by_round(group, measured, REFERENCE, share)
    shared = sorted(mine.keys() & blocking.keys())
    pairs = [
        (a, b)
        for r in shared
        if not isinstance(a := blocking[r], NoCrossing) and not isinstance(b := mine[r], NoCrossing)
    ]
    if not pairs or len(pairs) < len(shared):
        return None
    return paired([a for a, _ in pairs], [b for _, b in pairs], MOVES)


def _move(
    found: CriticalN, reference: CriticalN, ratio: ContrastEstimate | None, p_adjusted: float | None
) -> CriticalMove | None:
    """None: no ratio of the two is known."""
    if ratio is None or found.n is None or reference.n is None:
        return None
    verdict = judge(ratio, p_adjusted)
    word = {"slower": "higher", "faster": "lower", "same": "stays"}.get(verdict.word, "undecided")
    return CriticalMove(word=word, over=value_of(ratio), reason=verdict.reason)


def _beyond(group: CellGroup, measured: Measured, variant: str, found: CriticalN, reference: CriticalN) -> CriticalMove:
    """Beyond the measured n in every round, while the reference's interval lies inside: that is a move, of no known
    length.
    """
    mine = list(_by_round(group, measured, variant, found.share).values())
    why = found.reason or (f"{REFERENCE}: {reference.reason}" if reference.reason else "some launches have no crossing")
    ends = reference.interval if reference.level is not None else None
    word = "undecided"
    if mine and ends:
        if _all_lie(mine, "below") and group.n[0] < ends[0] * (1 - MOVES):
            word = "lower"
        if _all_lie(mine, "above") and group.n[-1] > ends[1] * (1 + MOVES):
            word = "higher"
    return CriticalMove(word=word, over=None, reason=why)


def _all_lie(crossings: Sequence[float | NoCrossing], where: Literal["below", "above"]) -> bool:
    return all(isinstance(one, NoCrossing) and one.where == where for one in crossings)
