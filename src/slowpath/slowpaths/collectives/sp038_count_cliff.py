# SPDX-License-Identifier: Apache-2.0
"""SP038: a collective of few elements that is slower than the same bytes as many."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown
from slowpath.findings.slow_path import Control, Observation, Remedy, SlowPath, Support, Tried, all_stayed_words, set_to
from slowpath.slowpaths.collectives.under import (
    collective,
    contrast_observed,
    excess_words,
    groups,
    of_collectives,
    unders_of,
)
from slowpath.slowpaths.remedies import ALLREDUCE_BY_BYTES

LEAST_GONE = 0.5


def observe(facts: Facts) -> Sequence[Observation]:
    """One element of a long type against as many bytes in n elements, each collective for itself."""
    found = [slowdown for slowdown in of_collectives(facts, "shape") if slowdown.slow_value == "one_type"]
    clear = [slowdown for slowdown in found if slowdown.ratio.least >= CLEAR_RATIO]
    return [_observation(facts, group) for group in groups(clear, "collective", "op")]


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    top = max(group, key=lambda one: one.ratio.least)
    words = ("as one element of a long type", "the same bytes as many elements")
    return contrast_observed(facts, group, f"{collective(top)}, count", words, _tried(facts, top))


def _tried(facts: Facts, top: Slowdown) -> tuple[Tried, ...]:
    """Algorithms that were forced; that the fast side is fast proves nothing by itself."""
    return tuple(
        Tried(
            one.remedy,
            one.gone,
            all_stayed_words(one.stayed),
            all(other.held for other in one.stayed),
            one.launches,
        )
        for one in unders_of(facts, [top.contrast])
        if one.remedy is not None and one.gone is not None
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The same under another algorithm that the library was forced to: the count no longer matters."""
    forced = [one for one in unders_of(facts, seen.contrasts) if one.setting and "algorithm" in one.setting]
    gone = [one for one in forced if one.gone is not None]
    if not gone:
        return Support(
            "missing", "no other algorithm was forced; slowpath run coll forces one where it knows a variable"
        )
    lines = tuple(
        f"{one.length}, {one.environment}: {excess_words(one.gone)} of the excess is gone"
        for one in gone
        if one.gone is not None
    )
    best = max(one.gone[1] for one in gone if one.gone is not None)
    if best < LEAST_GONE:
        return Support("missing", "another algorithm leaves most of it: the type itself may be expensive", lines)
    return Support("shown", "with another algorithm forced, one element takes as long as many", lines)


COUNTS = (Rival(name="a dear type", cause="Packing a derived type is expensive with any algorithm."),)

_WORK = "collective_work_s"

_SHORT = Control(
    "8 bytes are one element of their type in both cases",
    experiment="coll",
    parameters={"collective": "alltoall", "message_bytes": "8"},
    metric=_WORK,
)


MANY_ELEMENTS_OF_A_SMALL_TYPE = Remedy(
    "many elements of a small type",
    "Send many elements of a small type instead of a few of a large one.",
    ("shape",),
    control=_SHORT,
    sources=("Open MPI issues 8186 and 12550",),
    parameter="shape",
    change=set_to("shape", "elements"),
    code="MPI_Allreduce(in, out, n, MPI_DOUBLE, op, comm);  /* in place of 1 element of a type of n doubles */",
    phrase="many elements of a small type",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP038",
    name="count cliff",
    title="A collective of a few large elements is slower than the same bytes as many small ones",
    what="A library that counts elements, not bytes, takes another algorithm where there are fewer elements than "
    "ranks (Open MPI's MPI_Bcast and MPI_Allreduce).",
    needs="The same bytes as one element and as many, with the same op. Explained when a forced algorithm takes "
    "away the difference.",
    remedy="Send many elements of a small type, or force the algorithm.",
    observe=observe,
    cause="The library chooses its algorithm by the number of elements.",
    witnesses=witnesses,
    hypotheses=(
        "the library chooses its algorithm by the number of elements",
        "the type itself is expensive to handle",
    ),
    needs_law=False,
    kind="property",
    rivals=COUNTS,
    probes=(
        "collectives: counts",
        "collectives: counts of what is not reduced",
    ),
    remedies=(
        *ALLREDUCE_BY_BYTES,
        MANY_ELEMENTS_OF_A_SMALL_TYPE,
    ),
    removes_cause=(MANY_ELEMENTS_OF_A_SMALL_TYPE,),
)
