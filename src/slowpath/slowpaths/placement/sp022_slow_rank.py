# SPDX-License-Identifier: Apache-2.0
"""SP022: one rank that is slower than all others."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence, SlowPeer
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.witness import sides, total
from slowpath.findings.evidence.words import memory, parameter, ratio_words, sizes, times_words
from slowpath.findings.observation import Observation, Support
from slowpath.findings.rivals.judges import by_witness
from slowpath.findings.rivals.kinds import claim
from slowpath.findings.rivals.rival import RivalKind
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.placement.remedies import (
    BIND_TO_CORES,
    PROGRAM_BIND_CORES,
    PROGRAM_BIND_NONE,
    PROGRAM_YIELD_WHEN_IDLE,
)


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Ranks to which messages take clearly longer than to the others."""
    return [_observation(evidence, one) for one in evidence.slow_peers()]


def _observation(evidence: Evidence, one: SlowPeer) -> Observation:
    rank, length = parameter(one.slow, "peer"), sizes([one.slow])
    return observed(
        one,
        about=f"rank {rank}",
        place=evidence.place([one.slow], [f"rank {rank}", f"{memory([one.slow])} memory", f"messages of {length}"]),
        text=f"{length} messages from rank 0 to rank {rank} take {ratio_words(one.ratio)} as long as to the others: "
        f"{times_words(one)}.",
        affects_default=evidence.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        evidence=(f"{ratio_words(one.ratio)} of the median of {len(one.cells) - 1} other ranks, launch by launch",),
    )


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """Its processor was taken away, which the other ranks' were not."""
    slow, fast = (total(cell, seen.phase, "involuntary_switches") for cell in sides(evidence, seen))
    if slow is None or fast is None:
        return Support("missing", "no witness of the ranks was recorded")
    line = f"{slow:.0f} involuntary switches with the slow rank, {fast:.0f} with another"
    if slow > 2 * fast + 2:
        return Support("shown", "something else takes the slow rank's processor", (line,))
    return Support(
        "missing", "the slow rank keeps its processor; frequency, memory and distance were not recorded", (line,)
    )


_FAR_RANK = RivalKind(
    "distance or clock",
    "The slow rank's processor is farther away, or slower.",
    claim("path"),
    "involuntary switches of the slow rank against another one",
    by_witness("the slow rank loses its processor more than twice as often as another one"),
    hypotheses=("its processor is slower", "it is farther away"),
)

SLOW_PATH = SlowPath(
    code="SP022",
    name="slow rank",
    title="One rank is slower than the others",
    what="A rank on a busy, throttled or distant processor holds up everyone who waits for it.",
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
    kind="fault",
    claim=claim("waiting", "nothing"),
    rivals=(_FAR_RANK,),
    remedies=(BIND_TO_CORES,),
    program_remedies=(
        PROGRAM_YIELD_WHEN_IDLE,
        PROGRAM_BIND_CORES,
        PROGRAM_BIND_NONE,
    ),
    depends=frozenset({"rank"}),
)
