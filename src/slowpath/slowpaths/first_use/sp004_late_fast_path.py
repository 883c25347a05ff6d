# SPDX-License-Identifier: Apache-2.0
"""SP004: a faster path that opens only at the n-th use of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence, LateFastPath
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.witness import cost_witness
from slowpath.findings.evidence.words import memory, ratio_words, times_words, where_words
from slowpath.findings.observation import Observation
from slowpath.findings.rivals.judges import by_law
from slowpath.findings.rivals.kinds import WAITING, claim
from slowpath.findings.rivals.rival import RivalKind
from slowpath.findings.slow_path import SlowPath
from slowpath.stats.laws.found import cost_words


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Buffers whose first n - 1 messages are slow, n above 3; the cell that knows the step best speaks (merge)."""
    return [_observation(evidence, one) for one in evidence.late_fast_paths()]


def _observation(evidence: Evidence, one: LateFastPath) -> Observation:
    return observed(
        one,
        about=f"first use, {memory([one.slow])}",
        place=evidence.place([one.slow], where_words([one.slow])),
        text=f"Messages from a fresh buffer are slow until its use {one.opens:g}: use {one.before} takes "
        f"{ratio_words(one.ratio)} as long as the last: {times_words(one)}; cost: {cost_words(one.law)}; "
        f"{one.agree} of {one.of} cells agree.",
        affects_default=evidence.is_default(one.slow),
        cells=(one.slow.cell,),
        law=one.law,
        evidence=(f"{ratio_words(one.ratio)}: message {one.before} over the last of a buffer",),
    )


_GRADUAL = RivalKind(
    "clock of the processor",
    "The processor raises its clock while the first messages run.",
    claim("user", "uses"),
    "several uses of one buffer: a clock rises gradually, a gate opens at one use (law 'repetition')",
    by_law(("repetition",), "law '{law}': it ends at one use, and not gradually"),
)

SLOW_PATH = SlowPath(
    code="SP004",
    name="late fast path",
    title="The fast path opens at the n-th use of a buffer",
    what="A library may take its fast path for a buffer only after it has seen the buffer several times.",
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
    kind="property",
    claim=claim("path", "uses"),
    rivals=(_GRADUAL, WAITING),
    depends=frozenset({"use"}),
)
