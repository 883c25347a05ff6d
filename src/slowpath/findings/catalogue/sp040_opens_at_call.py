# SPDX-License-Identifier: Apache-2.0
"""SP040: a fast path that opens at the n-th call of a communicator."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_time
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.numbered import CALL, Opening
from slowpath.findings.evidence.numbered_words import by_moves, collectives, seen_words, tried
from slowpath.findings.rule import Observation, Rule, Support


def observe(evidence: Evidence) -> Sequence[Observation]:
    """The first calls of fresh communicators, where several cells change at the same one, from the third on."""
    return [_observation(evidence, one) for one in evidence.facts(Opening) if one.ratio.beyond]


def _observation(evidence: Evidence, one: Opening) -> Observation:
    names = collectives(one.seen)
    also = "".join(f"; {', '.join(those)} at call {number}" for number, those in sorted(one.other.items()))
    pays = f"it pays from call {one.pays_from} on" if one.pays_from else "it does not pay"
    setup = ""
    if one.settled > one.opens:
        last = f" to {one.settled - 1}" if one.settled > one.opens + 1 else ""
        takes = f"calls {one.opens}{last} take" if last else f"call {one.opens} takes"
        setup = f"{takes} {format_time(one.setup_s)} more in all, to set it up, "
    return Observation(
        about="calls of a communicator",
        place=evidence.place([seen.cell for seen in one.seen], [names]),
        text=f"Collectives take another path from call {one.opens} of each communicator on: calls 1 to {one.opens - 1} "
        f"take {format_time(one.before_s)}, {setup}later ones {format_time(one.fast_s)}; {pays}. So for {names}{also}.",
        metric=one.metric,
        phase="first",
        ratio=one.ratio.value,
        interval=one.ratio.interval,
        excess_s=one.excess_s,
        affects_default=True,
        cells=tuple(dict.fromkeys([seen.cell.cell for seen in one.seen] + [cell.cell for cell in one.flat])),
        axis=CALL,
        evidence=tuple(
            f"{seen_words(seen, CALL)}; calls in front {format_time(seen.before_s)} together" for seen in one.seen
        ),
        slow_cells=(one.slow.cell,),
        fast_cells=(one.fast.cell,),
        tried=tried(one.moved, one.stayed, CALL),
    )


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """The library's own variable, which moves the call."""
    one = next(one for one in evidence.facts(Opening) if one.slow.cell == seen.slow_cells[0])
    return by_moves(one.moved, CALL)


RULE = Rule(
    code="SP040",
    name="opens at the n-th call",
    title="The fast path of collectives opens at the n-th call of a communicator",
    what="A library may send the first calls of each communicator by messages, and set up shared memory for it later.",
    shows="The first n - 1 calls on every fresh communicator take one time, call n far more, and later ones less "
    "than the first. n is the same for all lengths and launches.",
    why="Setting up memory for a communicator pays only if it is used again. MPICH waits for the fifth MPI_Bcast, "
    "MPI_Reduce or MPI_Allreduce of a communicator, and counts each MPI_Barrier twice.",
    needs="Each call on fresh communicators (coll, pattern=counted), several collectives or lengths. Explained when "
    "the library's variable moves n to where it was predicted, and neither bytes, nor time, nor the process decide it.",
    remedy="Keep communicators. Where they are freed after few calls, let the path not open at all.",
    false_alarms="The first call of all is a first use of the library (SP043) and does not count here.",
    sources=("MPICH src/mpid/ch4/shm/posix/release_gather", "docs/results/collectives.md"),
    observe=observe,
    cause="The library sets up a path of its own for each communicator at this call.",
    witnesses=witnesses,
    needs_law=False,
)
