# SPDX-License-Identifier: Apache-2.0
"""SP006: the first use of a buffer costs by the length of the message."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.first_use_observed import first_use_witness, observed, over_network
from slowpath.findings.rule import Observation, Rule


def observe(evidence: Evidence) -> Sequence[Observation]:
    """First uses whose excess follows the message's length."""
    return observed(evidence, lambda use: use.kind == "message" and not over_network(evidence, use))


RULE = Rule(
    code="SP006",
    name="first use by message",
    title="The first message costs by its own length",
    what="The first message from a fresh buffer moves its bytes at a lower rate than later messages do.",
    shows="First message slow by a time for each byte sent, whatever the length of the allocation.",
    why="Only the part that is sent is registered or mapped, or staged through another buffer until the fast "
    "path is set up; fresh memory is also cold for caches and TLB.",
    needs="First and later messages over several message lengths in one allocation length: law 'bytes' for the "
    "excess. Explained when system time or page faults grow alike.",
    remedy="Keep communication buffers, and send each message length once before the time that counts.",
    false_alarms="Cold caches cost by the byte as well: up to the time of one pass through memory.",
    sources=("docs/internals/laws.md", "docs/reference/metrics.md"),
    observe=observe,
    cause="What is sent for the first time is registered, mapped or staged byte by byte.",
    witnesses=first_use_witness,
    hypotheses=("the part that is sent is registered or mapped", "it is staged through another buffer", "cold caches"),
    stronger=("SP001", "SP002", "SP023", "SP024"),
)
