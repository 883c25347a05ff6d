# SPDX-License-Identifier: Apache-2.0
"""SP029: launches of two kinds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.study_results import LaunchKinds
from slowpath.core.units import format_ratio
from slowpath.findings.facts import Difference, Facts, Ratio, ratio_words, sizes, times_words, where_words
from slowpath.findings.slow_path import Observation, SlowPath, observed


@dataclass(frozen=True, kw_only=True)
class LaunchLottery(Difference):
    """slow_launches of `launches` are slow, in `cells` of `asked`. work_ratio: fixed work, slow launches over others.

    order_p: chance of so few changes between the two kinds in the order of time.
    """

    slow_launches: int
    launches: int
    work_ratio: float
    order_p: float
    cells: tuple[CellResult, ...]
    asked: int


SHARE_OF_MACHINE = 0.5  # of the ratio's logarithm that fixed work may show

MOST_OF_MACHINE = 1.25  # of fixed work, slow launches over others, whatever messages do

# The slow launches are so many times slower, by the low end: a fault before its cause is known. None of 150 diagnoses
# of healthy machines showed launches of two kinds.
FAR = 3.0

FEW_CHANGES = 0.02  # chance below which the order is that of phases


def launch_lotteries(
    cells: Mapping[int, CellResult], found: Iterable[LaunchKinds], minimum_effect: float
) -> list[LaunchLottery]:
    """Those beyond the minimum effect."""
    made = (_lottery(cells, launch_kinds, minimum_effect) for launch_kinds in found)
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


def observe(facts: Facts) -> Sequence[Observation]:
    """Launches that are slow from their begin to their end, between others that are not."""
    return [
        _observation(facts, lottery)
        for lottery in launch_lotteries(facts.cells, facts.launch_kinds, facts.minimum_effect)
    ]


def _observation(facts: Facts, one: LaunchLottery) -> Observation:
    size = sizes([one.slow])
    return observed(
        one,
        about="launches of two kinds",
        place=facts.place(one.cells, where_words(one.cells)),
        text=f"{one.slow_launches} of {one.launches} launches are slow from start to end: {size} messages are "
        f"{ratio_words(one.ratio)} slower than in the others: {times_words(one)}.".replace("  ", " "),
        affects_default=facts.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        slow_cells=tuple(cell.cell for cell in one.cells),
        fast_cells=(),
        is_sure_fault=(one.ratio.interval or (0.0,))[0] >= FAR,
        evidence=(
            f"the same launches are slow in {len(one.cells)} of {one.asked} cells",
            f"fixed work without MPI takes {format_ratio(one.work_ratio, 0.01)} as long in them as in the others",
            f"slow launches are spread among the others: so few changes have a chance of {one.order_p:.2g} in "
            "random order",
        ),
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP029",
    name="launch lottery",
    title="Some launches are slow from start to end",
    what="Medians of launches fall into two groups: what is drawn once at the start stays, as where pages lie, "
    "which cores ranks run on, which transport is chosen.",
    needs="12 launches or more, 3 of each kind, two cells that fall apart in the same launches by 1.1 and more, "
    "while fixed work without MPI does not.",
    remedy="Bind ranks, reserve huge pages, set the transport by name; then start as many launches again.",
    observe=observe,
    cause="What is drawn when a launch starts decides how fast it is.",
    hypotheses=(
        "where buffers and pages are: ASLR, huge pages, the memory node",
        "where the ranks run",
        "which transport or rail was chosen",
    ),
    needs_law=False,
    kind="fault",
    needs_cause=True,
    probes=("long series",),
    refinements=("launches",),
    picture="launches",
)
