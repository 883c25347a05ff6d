# SPDX-License-Identifier: Apache-2.0
"""SP018: one-sided messages far below two-sided ones."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.differences import number
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.one_sided import far_below
from slowpath.findings.rule import Leg, Observation, Rule


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Puts that take much longer than messages of the same length in the same launches."""
    return far_below(evidence)


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Puts that go through sockets or wait for the target are messages in disguise."""
    slow = evidence.cells[seen.slow_cells[0]]
    sent = witness.socket_bytes(slow, seen.phase)
    if sent is None:
        return Leg("missing", "calls were not counted; needs a launch with witness = true")
    length = number(slow, "message_bytes") or 0.0
    if length and sent >= length:
        return Leg(
            "shown", "puts go through sockets", (f"{sent:.4g} bytes through sockets for each put of {length:.0f}",)
        )
    return Leg("missing", "no call that was counted tells what a put does", ())


RULE = Rule(
    code="SP018",
    name="RMA far below point-to-point",
    title="One-sided messages are far slower than two-sided ones",
    what="MPI_Put inside a node can be a store to shared memory; some libraries make messages out of it.",
    shows="A put takes more than twice as long as a message of the same length, or needs the target to call MPI.",
    why="The window's memory is not shared (MPI_Win_create), a datatype has gaps, or the library emulates "
    "puts by active messages that the target must handle.",
    needs="Puts and messages of the same length in the same launches. Explained when counted calls show that "
    "puts go through sockets.",
    remedy="Allocate windows with MPI_Win_allocate, use predefined datatypes, or send two-sided messages.",
    false_alarms="A put includes its share of the synchronisation: with few puts a burst that is most of it.",
    sources=("MPI-4.1 chapter 12", "docs/reference/put.md"),
    observe=observe,
    cause="Puts are carried out as messages that the other side handles.",
    witnesses=witnesses,
    hypotheses=("puts are emulated by messages", "the synchronisation is most of a put's time"),
    needs_law=False,
)
