# SPDX-License-Identifier: Apache-2.0
"""SP020: messages that arrive before their receive is posted."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.evidence.evidence import Evidence, UnexpectedReceive
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.witness import cost_witness, sides, single_copy_bytes
from slowpath.findings.evidence.words import ratio_words, sizes, times_words, where_words
from slowpath.findings.rule import Observation, Rule, Support


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Late receives that cost more than their calls differ by; that early ones cost more is no slow path."""
    return [_observation(evidence, one) for one in evidence.unexpected_receives()]


def _observation(evidence: Evidence, one: UnexpectedReceive) -> Observation:
    calls = f"{'more' if one.calls_s > 0 else 'less'} at {format_bytes(one.shortest_bytes)}, which is taken off"
    return observed(
        one,
        about="unexpected",
        place=evidence.place(one.cells, where_words(one.cells)),
        text=f"Receives of unexpected {sizes([one.slow])} messages take {ratio_words(one.ratio)} as long as receives "
        f"that were posted before: {times_words(one)}.",
        affects_default=None,
        cells=tuple(cell.cell for cell in one.cells),
        law=one.law,
        evidence=(f"the calls themselves take {format_time(abs(one.calls_s))} {calls}",),
    )


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
    needs="The same messages with posted=before and posted=after over 4 lengths or more. What MPI_Wait on the one side "
    "and MPI_Probe and MPI_Recv on the other differ by at the shortest of them is taken off; law 'bytes' or 'constant' "
    "for the rest. Explained when counted copies or system time differ.",
    remedy="Post receives before the other side can send (MPI_Irecv early, persistent receives).",
    false_alarms="A late receive of a long message includes the transfer: that is the program's lateness, not a slow "
    "path.",
    sources=("MPI-4.1 section 3.5", "docs/reference/engine-interface.md, posted"),
    observe=observe,
    cause="The library keeps the message in a buffer of its own and copies it once more.",
    witnesses=witnesses,
    hypotheses=("the message is copied once more", "the transfer waits for the receive (rendezvous)"),
)
