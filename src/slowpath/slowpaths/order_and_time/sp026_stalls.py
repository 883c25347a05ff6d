# SPDX-License-Identifier: Apache-2.0
"""SP026: messages that stall, one in so many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation
from slowpath.findings.slow_path import SlowPath
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
    what="Most messages are as quick as ever, and one in so many takes many times as long. Medians do not show it; a "
    "program that waits for the slowest of its messages pays it each time.",
    shows="The mean message takes clearly longer than the median one. In the order of the messages the slow ones stand "
    "at equal distances.",
    why="Credits of a flow control that are given back in one go, eager buffers that are used up, a registration cache "
    "that is flushed, a completion queue that is emptied every so many messages.",
    needs="Some hundred single messages in each of 3 launches or more. The period fits all launches, the lower "
    "quartile of its messages lies above the upper quartile of the others, and its chance is below 0.001 over all "
    "periods and cells. Lengths that take unlike times tell a count of messages from a timer.",
    remedy="Raise the library's credits or eager buffers, or the size of its registration cache; keep buffers.",
    false_alarms="Timers of the machine stall messages too: after a time, not after a number of messages. Stalls "
    "without a period in messages are not named: on a shared machine they are the scheduler's.",
    sources=("docs/internals/statistics.md", "docs/reference/engine-interface.md, messages"),
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
