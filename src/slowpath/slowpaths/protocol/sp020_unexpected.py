# SPDX-License-Identifier: Apache-2.0
"""SP020: messages that arrive before their receive is posted."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.results import Claim
from slowpath.core.units import format_bytes, format_time
from slowpath.findings.evidence.evidence import Evidence, UnexpectedReceive
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.witness import cost_witness, sides, single_copy_bytes
from slowpath.findings.evidence.words import ratio_words, sizes, times_words, where_words
from slowpath.findings.observation import Observation, Support
from slowpath.findings.remedy import Remedy
from slowpath.findings.rivals.judges import NOT_MADE, SURELY, by_design, by_law
from slowpath.findings.rivals.kinds import claim
from slowpath.findings.rivals.rival import Judged, RivalKind, Varied
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.protocol.remedies import PROGRAM_LONGER_EAGER
from slowpath.stats.removed import removed


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


_COPY_OF_CONSTANT = RivalKind(
    "constant",
    "A late receive costs a constant: a search, an allocation, and no copy.",
    claim("user", "nothing"),
    "several lengths: a copy costs by the byte (law 'bytes')",
    by_law(("bytes",), "law '{law}': it costs by the byte", true_of=("constant",)),
)

_RENDEZVOUS = RivalKind(
    "rendezvous",
    "The transfer waits for the receive.",
    claim("waiting", "message"),
    "receives posted before, whose receiver is outside the library as well (posted=before): both hold the transfer",
    by_design(lambda _, __: True, "the receive that was posted before holds the transfer as well", ""),
    hypotheses=("the transfer waits for the receive (rendezvous)",),
)

GONE = 0.5  # of an excess, at the lower end of its interval, that has to be gone

_TOGETHER = Varied({"posted": "together"}, {})

_WORDS = "the same MPI_Recv, called when the message is sent (posted=together)"


def _judge(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    """What of the excess a receive lacks that is there in time: all of it, if it comes from being late."""
    made = evidence.variation(sides(evidence, seen), (_TOGETHER.slow, _TOGETHER.fast), seen.metric, ("steady",) * 2)
    if made is None or not seen.excess_s:
        return Judged("standing", NOT_MADE.format(_WORDS))
    expected_s = [value - seen.excess_s for value in made.slow_s]
    if min(expected_s) <= 0:
        return Judged("standing", "measured again: the excess was not there to be removed")
    found = removed(made.slow_s, made.slow_varied_s, expected_s, expected_s)
    if found is None:
        return Judged("standing", "measured again: the excess was not there to be removed")
    in_time_s = format_time(sorted(made.slow_varied_s)[len(made.slow_varied_s) // 2])
    late_s = format_time(sorted(made.slow_s)[len(made.slow_s) // 2])
    line = f"MPI_Recv takes {late_s} for a message that is there already, {in_time_s} for one that is just sent"
    if found.value >= GONE and found.interval[0] >= SURELY:
        return Judged("refuted", line, (line,))
    if found.value <= 1 - GONE and found.interval[1] <= 1 - SURELY:
        return Judged("true", line, (line,))
    return Judged("standing", f"{line}: neither all nor nothing of the excess", (line,))


IN_TIME = RivalKind(
    name="slow receive",
    cause="MPI_Recv takes as long for a message that has not come yet: that it comes early costs nothing.",
    claim=Claim(time=None, side="receiver", by=None),
    experiment=_WORDS,
    judge=_judge,
    varied=_TOGETHER,
    title="Receives by MPI_Recv are slow, whether their message comes early or not",
)

POST_RECEIVES_EARLY = Remedy(
    "post receives early",
    "Post receives before the messages can arrive.",
    ("posted",),
    sources=("MPI-4.1 section 3.5",),
    code="MPI_Irecv(...);  /* before the sender can send */",
    untried="early receives end in MPI_Wait, late ones in MPI_Probe and MPI_Recv: unlike calls prove nothing",
    phrase="receives posted before the messages arrive",
)

SLOW_PATH = SlowPath(
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
    kind="property",
    claim=claim("copy", "message"),
    rivals=(IN_TIME, _COPY_OF_CONSTANT, _RENDEZVOUS),
    probes=("posted",),
    remedies=(POST_RECEIVES_EARLY,),
    program_remedies=(PROGRAM_LONGER_EAGER,),
    depends=frozenset({"queue", "posted"}),
)
