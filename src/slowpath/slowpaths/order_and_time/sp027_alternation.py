# SPDX-License-Identifier: Apache-2.0
"""SP027: messages that are slow by turns."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import Observation, SlowPath
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
    what="Every second message, or one in 3 to 8, takes longer: two internal buffers, rails or queue pairs in turn, "
    "one of which is slower.",
    needs="64 single messages or more in each of 3 launches; the period fits all launches and each quarter of a "
    "launch.",
    remedy="Take one rail alone, or the library's other setting for the number of its buffers; then measure again.",
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
