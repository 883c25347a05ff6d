# SPDX-License-Identifier: Apache-2.0
"""SP022: one rank that is slower than all others."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.ranks import slow_peers
from slowpath.findings.rule import Leg, Observation, Rule


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Ranks to which messages take clearly longer than to the others."""
    return slow_peers(evidence)


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Its processor was taken away, which the other ranks' were not."""
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    switches = [witness.total(cell, seen.phase, "involuntary_switches") for cell in (slow, fast)]
    if switches[0] is None or switches[1] is None:
        return Leg("missing", "no witness of the ranks was recorded")
    line = f"{switches[0]:.0f} involuntary switches with the slow rank, {switches[1]:.0f} with another"
    if switches[0] > 2 * switches[1] + 2:
        return Leg("shown", "something else takes the slow rank's processor", (line,))
    return Leg(
        "missing", "the slow rank keeps its processor; frequency, memory and distance were not recorded", (line,)
    )


RULE = Rule(
    code="SP022",
    name="slow rank",
    title="One rank is slower than the others",
    what="A rank on a busy, throttled or far processor holds up everyone who waits for it.",
    shows="Messages to one rank take clearly longer than the same messages to all others, in every launch.",
    why="Another process on its core, a lower clock, memory of another NUMA node, or a bad link.",
    needs="The same message from rank 0 to each other rank (parameter peer), three of them or more. Explained "
    "when its processor was taken away more often.",
    remedy="Bind ranks to cores of their own, leave a core for the system, or leave the node out.",
    false_alarms="A rank on another socket or node is slower by distance: compare ranks at equal distance.",
    sources=("docs/reference/engine-interface.md, peer", "docs/reference/launching.md"),
    observe=observe,
    cause="Something else runs on the slow rank's processor.",
    witnesses=witnesses,
    hypotheses=("another process runs on its processor", "its processor is slower", "it is farther away"),
    out_of_reach="With two ranks there is nobody to compare with.",
    needs_law=False,
)
