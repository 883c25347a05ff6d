# SPDX-License-Identifier: Apache-2.0
"""SP040: a fast path that opens at the n-th call of a communicator."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import Rival
from slowpath.core.units import format_time
from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import ALONE, Observation, Remedy, SlowPath, Support, observed, tunings
from slowpath.slowpaths.collectives.numbered import CALL, Opening, by_moves, collectives, openings, seen_words, tried


def observe(facts: Facts) -> Sequence[Observation]:
    """The first calls of fresh communicators, where several cells change at the same one, from the third on."""
    return [_observation(facts, opening) for opening in openings(facts) if opening.ratio.beyond]


def _observation(facts: Facts, one: Opening) -> Observation:
    names = collectives(one.seen)
    also = "".join(f"; {', '.join(those)} at call {number}" for number, those in sorted(one.other.items()))
    pays = f"it pays from call {one.pays_from} on" if one.pays_from else "it does not pay"
    setup = ""
    if one.settled > one.opens:
        last = f" to {one.settled - 1}" if one.settled > one.opens + 1 else ""
        takes = f"calls {one.opens}{last} take" if last else f"call {one.opens} takes"
        setup = f"{takes} {format_time(one.setup_s)} more in all, to set it up, "
    return observed(
        one,
        about="calls of a communicator",
        place=facts.place([seen.cell for seen in one.seen], [names]),
        text=f"Collectives change path at call {one.opens} of each communicator: calls 1 to {one.opens - 1} take "
        f"{format_time(one.before_s)}, {setup}later ones {format_time(one.fast_s)}; {pays}. This applies to "
        f"{names}{also}.",
        phase="first",
        affects_default=True,
        cells=tuple(dict.fromkeys([seen.cell.cell for seen in one.seen] + [cell.cell for cell in one.flat])),
        axis=CALL,
        evidence=tuple(
            f"{seen_words(seen, CALL)}; calls in front {format_time(seen.before_s)} together" for seen in one.seen
        ),
        tried=tried(one.moved, one.stayed, CALL),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The library's own variable, which moves the call."""
    one = next(opening for opening in openings(facts) if opening.slow.cell == seen.slow_cells[0])
    return by_moves(one.moved, CALL)


OPENS = (
    Rival(name="bytes", cause="The path opens after a number of bytes."),
    Rival(
        name="time",
        cause="The path opens some time after the communicator is made, or the processor is warm only then.",
    ),
    Rival(name="warm-up of the process", cause="The first calls of a process are slow on any communicator."),
)

LATER_OPENING = tunings(
    Remedy(
        "later opening",
        "Keep the fast path closed for communicators that are freed after a few calls: all calls then take the "
        "first calls' path.",
        ("call",),
        control=ALONE,
        side_effects=("collectives on long-lived communicators take the slower path in each call",),
    )
)

KEEP_COMMUNICATORS = Remedy(
    "keep communicators",
    "Create communicators once and keep them: each new one pays again to open the fast path.",
    ("call",),
    side_effects=("memory of each live communicator",),
    sources=("MPI-4.1 section 7.4",),
    code="static MPI_Comm comm;  /* duplicated once, used from call to call */",
    untried="the finding's own communicators show it in their later calls; there is nothing else to toggle",
    phrase="communicators that are kept",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP040",
    name="opens at the n-th call",
    title="Collectives on a new communicator are slow until the n-th call",
    what="The first calls of each communicator go by messages, and one of them sets up shared memory. MPICH waits "
    "for the fifth MPI_Bcast, MPI_Reduce or MPI_Allreduce.",
    needs="Each call on fresh communicators (coll, pattern=counted), several collectives or lengths. Explained when "
    "the library's variable moves n to where it was predicted.",
    remedy="Keep communicators. Keep the fast path closed for those that are freed after a few calls.",
    observe=observe,
    cause="The library sets up a path of its own for each communicator at this call.",
    witnesses=witnesses,
    needs_law=False,
    kind="opportunity",
    concerns="communicators that live for a few calls only",
    rivals=OPENS,
    probes=(
        "collectives: numbered calls",
        "collectives: numbered barriers",
    ),
    remedies=(
        *LATER_OPENING,
        KEEP_COMMUNICATORS,
    ),
)
