# SPDX-License-Identifier: Apache-2.0
"""The critical n: from which order of the matrices on communication is less than a share of the blocking time. Pure.

The time of a multiplication grows with n^3 and what it communicates with n^2, so exposed over computed time falls as
1/n as long as bandwidth decides: the logarithm of share / (1 - share) is a straight line over log n. Between two
measured points it is taken as one; nothing is claimed beyond them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from slowpath.core.cannon_results import CannonPoint, CriticalN
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.points import Measured, rounds_of
from slowpath.experiments.cannon.variants import REFERENCE
from slowpath.stats.estimate import estimate_over_launches

SHARES = {"half": 0.5, "tenth": 0.1}
Curve = Sequence[tuple[int, float]]  # (n, share), ascending n


def critical_n(group: CellGroup, measured: Measured, points: Sequence[CannonPoint]) -> dict[str, CriticalN]:
    """CRITICAL of docs/reference/results.md for each of SHARES.

    Args: points: of the reference, ascending n.
    """
    return {name: _critical(group, measured, points, share) for name, share in SHARES.items()}


def crossing(curve: Curve, share: float) -> float | str:
    """The first n at which the curve falls below `share`, or why there is none."""
    if not curve:
        return f"the exposed share of {REFERENCE} was not measured"
    first, last = curve[0], curve[-1]
    if first[1] < share:
        return f"it is below already at n = {first[0]}, the smallest: {100 * first[1]:.3g} %"
    for (n, above), (next_n, below) in itertools.pairwise(curve):
        if below < share:  # and above is not, as all before it
            way = (_logit(above) - _logit(share)) / (_logit(above) - _logit(below))
            return math.exp(math.log(n) + way * (math.log(next_n) - math.log(n)))
    return f"it is still {100 * last[1]:.3g} % at n = {last[0]}, the largest"


def _logit(share: float) -> float:
    """Shares are in (0, 1): what communicates also computes. Kept from the ends, where a clock's step would decide."""
    kept = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(kept / (1 - kept))


def _critical(group: CellGroup, measured: Measured, points: Sequence[CannonPoint], share: float) -> CriticalN:
    known = [(point.n, point.exposed_ratio.value) for point in points if point.exposed_ratio]
    found = crossing(known, share)
    if isinstance(found, str):
        why = next((p.exposed_ratio_reason for p in points if not p.exposed_ratio), found) if not known else found
        return CriticalN(share=share, n=None, interval=None, interval_kind=None, level=None, launches=0, reason=why)
    each, missing = _by_launch(group, measured, [n for n, _ in known], share)
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


def _by_launch(group: CellGroup, measured: Measured, sizes: Sequence[int], share: float) -> tuple[list[float], int]:
    """The crossing of each round that measured every n, and how many rounds have none."""
    by_n = [rounds_of(measured, group, REFERENCE, n, "exposed_ratio") for n in sizes]
    rounds = sorted(set.intersection(*(set(one) for one in by_n)))
    found = [crossing([(n, one[r][1].centre_s) for n, one in zip(sizes, by_n, strict=True)], share) for r in rounds]
    values = [value for value in found if not isinstance(value, str)]
    return values, len(found) - len(values)
