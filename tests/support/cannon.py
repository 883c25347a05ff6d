# SPDX-License-Identifier: Apache-2.0
"""Parts of results.json about Cannon's algorithm for tests, each complete, as those of support.results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from slowpath.core.study_results import CannonBest, CannonPoint, Value

WHY = "not measured in the same launches"


def a_value(value: float = 1.0, **changes: Any) -> Value:
    """Within 1 % to both sides, of 6 launches."""
    interval = (0.99 * value, 1.01 * value)
    made = Value(value=value, interval=interval, interval_kind="signed-rank 95 %", level=0.95, launches=6)
    return replace(made, **changes)


def a_point(n: int = 512, multiply_s: float = 1.0, **changes: Any) -> CannonPoint:
    """A variant that nothing compares with; a ratio that is given has no reason."""
    point = CannonPoint(
        n=n,
        cell=0,
        multiply_s=a_value(multiply_s),
        exposed_s=None,
        parts_s={"dgemm": multiply_s},
        rate_flops_per_s=a_value(2 * n**3 / multiply_s),
        over_compute=None,
        over_compute_reason=WHY,
        speed_up=None,
        speed_up_reason=WHY,
        of_cores=None,
        of_cores_reason=WHY,
        exposed_ratio=None,
        exposed_ratio_reason=WHY,
    )
    known = {f"{name}_reason": None for name in changes if f"{name}_reason" in CannonPoint.__struct_fields__}
    return replace(point, **{**known, **changes})


def a_best(n: int, variant: str | None, same: Sequence[str] = ()) -> CannonBest:
    """The fastest at one n; None: nothing was measured."""
    return CannonBest(n=n, variant=variant, same=list(same), reason=None if variant else WHY)
