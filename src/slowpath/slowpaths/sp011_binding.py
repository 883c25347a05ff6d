# SPDX-License-Identifier: Apache-2.0
"""SP011: ranks that share a processor, or are not bound to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.units import format_time
from slowpath.findings.facts import LAW_RATIO, OF_MESSAGES, Facts, Slowdown, crowded
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.findings.witness import sides, total
from slowpath.mpi.launchers import INHERITED
from slowpath.slowpaths.remedies import (
    BIND_TO_CORES,
    PROGRAM_BIND_CORES,
    PROGRAM_BIND_NONE,
    PROGRAM_YIELD_WHEN_IDLE,
)


@dataclass(frozen=True)
class SharedPlacement:
    """A placement that was to give each rank a core, and ranks share one. metric, fastest_s: of its fastest message."""

    name: str
    ranks: str
    metric: str
    fastest: CellResult
    fastest_s: float
    cells: tuple[CellResult, ...]


def shared_placements(facts: Facts) -> list[SharedPlacement]:
    """Of the crowded placements those that were to give a core to each rank and in which messages were timed."""
    found = []
    for place in crowded(facts.run.placements):
        timed = [
            (value, metric, cell)
            for cell in facts.every_cell
            if cell.placement == place.name and (fact := _speaking(cell)) is not None
            for metric, value in [fact]
        ]
        if place.bind == "core" and timed:
            value, metric, fastest = min(timed, key=lambda one: one[0])
            ranks = ", ".join(f"rank {one.rank} on {one.cpus_allowed} of {one.host}" for one in place.observed)
            every = tuple(cell for _, _, cell in timed)
            found.append(SharedPlacement(place.name, ranks, metric, fastest, value, every))
    return found


def _speaking(cell: CellResult) -> tuple[str, float] | None:
    """The metric that speaks for a cell in which messages were timed, and its value, seconds."""
    for name in OF_MESSAGES:
        if (estimate := cell.estimate(name, "steady")) is not None:
            return name, estimate.value
    return None


SHARED = "ranks share a processor"

_SWITCHES = "involuntary_switches"


def observe(facts: Facts) -> Sequence[Observation]:
    """Ranks that were to have a core each and share one; and contrasts of placements, whichever side is slower."""
    unasked = {placement.name for placement in facts.run.placements if placement.bind == INHERITED}
    found = [
        slowdown for slowdown in facts.slowdowns("placement", phase="steady") if slowdown.slow.placement not in unasked
    ]
    groups = grouped(found, lambda one: (one.slow_value, one.fast_value, *place_key(one.slow, "placement")))
    clear = [group for group in groups if max(slowdown.ratio.least for slowdown in group) >= LAW_RATIO]
    shared = [_shared(facts, placement) for placement in shared_placements(facts)]
    return [*shared, *(_observation(facts, group) for group in clear)]


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    slow, fast = group[0].slow_value, group[0].fast_value
    wording = Wording(f"{{size}}messages in placement '{slow}'", f"in '{fast}'", f"placement {slow}")
    return slowdown_observed(facts, group, wording)


def _shared(facts: Facts, one: SharedPlacement) -> Observation:
    taken = [count for cell in one.cells if (count := total(cell, "steady", _SWITCHES))]
    lines = [f"allowed processors: {one.ranks}"]
    if taken:
        lines.append(f"ranks lost their processor {sum(taken):.0f} times in {len(taken)} cells")
    numbers = tuple(cell.cell for cell in one.cells)
    return Observation(
        about=SHARED,
        place=facts.place([one.fastest], [f"placement {one.name}"]),
        text=f"Each rank should have its own core, but they share one ({one.ranks}) and take turns, so no other "
        f"measurement under this placement is valid. The fastest message takes {format_time(one.fastest_s)}.",
        metric=one.metric,
        phase="steady",
        ratio=None,
        interval=None,
        excess_s=None,
        affects_default=True,
        cells=numbers,
        evidence=tuple(lines),
        slow_cells=numbers,
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The processors that the ranks were allowed to use, and how often something else took them away."""
    if seen.about == SHARED:
        return Support("shown", "ranks that should have a core each share one", seen.evidence)
    slow, fast = sides(facts, seen)
    one, other = (facts.processors(cell) for cell in (slow, fast))
    if one is None or other is None:
        return Support("missing", "the processors of the ranks were not recorded")
    line = f"allowed processors: {one.words} where it is slow, {other.words} where it is not"
    if one.shared and not other.shared:
        return Support("shown", "ranks share one processor where it is slow", (line,))
    more, fewer = (total(cell, seen.phase, _SWITCHES) for cell in (slow, fast))
    if one.movable and not other.movable and more is not None and fewer is not None and more > 2 * fewer:
        switches = f"{more:.0f} involuntary switches where it is slow, {fewer:.0f} where it is not"
        return Support("shown", "unbound ranks are taken off their processors", (line, switches))
    return Support(
        "missing", "the allowed processors do not explain it: ranks do not share one on the slow side only", (line,)
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP011",
    name="binding",
    title="Message speed depends on where ranks are placed",
    what="Ranks that share a processor take turns; ranks that are not bound migrate, and lose their caches.",
    needs="The same messages under two placements. Explained when two ranks may only use the same processor on the "
    "slow side alone, or unbound ranks are switched more often.",
    remedy="Bind each rank to a core of its own (mpiexec -bind-to core, srun --cpu-bind=cores).",
    observe=observe,
    cause="Ranks share a processor, or are taken off theirs.",
    witnesses=witnesses,
    hypotheses=("the ranks are farther apart: they share no cache, or no socket",),
    needs_law=False,
    spoils=SHARED,
    kind="fault",
    probes=("binding",),
    remedies=(BIND_TO_CORES,),
    program_remedies=(
        PROGRAM_YIELD_WHEN_IDLE,
        PROGRAM_BIND_CORES,
        PROGRAM_BIND_NONE,
    ),
)
