# SPDX-License-Identifier: Apache-2.0
"""SP032: messages after a time without any."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_time
from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import Observation, SlowPath
from slowpath.slowpaths.remedies import PROGRAM_YIELD_WHEN_IDLE

IDLE = "idle_s"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts between messages that follow one another and such that come after a pause."""
    return alone_or_screened(facts, (IDLE,), _wording)


def _wording(one: Slowdown | Screened) -> Wording:
    slow, fast = (_after(value) for value in levels(one))
    return Wording(f"{{size}}messages {slow}", f"those {fast}", "idle before a message", affects_default=True)


def _after(value: str) -> str:
    return f"after {format_time(float(value))} without one" if float(value) > 0 else "right after a barrier"


SLOW_PATH: SlowPath = SlowPath(
    code="SP032",
    name="idle before a message",
    title="The first message after a pause is slower",
    what="After a pause caches have lost the library's code and data, a core or a link sleeps, or a helper thread "
    "polls less often.",
    needs="A screening design, then the pause by itself, of 0.1 to 5 ms, spun and slept, over three lengths.",
    remedy="Keep the library awake: poll now and then (MPI_Iprobe) while you compute, or bar deep power states of "
    "cores.",
    observe=observe,
    cause="What the library or the machine keeps ready for a message is lost in a pause.",
    hypotheses=(
        "the library's code and data have left the caches",
        "a core, a link or a device goes to sleep",
        "the library itself does less, or releases resources, when nobody calls it",
    ),
    needs_law=False,
    kind="property",
    probes=("screening", "screening of short messages", "screening of long messages"),
    program_remedies=(PROGRAM_YIELD_WHEN_IDLE,),
    factors=("idle_s",),
)
