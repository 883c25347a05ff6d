# SPDX-License-Identifier: Apache-2.0
"""The critical n of each style, and scaling over the number of ranks. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec.structs import replace

from slowpath.core.plan import Placement
from slowpath.core.study_results import (
    CannonGroup,
    CannonPoint,
    CannonScaling,
    CannonVariant,
    CriticalMove,
    CriticalN,
    ScalingPoint,
    Value,
)
from slowpath.experiments.cannon.points import CellGroup, Measured, rounds_of, value_of
from slowpath.experiments.cannon.runs import ALONE, REFERENCE, YARDSTICKS
from slowpath.stats.contrast import ContrastEstimate, benjamini_hochberg, judge, paired
from slowpath.stats.estimate import estimate_over_launches

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
    tested = {key: move.p for key, move in moved.items() if move is not None and move.p is not None}
    corrected: Sequence[float] = [float(p) for p in benjamini_hochberg(list(tested.values()))] if tested else []
    adjusted = dict(zip(tested, corrected, strict=True))
    moved_variants = []
    for variant in variants:
        entries = own.get(variant.variant, {})
        for name, entry in entries.items():
            if (key := (variant.variant, name)) in moved:
                move = _move(entry, reference[name], moved[key], adjusted.get(key))
                move = move or _beyond(group, measured, variant.variant, entry, reference[name])
                entries = {**entries, name: replace(entry, move=move)}
        moved_variants.append(replace(variant, critical_n=entries))
    return moved_variants


def crossing(curve: Curve, share: float) -> float | NoCrossing:
    """The first n at which the curve falls below `share`, or why there is none."""
    if not curve:
        return NoCrossing(None, "no exposed share")
    first, last = curve[0], curve[-1]
    if first[1] < share:
        return NoCrossing("below", f"below from the smallest n = {first[0]} on: {100 * first[1]:.3g} %")
    for (n, above), (next_n, below) in itertools.pairwise(curve):
        if below < share:  # and above is not, as all before it
            way = (_logit(above) - _logit(share)) / (_logit(above) - _logit(below))
            return math.exp(math.log(n) + way * (math.log(next_n) - math.log(n)))
    return NoCrossing("above", f"above up to the largest n = {last[0]}: {100 * last[1]:.3g} %")


def _logit(share: float) -> float:
    """Shares are in (0, 1): what communicates also computes. Kept from the ends, where a clock's step would decide."""
    kept = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(kept / (1 - kept))


def _critical(
    group: CellGroup, measured: Measured, points: Sequence[CannonPoint], variant: str, share: float
) -> CriticalN:
    known = [(point.n, point.exposed_ratio.value) for point in points if point.exposed_ratio]
    crossed = crossing(known, share)
    if isinstance(crossed, NoCrossing):
        unknown = [] if known else [point.exposed_ratio_reason for point in points if not point.exposed_ratio]
        why = unknown[0] if unknown else crossed.text
        return CriticalN(share=share, n=None, interval=None, interval_kind=None, level=None, launches=0, reason=why)
    by_round = _by_round(group, measured, variant, share)
    each = [value for value in by_round.values() if not isinstance(value, NoCrossing)]
    missing = len(by_round) - len(each)
    spread = estimate_over_launches(each) if each and not missing else None
    kind = spread.kind if spread else f"{missing} of {missing + len(each)} launches without a crossing, no interval"
    return CriticalN(
        share=share,
        n=crossed,
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
    critical: CriticalN, reference: CriticalN, ratio: ContrastEstimate | None, p_adjusted: float | None
) -> CriticalMove | None:
    """None: no ratio of the two is known."""
    if ratio is None or critical.n is None or reference.n is None:
        return None
    verdict = judge(ratio, p_adjusted)
    word = {"slower": "higher", "faster": "lower", "same": "stays"}.get(verdict.word, "undecided")
    return CriticalMove(word=word, over=value_of(ratio), reason=verdict.reason)


def _beyond(
    group: CellGroup, measured: Measured, variant: str, critical: CriticalN, reference: CriticalN
) -> CriticalMove:
    """Beyond the measured n in every round, while the reference's interval lies inside: that is a move, of no known
    length.
    """
    mine = list(_by_round(group, measured, variant, critical.share).values())
    why = critical.reason or (f"{REFERENCE}: {reference.reason}" if reference.reason else "launches without a crossing")
    ends = reference.interval if reference.level is not None else None
    word = "undecided"
    if mine and ends:
        if _all_lie(mine, "below") and group.n[0] < ends[0] * (1 - MOVES):
            word = "lower"
        if _all_lie(mine, "above") and group.n[-1] > ends[1] * (1 + MOVES):
            word = "higher"
    return CriticalMove(word=word, over=None, reason=why)


def _all_lie(crossings: Sequence[float | NoCrossing], where: Literal["below", "above"]) -> bool:
    return all(isinstance(crossed, NoCrossing) and crossed.where == where for crossed in crossings)


