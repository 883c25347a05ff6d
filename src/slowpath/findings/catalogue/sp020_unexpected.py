# SPDX-License-Identifier: Apache-2.0
"""SP020: messages that arrive before their receive is posted."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.evidence.witness import cost_witness, sides, single_copy_bytes
from slowpath.findings.rule import Observation, Rule, Support

_WORDING = Wording("receives of unexpected {size}messages", "receives that were posted before", "unexpected")


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of receives posted before and after the message, the late ones being slower."""
    there = evidence.slowdowns("posted", phase="steady")
    found = [one for one in there if one.slow_value == "after" and one.fast_value == "before"]
    groups = grouped(found, lambda one: place_key(one.slow))
    return [slowdown_observed(evidence, group, _WORDING, evidence.difference_law) for group in groups]


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """A second copy of the message, by the kernel or not at all."""
    slow, fast = (single_copy_bytes(cell, seen.phase) for cell in sides(evidence, seen))
    if slow is not None and fast is not None and fast > 2 * slow:
        line = f"{fast:.4g} bytes copied by process_vm_readv where the receive was posted, {slow:.4g} where not"
        return Support("shown", "unexpected messages take another way", (line,))
    return cost_witness(evidence, seen)


RULE = Rule(
    code="SP020",
    name="unexpected messages",
    title="Messages that arrive before their receive cost a copy more",
    what="The library buffers an unexpected message, one without a posted receive, until the receive comes.",
    shows="Receiving takes longer when the message is there first than when the receive was posted before it came.",
    why="Short messages are copied into the library's buffer and from there again; long ones wait for the "
    "receiver's answer (rendezvous), so that the transfer only begins with the receive.",
    needs="The same messages with posted=before and posted=after over 4 lengths or more: law 'bytes' or "
    "'constant' for the difference. Explained when counted copies or system time differ.",
    remedy="Post receives before the other side can send (MPI_Irecv early, persistent receives).",
    false_alarms="A late receive of a long message includes the transfer: that is the program's lateness, not a slow "
    "path.",
    sources=("MPI-4.1 section 3.5", "docs/reference/engine-interface.md, posted"),
    observe=observe,
    cause="The library keeps the message in a buffer of its own and copies it once more.",
    witnesses=witnesses,
    hypotheses=("the message is copied once more", "the transfer waits for the receive (rendezvous)"),
)
