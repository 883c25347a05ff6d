# SPDX-License-Identifier: Apache-2.0
"""SP017: messages that do not move while the program computes."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Compared
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.overlap import little_overlap
from slowpath.findings.rule import Leg, Observation, Rule
from slowpath.findings.words import sizes


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Messages that hide little of their time behind a computation, and such that calls of MPI_Test help."""
    found = [one for one in evidence.decided("progress", phase="steady") if _test_helps(one)]
    groups = grouped(found, lambda one: setting_key(one.slow))
    said = Said("A message behind a computation without MPI_Test", "with MPI_Test in between", "progress")
    return [*little_overlap(evidence), *(observation(evidence, group, said) for group in groups)]


def _test_helps(one: Compared) -> bool:
    return one.slow_value == "none" and one.fast_value == "test"


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """The same message with calls of MPI_Test in the computation moves: then progress was what it lacked."""
    slow = evidence.cells[seen.slow_cells[0]]
    for one in evidence.decided("progress", phase="steady"):
        if _test_helps(one) and one.slow is slow:
            line = f"with MPI_Test in the computation it takes {1 / one.ratio:.2f} times as long, at {sizes([slow])}"
            return Leg("shown", "calls into the library make the message move", (line,))
    return Leg("missing", "the same with MPI_Test in the computation (progress=test) was not found to be faster")


RULE = Rule(
    code="SP017",
    name="missing progress",
    title="Messages do not move while the program computes",
    what="A non-blocking message can move on its own only if something makes progress while the program computes.",
    shows="MPI_Isend, a computation as long as the message, MPI_Wait: together they take as long as one after "
    "the other.",
    why="Most libraries make progress inside MPI calls only. A long message needs an answer from the other "
    "side first, and its copy is done by a processor that computes.",
    needs="The message alone, the computation alone and both at once (pattern=overlap). Explained when calls of "
    "MPI_Test in the computation let the message move.",
    remedy="Call MPI_Test now and then, or turn on the library's progress thread if a core is free for it.",
    false_alarms="A copy that the same processor must do can't be hidden: at full memory bandwidth nothing overlaps.",
    sources=("MPI-4.1 section 3.7", "docs/reference/metrics.md"),
    observe=observe,
    cause="The library moves messages only inside MPI calls.",
    witnesses=witnesses,
    needs_law=False,
)
