# SPDX-License-Identifier: Apache-2.0
"""SP046: more ranks than cores, and ranks that wait do not give theirs away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, is_switched_out
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.slowpaths.collectives.under import contrast_observed, groups, of_collectives

YIELDS = "yield_when_idle"  # of mpi.settings


def observe(facts: Facts) -> Sequence[Observation]:
    """Collectives that are slower than with waits that give the core away, where ranks share cores."""
    found = [
        collective
        for collective in of_collectives(facts, "environment")
        if facts.setting(collective.fast) == YIELDS
        and collective.ratio.least >= CLEAR_RATIO
        and _shared(facts, collective)
    ]
    return [_observation(facts, group) for group in groups(found)]


def _shared(facts: Facts, one: Slowdown) -> bool:
    seen = facts.processors(one.slow)
    return seen is not None and seen.shared


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    top = max(group, key=lambda one: one.ratio.least)
    processors = facts.processors(top.slow)
    words = ("on more ranks than cores", "with ranks that give up their core while they wait")
    made = contrast_observed(facts, group, "more ranks than cores", words)
    about = f"allowed processors: {processors.words}" if processors else ""
    return replace(made, exports=facts.variables(top.fast), evidence=(*made.evidence, about))


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Ranks that are taken off their core while they wait, where it is slow alone."""
    slow, fast = (facts.cells[cells[0]] for cells in (seen.slow_cells, seen.fast_cells))
    if not slow.witness or not fast.witness:
        return Support("missing", "how often ranks lost their core was not recorded")
    if is_switched_out(slow) and not is_switched_out(fast):
        line = (
            "where it is slow, ranks lost their core in more than one call of 20, but not when waiting ranks give it up"
        )
        return Support("shown", "the scheduler must take the core from waiting ranks", (line,), "waiting")
    return Support("missing", "lost cores do not distinguish the two")


CORES = (Rival(name="slow cores", cause="The cores are slow, or others use them."),)

SLOW_PATH: SlowPath = SlowPath(
    code="SP046",
    name="more ranks than cores",
    title="With more ranks than cores, waiting ranks block the cores that others need",
    what="A rank that waits by spinning holds its core until the scheduler takes it away, some milliseconds later.",
    needs="The same collective with and without the library's setting for waits that yield, on more ranks than cores.",
    remedy="One core for each rank; else let ranks that wait give theirs away (docs/reference/launching.md).",
    observe=observe,
    cause="Ranks that wait keep the core that others need.",
    witnesses=witnesses,
    needs_law=False,
    kind="fault",
    rivals=CORES,
    probes=("collectives: waits",),
)
