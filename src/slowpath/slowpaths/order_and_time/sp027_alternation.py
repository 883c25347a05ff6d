# SPDX-License-Identifier: Apache-2.0
"""SP027: messages that are slow by turns."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.order_and_time.periods import MOST_ALTERNATING, is_shown, periodic_observed, periods


def observe(facts: Facts) -> Sequence[Observation]:
    """Slow messages that return after 2 to 8 messages."""
    return [
        periodic_observed(facts, period)
        for period in periods(facts.cells, facts.shapes, facts.minimum_effect)
        if period.every <= MOST_ALTERNATING and is_shown(period)
    ]


SLOW_PATH: SlowPath = SlowPath(
    code="SP027",
    name="alternation",
    title="Every n-th message is slow",
    what="Every second message, or one in 3 to 8, takes longer than the others, during the whole launch.",
    shows="Times of consecutive messages go up and down. The median lies between two groups, or on one of them.",
    why="Two internal buffers, rails or queue pairs in turn, one of which is slower; buffers of the library that start "
    "at alternating places of a cache line or a page; an acknowledgement every second message.",
    needs="64 single messages or more in each of 3 launches. The period fits all launches, the lower quartile of the "
    "slow messages lies above the upper quartile of the others, the same places are slow in each quarter of a launch, "
    "and its chance is below 0.001 over all periods and cells. Below 1.25x the number has to stay at lengths that take "
    "unlike times: a timer does not.",
    remedy="Take one rail alone, or the library's other setting for the number of its buffers; then measure again.",
    false_alarms="A clock that is read in steps makes times of unlike length; what is within two steps is not named. A "
    "program that uses two buffers in turn, of which one is slower, shows the same: cells with several "
    "live_buffers are not asked.",
    sources=("docs/internals/statistics.md", "docs/reference/engine-interface.md, messages"),
    observe=observe,
    cause="The library takes two ways in turn.",
    hypotheses=(
        "two internal buffers in turn, one of which is slower",
        "two rails or queue pairs in turn",
        "an acknowledgement or a copy after a number of messages",
    ),
    needs_law=False,
    kind="fault",
    probes=("long series",),
    picture="periods",
)
