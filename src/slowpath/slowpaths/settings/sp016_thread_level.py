# SPDX-License-Identifier: Apache-2.0
"""SP016: what MPI_THREAD_MULTIPLE costs every call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.laws import difference_law
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.findings.witness import NOT_COUNTED, calls, sides
from slowpath.slowpaths.remedies import THREAD_LEVEL_FUNNELED

VARIABLE = "SLOWPATH_THREAD_LEVEL"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of environments that differ in the thread level alone, the higher level being slower."""
    found = [
        slowdown for slowdown in facts.slowdowns("environment", phase="steady") if _higher_is_slower(facts, slowdown)
    ]
    groups = grouped(found, lambda one: (one.slow_value, one.fast_value, *place_key(one.slow, "environment")))
    return [_observation(facts, group) for group in groups]


def _higher_is_slower(facts: Facts, one: Slowdown) -> bool:
    slow, fast = (facts.variables(cell) for cell in (one.slow, one.fast))
    changed = {name for name, _ in set(slow.items()) ^ set(fast.items())}
    collective = one.slow.experiment == "coll"  # SP042 says which path it costs them
    return changed == {VARIABLE} and slow.get(VARIABLE) == "multiple" and not collective


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    lower = facts.variables(group[0].fast).get(VARIABLE, "funneled")
    wording = Wording("{size}messages under MPI_THREAD_MULTIPLE", f"under MPI_THREAD_{lower.upper()}", "thread level")
    return slowdown_observed(facts, group, wording, partial(difference_law, minimum_effect=facts.minimum_effect))


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Waits for a lock (futex), or yields, that the lower level does not have."""
    waits = [calls(cell, seen.phase, ("futex_wait", "sched_yield"), "calls_per_op") for cell in sides(facts, seen)]
    slow, fast = waits
    if slow is None or fast is None:
        return Support("missing", NOT_COUNTED)
    line = f"{slow:.3g} waits and yields for each message under the higher level, {fast:.3g} under the lower"
    if slow >= max(0.1, 2 * fast):
        return Support("shown", "the higher level waits for locks", (line,))
    return Support("missing", "no call waited for a lock: a free lock costs time without a call to count", (line,))


_LIBRARY_PATH = Rival(
    name="another path", cause="The library takes another path through its code, without a lock that waits."
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP016",
    name="thread level",
    title="MPI_THREAD_MULTIPLE makes each call slower",
    what="A library that several threads may call at once guards each call with locks, even with one thread.",
    needs="The same messages under MPI_THREAD_MULTIPLE and a lower level. Explained when counted waits for locks "
    "differ.",
    remedy="Ask MPI_Init_thread for MPI_THREAD_FUNNELED or SERIALIZED where one thread at a time calls MPI.",
    observe=observe,
    cause="Calls take locks under MPI_THREAD_MULTIPLE.",
    witnesses=witnesses,
    needs_law=False,
    kind="property",
    rivals=(_LIBRARY_PATH,),
    probes=("short messages",),
    remedies=(THREAD_LEVEL_FUNNELED,),
    removes_cause=(THREAD_LEVEL_FUNNELED,),
)
