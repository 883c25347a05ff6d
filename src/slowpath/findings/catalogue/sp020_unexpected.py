# SPDX-License-Identifier: Apache-2.0
"""SP020: messages that arrive before their receive is posted."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.differences import difference_law
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.first_use_observed import cost_witness
from slowpath.findings.rule import Leg, Observation, Rule


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of receives posted before and after the message, the late ones being slower."""
    found = [
        one
        for one in evidence.decided("posted", phase="steady")
        if one.slow_value == "after" and one.fast_value == "before"
    ]
    groups = grouped(found, lambda one: setting_key(one.slow))
    said = Said("Receiving a message that is already there", "one whose receive was posted before", "unexpected")
    return [
        observation(evidence, group, said, lambda g: difference_law(g, ("message_bytes",), evidence.minimum_effect))
        for group in groups
    ]


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """A second copy of the message, by the kernel or not at all."""
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    copied = [witness.single_copy_bytes(cell, seen.phase) for cell in (slow, fast)]
    if copied[0] is not None and copied[1] is not None and copied[1] > 2 * copied[0]:
        line = (
            f"{copied[1]:.4g} bytes copied by process_vm_readv where the receive was posted, {copied[0]:.4g} where not"
        )
        return Leg("shown", "unexpected messages take another way", (line,))
    return cost_witness(evidence, seen)


RULE = Rule(
    code="SP020",
    name="unexpected messages",
    title="Messages that arrive before their receive cost a copy more",
    what="A message without a posted receive is kept by the library until the receive comes.",
    shows="Receiving takes longer when the message is there first than when the receive was posted before it came.",
    why="Short messages are copied into the library's buffer and from there again; long ones wait for the "
    "receiver's answer, so that the transfer only begins with the receive.",
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
