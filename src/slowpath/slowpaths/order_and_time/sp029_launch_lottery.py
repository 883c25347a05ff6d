# SPDX-License-Identifier: Apache-2.0
"""SP029: launches of two kinds."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_ratio
from slowpath.findings.evidence.evidence import Evidence, LaunchLottery
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.words import ratio_words, sizes, times_words, where_words
from slowpath.findings.observation import Observation
from slowpath.findings.slow_path import SlowPath


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Launches that are slow from their begin to their end, between others that are not."""
    return [_observation(evidence, one) for one in evidence.launch_lotteries()]


def _observation(evidence: Evidence, one: LaunchLottery) -> Observation:
    size = sizes([one.slow])
    return observed(
        one,
        about="launches of two kinds",
        place=evidence.place(one.cells, where_words(one.cells)),
        text=f"{one.slow_launches} of {one.launches} launches are slow all their life: {size} messages take "
        f"{ratio_words(one.ratio)} as long as in the others: {times_words(one)}.".replace("  ", " "),
        affects_default=evidence.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        slow_cells=tuple(cell.cell for cell in one.cells),
        fast_cells=(),
        evidence=(
            f"the same launches are slow in {len(one.cells)} of {one.asked} cells",
            f"fixed work without MPI takes {format_ratio(one.work_ratio, 0.01)} as long in them as in the others",
            "slow launches stand between the others: so few changes have a chance of "
            f"{one.order_p:.2g} in random order",
        ),
    )


SLOW_PATH = SlowPath(
    code="SP029",
    name="launch lottery",
    title="Launches of two kinds: some are slow all their life",
    what="The same job is quick in one launch and slow in the next. Whoever measures once sees one of the two, and "
    "means over launches describe neither.",
    shows="Medians of launches fall into two groups with nothing between them, the same launches in several cells.",
    why="What is drawn once at the start stays: where pages and buffers lie (ASLR, huge pages, a memory node), on "
    "which cores and how far apart ranks run, which transport or rail is chosen.",
    needs="12 launches or more, 3 of each kind, two cells that fall apart in the same launches by 1.1 and more; fixed "
    "work without MPI in the same launches that differs by less than half as much; and an order of the two kinds that "
    "no slow phase of the machine makes.",
    remedy="Bind ranks, reserve huge pages, set the transport by name; then start as many launches again.",
    false_alarms="A machine that is shared is slow for minutes: its launches follow each other, and fixed work is slow "
    "in them too.",
    sources=("docs/internals/statistics.md", "docs/internals/yardsticks.md"),
    observe=observe,
    cause="What is drawn when a launch starts decides how fast it is.",
    hypotheses=(
        "where buffers and pages lie: ASLR, huge pages, the memory node",
        "where the ranks run",
        "which transport or rail was chosen",
    ),
    needs_law=False,
    kind="fault",
    probes=("long series",),
    depends=frozenset({"launch"}),
    refinements=("launches",),
    picture="launches",
)
