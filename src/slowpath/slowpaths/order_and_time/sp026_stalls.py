# SPDX-License-Identifier: Apache-2.0
"""SP026: messages that stall, one in so many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import Observation, SlowPath
from slowpath.slowpaths.order_and_time.periods import MOST_ALTERNATING, periodic_observed, periods

# The mean message is so many times slower, by the low end: a fault before its cause is known. On healthy machines the
# largest low end is 1.4 (Open MPI 5.0.11, two diagnoses of 169).
FAR = 3.0


def observe(facts: Facts) -> Sequence[Observation]:
    """Slow messages at equal distances of more messages than those of an alternation."""
    return [
        replace(periodic_observed(facts, period), is_sure_fault=(period.ratio.interval or (0.0,))[0] >= FAR)
        for period in periods(facts.cells, facts.shapes, facts.minimum_effect)
        if period.every > MOST_ALTERNATING
    ]


SLOW_PATH: SlowPath = SlowPath(
    code="SP026",
    name="stalls",
    title="A few messages take many times as long as the rest",
    what="Most messages are quick, and one in so many takes many times as long: credits of a flow control, eager "
    "buffers, a registration cache or a completion queue that is emptied in one go.",
    needs="Some hundred single messages in each of 3 launches or more; the period fits all launches, at lengths "
    "that take unlike times.",
    remedy="Raise the library's credits or eager buffers, or the size of its registration cache; keep buffers.",
    observe=observe,
    cause="A resource of the library is used up after so many messages, and renewed.",
    hypotheses=(
        "flow-control credits or eager buffers are used up and returned",
        "the registration cache is flushed",
        "a queue of completions is emptied",
    ),
    needs_law=False,
    kind="fault",
    needs_cause=True,
    probes=("long series", "collectives: long series"),
    picture="periods",
)
