# SPDX-License-Identifier: Apache-2.0
"""SP012: memory that is touched for the first time by the message itself, or by the wrong rank."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence, Slowdown
from slowpath.findings.evidence.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.evidence.witness import faults_words, sides, system_time_words
from slowpath.findings.evidence.words import SMALL_PAGE_BYTES, number, parameter
from slowpath.findings.rule import Observation, Rule, Support

_WORDING = Wording("the first {size}messages into untouched memory", "into memory written before", "first touch")


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of memory that was written before its first message and memory that was not."""
    found = [one for one in evidence.slowdowns("touch", phase="first") if _untouched(one)]
    groups = grouped(found, lambda one: place_key(one.slow))
    return [slowdown_observed(evidence, group, _WORDING, evidence.difference_law) for group in groups]


def _untouched(one: Slowdown) -> bool:
    slow, fast = (parameter(cell, "touch", "write") for cell in (one.slow, one.fast))
    return slow == "none" and fast == "write"


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """Page faults in the number of the message's pages, or the kernel's time for them."""
    slow, fast = sides(evidence, seen)
    pages = (number(slow, "message_bytes") or 0.0) / SMALL_PAGE_BYTES
    lines = (
        faults_words(slow, "first", fast, "first", pages),
        system_time_words(slow, "first", fast, "first", seen.excess_s),
    )
    if shown := tuple(line for line in lines if line):
        return Support("shown", "law and witness agree", shown)
    return Support("missing", "page faults and system time do not account for the excess, or were not recorded")


RULE = Rule(
    code="SP012",
    name="first touch",
    title="Memory is touched for the first time inside the message",
    what="The system allocates a page when it is first written, on NUMA machines near the writer.",
    shows="The first message into fresh memory is slow by a time for each page; later ones are fast. Memory "
    "touched by the wrong rank stays slow.",
    why="Each first write to a page is a fault: the kernel finds a page, clears it and maps it, 0.1 to 1 us for 4 KiB.",
    needs="First messages into memory that was written before and that was not, over 4 lengths or more. "
    "Explained by page faults in the number of the message's pages, or system time.",
    remedy="Write every page from the rank that uses it before the first message.",
    false_alarms="With huge pages there is one fault for 512 small pages; the excess is smaller and still there.",
    sources=("set_mempolicy(2)", "docs/reference/engine-interface.md, touch"),
    observe=observe,
    cause="The message faults its pages in.",
    witnesses=witnesses,
    out_of_reach="Memory on the wrong NUMA node needs a machine with two.",
)
