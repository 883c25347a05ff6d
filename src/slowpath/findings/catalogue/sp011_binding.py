# SPDX-License-Identifier: Apache-2.0
"""SP011: ranks that share a processor, or are not bound to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import LAW_RATIO, Compared
from slowpath.findings.evidence.cpus import shared, wide
from slowpath.findings.evidence.differences import difference_law
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.shared_processors import ABOUT as SHARED
from slowpath.findings.evidence.shared_processors import shared_processors, witnessed
from slowpath.findings.rule import Leg, Observation, Rule


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of placements, whichever side is slower."""
    found = evidence.decided("placement", phase="steady")
    groups = grouped(found, lambda one: (one.slow_value, one.fast_value, *setting_key(one.slow, "placement")))
    clear = [group for group in groups if max(one.interval[0] for one in group if one.interval) >= LAW_RATIO]
    return [*shared_processors(evidence), *(_observation(evidence, group) for group in clear)]


def _observation(evidence: Evidence, group: Sequence[Compared]) -> Observation:
    slow, fast = group[0].slow_value, group[0].fast_value
    said = Said(f"A message between ranks placed '{slow}'", f"between ranks placed '{fast}'", f"placement {slow}")
    return observation(evidence, group, said, lambda g: difference_law(g, ("message_bytes",), evidence.minimum_effect))


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """The processors that the ranks were allowed to use, and how often something else took them away."""
    if seen.about == SHARED:
        return witnessed(seen)
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    allowed = [_observed(evidence, cell["placement"]) for cell in (slow, fast)]
    if not all(allowed):
        return Leg("missing", "the processors of the ranks were not recorded")
    one, other = (shared(ranks) for ranks in allowed)
    line = f"allowed processors: {_words(allowed[0])} where it is slow, {_words(allowed[1])} where it is not"
    if one and not other:
        return Leg("shown", "ranks share one processor where it is slow", (line,))
    switches = [witness.total(cell, seen.phase, "involuntary_switches") for cell in (slow, fast)]
    if wide(allowed[0]) and not wide(allowed[1]) and None not in switches and switches[0] > 2 * switches[1]:  # type: ignore[operator]
        more = f"{switches[0]:.0f} involuntary switches where it is slow, {switches[1]:.0f} where it is not"
        return Leg("shown", "unbound ranks are taken off their processors", (line, more))
    return Leg(
        "missing", "the allowed processors do not tell why: no two ranks share one on the slow side alone", (line,)
    )


def _observed(evidence: Evidence, placement: str) -> list[dict[str, Any]]:
    for one in evidence.run.get("placements") or ():
        if one["name"] == placement:
            return list(one.get("observed") or ())
    return []


def _words(ranks: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"rank {one['rank']} on {one['cpus_allowed']}" for one in ranks)


RULE = Rule(
    code="SP011",
    name="binding",
    title="Where ranks are placed changes how fast messages go",
    what="Ranks that share a processor take turns; ranks that are not bound are moved, and lose their caches.",
    shows="Short messages take several times as long under one placement as under another, often with wide scatter.",
    why="A rank that polls holds the processor that the other needs until the system takes it away, after "
    "milliseconds.",
    needs="The same messages under two placements. Explained when the allowed processors of two ranks are one "
    "and the same on the slow side alone, or unbound ranks are switched more often. Ranks that were to have a core "
    "each and share one need no second placement: what else was measured there is folded into this finding.",
    remedy="Bind each rank to a core of its own (mpiexec -bind-to core, srun --cpu-bind=cores).",
    false_alarms="Two cores that share a cache are faster than two that do not: a placement can be slower by distance.",
    sources=("docs/reference/launching.md", "MPI-4.1 section 11.6.2"),
    observe=observe,
    cause="Ranks share a processor, or are taken off theirs.",
    witnesses=witnesses,
    hypotheses=("ranks share a processor", "ranks are moved between processors", "the ranks are farther apart"),
    needs_law=False,
)
