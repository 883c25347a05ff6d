# SPDX-License-Identifier: Apache-2.0
"""SP018: one-sided messages far below two-sided ones."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence, SlowPut
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.witness import NOT_COUNTED, socket_bytes
from slowpath.findings.evidence.words import number, parameter, ratio_words, sizes, times_words
from slowpath.findings.observation import Observation, Support
from slowpath.findings.rivals.judges import never
from slowpath.findings.rivals.kinds import claim
from slowpath.findings.rivals.rival import RivalKind
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.datatype.remedies import PREDEFINED_DATATYPE
from slowpath.slowpaths.one_sided.remedies import LOCK_ALL_ONCE, MPI_WIN_ALLOCATE


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Puts that take much longer than messages of the same length in the same launches."""
    return [_observation(evidence, one) for one in evidence.slow_puts()]


def _observation(evidence: Evidence, one: SlowPut) -> Observation:
    window, length = parameter(one.slow, "window", "allocate"), sizes([one.slow])
    return observed(
        one,
        about=f"put, window {window}",
        place=evidence.place([one.slow], [f"window {window}", f"messages of {length}"]),
        text=f"{length} puts into a window of kind {window} take {ratio_words(one.ratio)} as long as messages of that "
        f"length: {times_words(one)}.",
        affects_default=evidence.is_default(one.slow),
        cells=(one.slow.cell, one.fast.cell),
        evidence=(f"{ratio_words(one.ratio)}: {one.slow.label} over {one.fast.label}",),
    )


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """Puts that go through sockets or wait for the target are messages in disguise."""
    slow = evidence.cells[seen.slow_cells[0]]
    sent, length = socket_bytes(slow, seen.phase), number(slow, "message_bytes") or 0.0
    if sent is None:
        return Support("missing", NOT_COUNTED)
    if length and sent >= length:
        line = f"{sent:.4g} bytes through sockets for each put of {length:.0f}"
        return Support("shown", "puts go through sockets", (line,))
    return Support("missing", "no counted call shows what a put does")


_SYNCHRONISATION = RivalKind(
    "synchronisation",
    "The end of a burst is most of a put's time.",
    claim("waiting", "nothing"),
    "bursts of more puts; this program does not make them for a finding yet",
    never("the share of the synchronisation was not measured: take more puts a burst (parameter puts)"),
    hypotheses=("the synchronisation is most of a put's time",),
)

SLOW_PATH = SlowPath(
    code="SP018",
    name="RMA far below point-to-point",
    title="One-sided messages are far slower than two-sided ones",
    what="MPI_Put inside a node can be a store to shared memory; some libraries turn it into messages.",
    shows="A put takes more than 2x as long as a message of the same length, or needs the target to call MPI.",
    why="The window's memory is not shared (MPI_Win_create), a datatype has gaps, or the library emulates "
    "puts by active messages that the target must handle.",
    needs="Puts and messages of the same length in the same launches. Explained when counted calls show that "
    "puts go through sockets.",
    remedy="Allocate windows with MPI_Win_allocate, use predefined datatypes, or send two-sided messages.",
    false_alarms="A put includes its share of the synchronisation: in a burst of few puts that is most of it.",
    sources=("MPI-4.1 chapter 12", "docs/reference/put.md"),
    observe=observe,
    cause="The library carries out puts as messages that the other side handles.",
    witnesses=witnesses,
    hypotheses=("puts are emulated by messages", "the synchronisation is most of a put's time"),
    needs_law=False,
    kind="property",
    claim=claim("path", "message"),
    rivals=(_SYNCHRONISATION,),
    remedies=(
        MPI_WIN_ALLOCATE,
        LOCK_ALL_ONCE,
        PREDEFINED_DATATYPE,
    ),
    depends=frozenset({"call"}),
)