# Parameters, MPI, environment, the campaign's placement, copy, variant.
_Family = tuple[tuple[tuple[str, str], ...], str | None, str, str, int, str]

FEWEST = 2  # numbers of ranks that make a curve


@dataclass(frozen=True)
class _Spot:
    """A measured point with one number of ranks."""

    cells: CellGroup
    group: CannonGroup
    variant: str
    point: CannonPoint

    @property
    def block(self) -> float:
        """Order of a rank's block if the grid were square."""
        return self.point.n / math.sqrt(self.group.ranks)

    @property
    def work(self) -> float:
        """Operations of one rank, but for a constant."""
        return float(self.point.n) ** 3 / self.group.ranks


def scaling(
    cells: Sequence[CellGroup],
    groups: Sequence[CannonGroup],
    placements: Sequence[Placement],
    measured: Measured,
    effect: float,
) -> list[CannonScaling]:
    """Every curve with at least FEWEST numbers of ranks; [] in a run with one number of ranks.

    Args: cells, groups: the same groups, in one order.  effect: smallest relative difference that counts.
    """
    of = {placement.name: placement.of for placement in placements if placement.ranks is not None}
    families: dict[_Family, list[_Spot]] = {}
    for own, group in zip(cells, groups, strict=True):
        name = of.get(group.placement)
        if name is None:
            continue
        shared = tuple(sorted(group.parameters.items()))
        for variant in group.variants:
            if variant.variant == ALONE:  # one core, however many ranks there are
                continue
            key: _Family = (shared, group.mpi, group.environment, name, group.copy, variant.variant)
            families.setdefault(key, []).extend(_Spot(own, group, variant.variant, point) for point in variant.points)
    rows = []
    for key, spots in families.items():
        for kind, by in (("strong", _by_order(spots)), ("weak", _by_block(spots))):
            rows += [
                _curve(kind, key[3], curve, measured, effect)
                for curve in by.values()
                if len({spot.group.ranks for spot in curve}) >= FEWEST
            ]
    return sorted(rows, key=lambda row: row.kind)


def _by_order(spots: Sequence[_Spot]) -> Mapping[int, list[_Spot]]:
    by_order: dict[int, list[_Spot]] = {}
    for spot in spots:
        by_order.setdefault(spot.point.n, []).append(spot)
    return by_order


def _by_block(spots: Sequence[_Spot]) -> Mapping[int, list[_Spot]]:
    """Whole blocks alone: with 2 ranks and no square grid n / sqrt(P) is none, and close is not equal."""
    by_block: dict[int, list[_Spot]] = {}
    for spot in spots:
        if abs(spot.block - round(spot.block)) < 1e-9:
            by_block.setdefault(round(spot.block), []).append(spot)
    return by_block


def _curve(kind: str, placement: str, spots: Sequence[_Spot], measured: Measured, effect: float) -> CannonScaling:
    ordered = sorted(spots, key=lambda spot: spot.group.ranks)
    base = ordered[0]
    return CannonScaling(
        kind=kind,
        variant=base.variant,
        parameters=base.group.parameters,
        mpi=base.group.mpi,
        environment=base.group.environment,
        placement=placement,
        n=base.point.n if kind == "strong" else None,
        block=round(base.block) if kind == "weak" else None,
        base_ranks=base.group.ranks,
        points=[_point(spot, base, measured, effect) for spot in ordered],
    )


def _point(spot: _Spot, base: _Spot, measured: Measured, effect: float) -> ScalingPoint:
    shared = spot.group.ranks_have_cores_reason or base.group.ranks_have_cores_reason
    faster = None if shared else _faster(spot, base, measured, effect)
    reason = shared or (None if faster else "no round measured both numbers of ranks")
    return ScalingPoint(
        ranks=spot.group.ranks,
        n=spot.point.n,
        cell=spot.point.cell,
        multiply_s=spot.point.multiply_s,
        oversubscribed=not spot.group.ranks_have_cores,
        speed_up=faster,
        efficiency=_scaled(faster, spot.work / base.work) if faster else None,
        reason=reason,
    )


def _faster(spot: _Spot, base: _Spot, measured: Measured, effect: float) -> Value | None:
    """The base's time over this one's, round by round; of the base itself exactly 1, which has no interval."""
    if spot is base:
        launches = spot.point.multiply_s.launches
        return Value(value=1.0, interval=None, interval_kind="the baseline", level=None,
                     launches=launches)  # fmt: skip
    over = rounds_of(measured, base.cells, base.variant, base.point.n)
    under = rounds_of(measured, spot.cells, spot.variant, spot.point.n)
    rounds = sorted(over.keys() & under.keys())
    if not rounds:
        return None
    mine, bases = ([side[r][1].centre_s for r in rounds] for side in (under, over))
    return value_of(paired(mine, bases, effect))


def _scaled(value: Value, factor: float) -> Value:
    ends = value.interval
    scaled = (ends[0] * factor, ends[1] * factor) if ends else None
    return msgspec.structs.replace(value, value=value.value * factor, interval=scaled)
