# SPDX-License-Identifier: Apache-2.0
"""Two kinds of launches, distinguished from a machine that is slow for a while. Pure.

A slow phase of the machine makes few changes between the kinds in the order of time, and slows fixed work without MPI
as well. Where the record has no fixed work, nothing is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from slowpath.core.cell_results import CellResult
from slowpath.core.shape_results import LaunchKinds
from slowpath.findings.evidence.evidence import LaunchLottery, Ratio

SHARE_OF_MACHINE = 0.5  # of the ratio's logarithm that fixed work may show
MOST_OF_MACHINE = 1.25  # of fixed work, slow launches over others, whatever messages do
FEW_CHANGES = 0.02  # chance below which the order is that of phases


def launch_lotteries(
    cells: Mapping[int, CellResult], found: Iterable[LaunchKinds], minimum_effect: float
) -> list[LaunchLottery]:
    """Those beyond the minimum effect."""
    made = (_lottery(cells, one, minimum_effect) for one in found)
    return [one for one in made if one is not None and one.ratio.beyond]


def _lottery(cells: Mapping[int, CellResult], one: LaunchKinds, minimum_effect: float) -> LaunchLottery | None:
    top, work = one.cells[0], one.fixed_work_ratio
    if work is None or one.order_p <= FEW_CHANGES:
        return None
    if abs(math.log(work)) > min(SHARE_OF_MACHINE * math.log(top.ratio), math.log(MOST_OF_MACHINE)):
        return None
    least = top.interval[0] if top.interval else 0.0
    return LaunchLottery(
        slow=cells[top.cell],
        fast=cells[top.cell],
        metric=top.metric,
        slow_s=top.slow_s,
        fast_s=top.fast_s,
        ratio=Ratio(top.ratio, top.interval, least > 1 + minimum_effect),
        slow_launches=sum(one.slow),
        launches=len(one.launches),
        work_ratio=work,
        order_p=one.order_p,
        cells=tuple(cells[times.cell] for times in one.cells),
        asked=one.asked,
    )
