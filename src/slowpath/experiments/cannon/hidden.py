# SPDX-License-Identifier: Apache-2.0
"""How much of the exposed time of the reference a variant hides, and what moving its inputs costs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from slowpath.core.cannon_results import CannonPoint, CannonVariant


def with_hidden(variants: Sequence[CannonVariant], reference: str, shared_cores: str | None) -> list[CannonVariant]:
    """The variants with hidden_ratio and moved_ratio in each point.

    Args: reference: variant that the others are compared with.  shared_cores: why exposed shares don't count; None:
          each rank has a core of its own.
    """
    exposed_s = {p.n: p.exposed_s for variant in variants if variant.variant == reference for p in variant.points}
    return [
        replace(variant, points=[_point(point, exposed_s.get(point.n), shared_cores) for point in variant.points])
        for variant in variants
    ]


def _point(point: CannonPoint, reference_s: float | None, shared_cores: str | None) -> CannonPoint:
    ratio, reason = None, shared_cores
    if shared_cores is None:
        if point.exposed_s is None or not reference_s:
            reason = "nothing to compare with"
        else:
            ratio = 1 - point.exposed_s / reference_s
    return replace(point, hidden_ratio=ratio, hidden_ratio_reason=reason, moved_ratio=_moved(point))


def _moved(point: CannonPoint) -> float | None:
    parts = point.parts_s
    moved_s = parts.get("distribute", 0.0) + parts.get("gather", 0.0)
    return moved_s / parts["dgemm"] if parts.get("dgemm") else None
