# SPDX-License-Identifier: Apache-2.0
"""SP021: long queues of receives or messages that are searched."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts
from slowpath.findings.observed import GrowthWording, growths_observed
from slowpath.findings.slow_path import Control, Observation, Remedy, SlowPath, set_to

_WORDING = GrowthWording("queue", "queue", "{what} with {slow} entries in front of it", "with {fast}")


def observe(facts: Facts) -> Sequence[Observation]:
    """Messages that take longer the more entries stand in front of them."""
    return growths_observed(facts, _WORDING, ("constant", "queue"))


_ORDER_OF_ARRIVAL = Rival(
    name="cost of an arrival",
    cause="Each earlier message or receive costs time when it arrives, not when it is searched.",
)

SHORT_QUEUES = Remedy(
    "short queues",
    "Keep queues short: few posted receives and unexpected messages, matched in the order of their arrival.",
    ("queue",),
    Control("searching past a single entry takes no measurable time", without="1"),
    (),
    ("MPI-4.1 section 3.5",),
    parameter="queue",
    change=set_to("queue", "0"),
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP021",
    name="queue depth",
    title="Matching is slow with many posted receives or unexpected messages",
    what="To match a message the library searches its list of posted receives, or of unexpected messages, 10 to 100 "
    "ns an entry.",
    needs="The same message with 0 to some thousand entries in front: law 'queue' with the cost of an entry.",
    remedy="Post fewer receives at once, in the order of arrival, or use fewer tags and more communicators.",
    observe=observe,
    cause="The library searches its queue entry by entry.",
    hypotheses=("the queue is searched entry by entry",),
    kind="property",
    rivals=(_ORDER_OF_ARRIVAL,),
    probes=("queue",),
    remedies=(SHORT_QUEUES,),
    removes_cause=(SHORT_QUEUES,),
)
