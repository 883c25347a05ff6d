# SPDX-License-Identifier: Apache-2.0
"""SP046: more ranks than cores, and ranks that wait do not give theirs away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, is_switched_out
from slowpath.findings.observed import Wording, grouped, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath, Support

YIELDS = "yield_when_idle"  # of mpi.settings


_WORDING = Wording(
    "collectives of more ranks than cores",
    "with ranks that give up their core while they wait",
    "more ranks than cores",
)


def observe(facts: Facts) -> Sequence[Observation]:
    """Collectives that are slower than with waits that give the core away, where ranks share cores."""
    found = [
        slowdown
        for slowdown in facts.slowdowns("environment", phase="steady")
        if slowdown.slow.experiment == "coll"
        and facts.setting(slowdown.fast) == YIELDS
        and slowdown.ratio.least >= CLEAR_RATIO
        and _shared(facts, slowdown)
    ]
    groups = grouped(found, lambda one: (one.slow.mpi, one.slow.placement))
    return [_observation(facts, group) for group in groups]


def _shared(facts: Facts, one: Slowdown) -> bool:
    seen = facts.processors(one.slow)
    return seen is not None and seen.shared


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    made = slowdown_observed(facts, group, _WORDING)
    processors = facts.processors(group[0].slow)
    about = f"allowed processors: {processors.words}" if processors else ""
    return replace(made, exports=facts.variables(group[0].fast), evidence=(*made.evidence, about))


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
