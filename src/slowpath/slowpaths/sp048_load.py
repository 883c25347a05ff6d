# SPDX-License-Identifier: Apache-2.0
"""SP048: other processes take the cores of the ranks."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.machine import Others
from slowpath.findings.facts import WITHOUT_USER, Facts
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.findings.witness import total
from slowpath.slowpaths.remedies import page_of

FEWEST_SWITCHES = 5  # by which ranks lose their processor in cells of milliseconds: a quiet machine has none or two
SWITCHES = "involuntary_switches"
LEAST_CORES = 0.5  # that others keep busy
MISSING_CORES = 0.25  # that ranks lack, at least


def is_loaded(others: Others | None, ranks: int) -> bool:
    """Whether what others take leaves less than a core for each rank."""
    if others is None or others.cores < LEAST_CORES:
        return False
    return ranks - (others.processors - others.cores) > MISSING_CORES


def observe(facts: Facts) -> Sequence[Observation]:
    """Cells whose ranks lost their processors while others kept cores busy that the ranks need."""
    others = facts.others
    ranks = max((len(placement.observed) for placement in facts.run.placements), default=0)
    if others is None or ranks > others.processors or not is_loaded(others, ranks):
        return []
    clean = [cell for cell in facts.every_cell if cell.environment == WITHOUT_USER]  # settings may start threads
    cells = clean or facts.every_cell
    # Not counted where they take processors from each other.
    apart = [cell for cell in cells if (seen := facts.processors(cell)) is None or not seen.shared]
    lost = [(cell, count) for cell in apart if (count := total(cell, "steady", SWITCHES)) is not None]
    if sum(count for _, count in lost) < FEWEST_SWITCHES:
        return []
    names = ", ".join(f"{process.name} (process {process.pid}) {process.cores:.1f}" for process in others.processes)
    numbers = tuple(cell.cell for cell, _ in lost)
    free = max(0.0, others.processors - others.cores)
    times = sum(count for _, count in lost)
    text = (
        f"Other processes keep {others.cores:.1f} of {others.processors} cores "
        f"busy{f' ({names})' if names else ''} and leave {free:.1f} for {ranks} ranks, which lost their processor "
        f"{times:,.0f} times."
    )
    return [
        Observation(
            about="load",
            place=facts.place([cell for cell, _ in lost]),
            text=text,
            metric=SWITCHES,
            phase="steady",
            ratio=None,
            interval=None,
            excess_s=None,
            affects_default=True,
            cells=numbers,
            evidence=(
                f"{others.cores:.2f} of {others.processors} cores busy over {others.seconds:g} s",
                f"ranks lost their processor {times:.0f} times in {len(lost)} cells",
            ),
            slow_cells=numbers,
        )
    ]


def witnesses(_: Facts, seen: Observation) -> Support:
    """Both counts come from the kernel: what others took, and how often ranks lost their processor."""
    return Support("shown", "busy cores and lost processors", seen.evidence)


SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    needs_law=False,
    kind="fault",
    refinements=("state",),
    **page_of("SP048"),
)
