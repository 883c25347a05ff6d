# SPDX-License-Identifier: Apache-2.0
"""SP041: a fast path that is closed from the n-th live communicator on."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts, ratio_words, times_words
from slowpath.findings.slow_path import ALONE, Observation, Remedy, SlowPath, Support, observed, tunings
from slowpath.slowpaths.collectives.numbered import (
    COMMUNICATOR,
    Closing,
    by_moves,
    closings,
    collectives,
    seen_words,
    tried,
)


def observe(facts: Facts) -> Sequence[Observation]:
    """Communicators in a row, all of them alive, of which the later ones are slow."""
    return [_observation(facts, closing) for closing in closings(facts) if closing.ratio.beyond]


def _observation(facts: Facts, one: Closing) -> Observation:
    names = collectives(one.seen)
    return observed(
        one,
        about="live communicators",
        place=facts.place([seen.cell for seen in one.seen], [names]),
        text=f"Collectives ({names}) on communicator {one.closes} and later ones are {ratio_words(one.ratio)} "
        f"slower than before, while all live: {times_words(one)}; {one.communicators} were made.",
        affects_default=True,
        cells=tuple(dict.fromkeys([seen.cell.cell for seen in one.seen] + [cell.cell for cell in one.flat])),
        axis=COMMUNICATOR,
        evidence=tuple(seen_words(seen, COMMUNICATOR) for seen in one.seen),
        tried=tried(one.moved, one.stayed, COMMUNICATOR),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The library's own limit, which moves the communicator in proportion."""
    one = next(closing for closing in closings(facts) if closing.slow.cell == seen.slow_cells[0])
    return by_moves(one.moved, COMMUNICATOR)


CLOSES = (Rival(name="many communicators", cause="Many communicators slow every call: the library searches them."),)

MORE_MEMORY_FOR_COLLECTIVES = tunings(
    Remedy(
        "more memory for collectives",
        "Allow more shared memory for the collectives of live communicators.",
        ("communicator",),
        control=ALONE,
        side_effects=("shared memory of each node",),
    )
)

FREE_COMMUNICATORS = Remedy(
    "free communicators",
    "Free communicators that are no longer used: each live one holds shared memory that collectives need.",
    ("communicator",),
    sources=("MPI-4.1 section 7.4.3",),
    code="MPI_Comm_free(&comm);  /* before the next one is made */",
    untried="the cells must keep their communicators",
    phrase="MPI_Comm_free for communicators that are no longer used",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP041",
    name="closes at the n-th communicator",
    title="Collectives lose their fast path from the n-th live communicator on",
    what="A library sets aside a fixed amount of shared memory for the collectives of all communicators of a node; "
    "later ones are several times slower.",
    needs="The same collective on hundreds of live duplicates (coll, pattern=communicators). Explained when the "
    "library's limit moves n in proportion, and collectives without such a path show no step.",
    remedy="Free communicators that are no longer used, or allow more memory.",
    observe=observe,
    cause="The library's shared memory for collectives is spent.",
    witnesses=witnesses,
    needs_law=False,
    kind="opportunity",
    concerns="hundreds of live communicators",
    rivals=CLOSES,
    probes=("collectives: numbered communicators",),
    remedies=(
        *MORE_MEMORY_FOR_COLLECTIVES,
        FREE_COMMUNICATORS,
    ),
)
