# SPDX-License-Identifier: Apache-2.0
"""Over the number of ranks: strong and weak scaling of each style, and its parallel efficiency. Pure.

Strong: the same n with each number of ranks P. Weak: the order of a rank's block, n / sqrt(P), stays, and with it the
memory of a rank. In both the efficiency is the rate of a rank, 2 n^3 / (P T), over that with the fewest ranks, round by
round. Where ranks share cores there is none: a rank that has no core computes nothing, whatever the style does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from slowpath.core.cannon_results import CannonGroup, CannonPoint, CannonScaling, ScalingPoint, Value
from slowpath.core.plan import Placement
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.points import Measured, rounds_of, value_of
from slowpath.experiments.cannon.variants import ALONE
from slowpath.stats.contrast import paired

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
    found = []
    for key, spots in families.items():
        for kind, by in (("strong", _by_order(spots)), ("weak", _by_block(spots))):
            found += [
                _curve(kind, key[3], curve, measured, effect)
                for curve in by.values()
                if len({spot.group.ranks for spot in curve}) >= FEWEST
            ]
    return sorted(found, key=lambda one: one.kind)


def _by_order(spots: Sequence[_Spot]) -> Mapping[int, list[_Spot]]:
    found: dict[int, list[_Spot]] = {}
    for spot in spots:
        found.setdefault(spot.point.n, []).append(spot)
    return found


def _by_block(spots: Sequence[_Spot]) -> Mapping[int, list[_Spot]]:
    """Whole blocks alone: with 2 ranks and no square grid n / sqrt(P) is none, and close is not equal."""
    found: dict[int, list[_Spot]] = {}
    for spot in spots:
        if abs(spot.block - round(spot.block)) < 1e-9:
            found.setdefault(round(spot.block), []).append(spot)
    return found


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
        return Value(value=1.0, interval=None, interval_kind="what the others are compared with", level=None,
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
