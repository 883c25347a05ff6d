# SPDX-License-Identifier: Apache-2.0
"""SP011: placements of ranks of which one is slower."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import LAW_RATIO, Facts, Slowdown
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.findings.witness import sides, total
from slowpath.mpi.launchers import INHERITED
from slowpath.slowpaths.remedies import (
    BIND_TO_CORES,
    PROGRAM_BIND_CORES,
    PROGRAM_BIND_NONE,
    PROGRAM_YIELD_WHEN_IDLE,
    page_of,
)

_SWITCHES = "involuntary_switches"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of placements, whichever side is slower."""
    unasked = {placement.name for placement in facts.run.placements if placement.bind == INHERITED}
    slowdowns = [
        slowdown for slowdown in facts.slowdowns("placement", phase="steady") if slowdown.slow.placement not in unasked
    ]
    groups = grouped(slowdowns, lambda pair: (pair.slow_value, pair.fast_value, *place_key(pair.slow, "placement")))
    clear = [group for group in groups if max(slowdown.ratio.least for slowdown in group) >= LAW_RATIO]
    return [_observation(facts, group) for group in clear]


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    slow, fast = group[0].slow_value, group[0].fast_value
    wording = Wording(f"{{size}}messages in placement '{slow}'", f"in '{fast}'", f"placement {slow}")
    return slowdown_observed(facts, group, wording)


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The processors that the ranks were allowed to use, and how often something else took them away."""
    slow, fast = sides(facts, seen)
    allowed, other = (facts.processors(cell) for cell in (slow, fast))
    if allowed is None or other is None:
        return Support("missing")
    line = f"allowed processors: {allowed.words}, fast side: {other.words}"
    if allowed.shared and not other.shared:
        return Support("shown", "ranks share a processor", (line,))
    more, fewer = (total(cell, seen.phase, _SWITCHES) for cell in (slow, fast))
    if allowed.movable and not other.movable and more is not None and fewer is not None and more > 2 * fewer:
        switches = f"{more:.0f} involuntary switches, fast side: {fewer:.0f}"
        return Support("shown", "the kernel moves unbound ranks", (line, switches))
    return Support("missing", evidence=(line,))


SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    needs_law=False,
    kind="fault",
    probes=("binding",),
    remedies=(BIND_TO_CORES,),
    program_remedies=(
        PROGRAM_YIELD_WHEN_IDLE,
        PROGRAM_BIND_CORES,
        PROGRAM_BIND_NONE,
    ),
    **page_of("SP011"),
)
