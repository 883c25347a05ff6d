# SPDX-License-Identifier: Apache-2.0
"""SP014: asking for each message whether its buffer is GPU memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts, Slowdown, parameter
from slowpath.findings.laws import difference_law
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath
from slowpath.mpi.libraries import GPU_VARIABLES


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of environments that differ in such a variable alone, for host memory."""
    found = [slowdown for slowdown in facts.slowdowns("environment", phase="steady") if _about(facts, slowdown)]
    groups = grouped(found, lambda one: (one.slow_value, one.fast_value, *place_key(one.slow, "environment")))
    return [_observation(facts, group) for group in groups]


def _about(facts: Facts, one: Slowdown) -> bool:
    slow, fast = (set(facts.variables(cell).items()) for cell in (one.slow, one.fast))
    changed = {name for name, _ in slow ^ fast}
    return bool(changed) and changed <= GPU_VARIABLES and parameter(one.slow, "memory", "host") == "host"


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    top = group[0]
    names = sorted({n for cell in (top.slow, top.fast) for n in facts.variables(cell) if n in GPU_VARIABLES})
    wording = Wording(
        f"{{size}}host messages in environment '{top.slow_value}'", f"in '{top.fast_value}'", " ".join(names)
    )
    return slowdown_observed(facts, group, wording, partial(difference_law, minimum_effect=facts.minimum_effect))


_OTHER_TRANSPORTS = Rival(name="other transports", cause="GPU support brings other transports with it.")

SLOW_PATH: SlowPath = SlowPath(
    code="SP014",
    name="memory-type detection",
    title="Host messages pay for the search for GPU memory",
    what="A library built for GPUs asks the driver about each buffer, host memory included, for 0.1 to 1 us.",
    needs="Host messages of 4 lengths or more with GPU support, or its cache, on and off: law 'constant' for the "
    "difference.",
    remedy="Turn GPU support off for programs without GPU buffers (docs/reference/remedies.md), or update library "
    "and driver.",
    observe=observe,
    cause="The library asks the GPU's driver about each host buffer.",
    hypotheses=(
        "the library asks the GPU's driver about each buffer",
        "GPU support brings other transports with it",
    ),
    kind="property",
    rivals=(_OTHER_TRANSPORTS,),
)
