# SPDX-License-Identifier: Apache-2.0
"""SP006: the first use of a buffer costs by the length of the message."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import COLD, SIDE, UNTOUCHED, WAITING, Observation, SlowPath
from slowpath.slowpaths.first_use.first_uses import PROBES, first_use_witness, first_uses_observed
from slowpath.slowpaths.remedies import KEEP_BUFFERS


def observe(facts: Facts) -> Sequence[Observation]:
    """First uses whose excess follows the message's length."""
    return first_uses_observed(facts, lambda use: use.by == "message" and not facts.over_network(use.slow))


SLOW_PATH: SlowPath = SlowPath(
    code="SP006",
    name="first use by message",
    title="The first message from a buffer costs extra for each of its bytes",
    what="The first message from a fresh buffer moves its bytes at a lower rate: they are registered, mapped or "
    "staged, or cold in the caches.",
    needs="First and later messages over several message lengths in one allocation length: law 'bytes'. Explained "
    "when system time or page faults grow alike.",
    remedy="Keep communication buffers, and send each message length once before the time that counts.",
    observe=observe,
    cause="What is sent for the first time is registered, mapped or staged byte by byte.",
    witnesses=first_use_witness,
    hypotheses=(
        "the part that is sent is registered or mapped",
        "it is staged through another buffer",
        "cold caches",
    ),
    stronger=("SP001", "SP002", "SP023", "SP024"),
    kind="property",
    rivals=(COLD, UNTOUCHED, WAITING, SIDE),
    probes=PROBES,
    remedies=(KEEP_BUFFERS,),
)
