# SPDX-License-Identifier: Apache-2.0
"""SP038: a collective of few elements that is slower than the same bytes as many."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.collective_words import (
    collective,
    contrast_observed,
    excess_words,
    groups,
    of_collectives,
    unders,
)
from slowpath.findings.evidence.evidence import CLEAR_RATIO, Evidence, Slowdown
from slowpath.findings.evidence.words import all_stayed_words
from slowpath.findings.rule import Observation, Rule, Support, Tried

LEAST_GONE = 0.5


def observe(evidence: Evidence) -> Sequence[Observation]:
    """One element of a long type against as many bytes in n elements, each collective for itself."""
    found = [one for one in of_collectives(evidence, "shape") if one.slow_value == "one_type"]
    clear = [one for one in found if one.ratio.least >= CLEAR_RATIO]
    return [_observation(evidence, group) for group in groups(clear, "collective", "op")]


def _observation(evidence: Evidence, group: Sequence[Slowdown]) -> Observation:
    top = max(group, key=lambda one: one.ratio.least)
    words = ("as one element of a long type", "the same bytes as many elements")
    return contrast_observed(evidence, group, f"{collective(top)}, count", words, _tried(evidence, top))


def _tried(evidence: Evidence, top: Slowdown) -> tuple[Tried, ...]:
    """Algorithms that were forced; that the fast side is fast proves nothing by itself."""
    return tuple(
        Tried(
            one.remedy,
            one.gone,
            all_stayed_words(one.stayed),
            all(other.held for other in one.stayed),
            one.launches,
        )
        for one in unders(evidence, [top.contrast])
        if one.remedy is not None and one.gone is not None
    )


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """The same under another algorithm that the library was forced to: the count no longer matters."""
    forced = [one for one in unders(evidence, seen.contrasts) if one.setting and "algorithm" in one.setting]
    gone = [one for one in forced if one.gone is not None]
    if not gone:
        return Support(
            "missing", "no other algorithm was forced; where a variable is known for it, slowpath run coll does"
        )
    lines = tuple(
        f"{one.length}, {one.environment}: {excess_words(one.gone)} of the excess is gone"
        for one in gone
        if one.gone is not None
    )
    best = max(one.gone[1] for one in gone if one.gone is not None)
    if best < LEAST_GONE:
        return Support("missing", "another algorithm leaves most of it: the type itself may be dear", lines)
    return Support("shown", "another algorithm, forced, takes as long for one element as for many", lines)


RULE = Rule(
    code="SP038",
    name="count cliff",
    title="A collective of few elements is slower than the same bytes as many",
    what="Algorithms that split a message among the ranks need at least one element for each of them.",
    shows="One element of a long type takes longer than as many bytes in n elements of a short one.",
    why="A library that counts elements, not bytes, takes another algorithm where there are fewer than ranks. Open "
    "MPI's MPI_Bcast and MPI_Allreduce do, and MPICH's shared memory for collectives takes no element longer than a "
    "cell.",
    needs="The same bytes as one element and as many, with the same op. Explained when a forced algorithm takes away "
    "the difference.",
    remedy="Send many elements of a small type, or force the algorithm.",
    false_alarms="A type with gaps is dear by itself (SP015); here both are contiguous.",
    sources=("Open MPI issues 8186 and 12550", "docs/results/collectives.md"),
    observe=observe,
    cause="The library chooses its algorithm by the number of elements.",
    witnesses=witnesses,
    hypotheses=("the library chooses its algorithm by the number of elements", "the type itself is dear to handle"),
    needs_law=False,
)
