# SPDX-License-Identifier: Apache-2.0
"""SP016: what MPI_THREAD_MULTIPLE costs every call."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Compared
from slowpath.findings.evidence.differences import difference_law
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.rule import Leg, Observation, Rule

VARIABLE = "SLOWPATH_THREAD_LEVEL"


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of environments that differ in the thread level alone, the higher level being slower."""
    found = [one for one in evidence.decided("environment", phase="steady") if _higher_is_slower(evidence, one)]
    groups = grouped(found, lambda one: (one.slow_value, one.fast_value, *setting_key(one.slow, "environment")))
    return [_observation(evidence, group) for group in groups]


def _higher_is_slower(evidence: Evidence, one: Compared) -> bool:
    slow, fast = (evidence.variables(cell) for cell in (one.slow, one.fast))
    changed = {name for name, _ in set(slow.items()) ^ set(fast.items())}
    return changed == {VARIABLE} and slow.get(VARIABLE) == "multiple"


def _observation(evidence: Evidence, group: Sequence[Compared]) -> Observation:
    lower = evidence.variables(group[0].fast).get(VARIABLE, "funneled")
    said = Said("A message under MPI_THREAD_MULTIPLE", f"under MPI_THREAD_{lower.upper()}", "thread level", usual=None)
    return observation(evidence, group, said, lambda g: difference_law(g, ("message_bytes",), evidence.minimum_effect))


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Waits for a lock (futex), or yields, that the lower level does not have."""
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    names = ("futex_wait", "sched_yield")
    counts = [witness.calls(cell, seen.phase, names, "calls_per_op") for cell in (slow, fast)]
    if counts[0] is None or counts[1] is None:
        return Leg("missing", "calls were not counted; needs a launch with witness = true")
    line = f"{counts[0]:.3g} waits and yields for each message under the higher level, {counts[1]:.3g} under the lower"
    if counts[0] >= max(0.1, 2 * counts[1]):
        return Leg("shown", "the higher level waits for locks", (line,))
    return Leg("missing", "no lock was waited for: a lock that is free costs time without a call to count", (line,))


RULE = Rule(
    code="SP016",
    name="thread level",
    title="MPI_THREAD_MULTIPLE makes each call slower",
    what="A library that may be called by several threads at once guards its calls with locks.",
    shows="Short messages are slower by the same time each under MPI_THREAD_MULTIPLE, even with one thread.",
    why="Each call takes and gives back a lock, and may take a more careful path through the library.",
    needs="The same messages under MPI_THREAD_MULTIPLE and a lower level. Explained when counted waits for "
    "locks differ; a free lock leaves no trace.",
    remedy="Ask MPI_Init_thread for MPI_THREAD_FUNNELED or SERIALIZED where one thread at a time calls MPI.",
    false_alarms="Some libraries grant less than was asked for: then both sides are the same.",
    sources=("MPI-4.1 section 11.6.2", "docs/reference/engine-interface.md"),
    observe=observe,
    cause="Calls take locks under MPI_THREAD_MULTIPLE.",
    witnesses=witnesses,
    needs_law=False,
)
