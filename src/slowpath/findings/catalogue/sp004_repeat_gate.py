# SPDX-License-Identifier: Apache-2.0
"""SP004: a faster path that opens only at the n-th use of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.first_use_observed import cost_witness
from slowpath.findings.evidence.repetitions import gates
from slowpath.findings.rule import Observation, Rule


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Buffers whose first n - 1 messages are slow, n above 3."""
    return gates(evidence)


RULE = Rule(
    code="SP004",
    name="repeat gate",
    title="The fast path opens at the n-th use of a buffer",
    what="A library may take its fast path for a buffer only after it has seen it several times.",
    shows="The first n - 1 messages from a buffer are slow, all later ones fast; n is the same for all lengths.",
    why="Mapping a buffer pays only if it is used again, so some libraries wait: MPICH maps by XPMEM at the "
    "fifth use of an address, and watches 16 addresses.",
    needs="Times of the 1st, 2nd, ... n-th message from fresh buffers: law 'repetition' with n above 3. "
    "Explained when system time or counted calls change at the same n.",
    remedy="Keep few buffers and use them often; send some messages before the time that counts.",
    false_alarms="Processors that raise their clock make early messages slower too, but gradually.",
    sources=("MPICH src/mpid/ch4/shm/ipc/xpmem", "docs/internals/laws.md"),
    observe=observe,
    cause="The library takes another path from the n-th use of a buffer on.",
    witnesses=cost_witness,
)
