# SPDX-License-Identifier: Apache-2.0
"""SP012: memory that is touched for the first time by the message itself, or by the wrong rank."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence, Slowdown
from slowpath.findings.evidence.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.evidence.witness import faults_words, sides, system_time_words
from slowpath.findings.evidence.words import SMALL_PAGE_BYTES, number, page_bytes, parameter
from slowpath.findings.rule import Observation, Rule, Support
from slowpath.stats.laws.found import FittedLaw

FEWEST_ALIKE = 4  # contrasts on pages of one length, from which a law is fitted to these alone
_BOTH = Wording("the first {size}messages between untouched buffers", "between buffers written before", "first touch")
_WORDINGS = {
    "none": _BOTH,
    "none:none": _BOTH,
    "write:none": Wording(
        "the first {size}messages into buffers that the receiver never wrote",
        "into buffers written before",
        "first touch, receiver",
    ),
    "none:write": Wording(
        "the first {size}messages from buffers that the sender never wrote",
        "from buffers written before",
        "first touch, sender",
    ),
}


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of memory that was written before its first message and memory that was not, each side by itself."""
    found = [one for one in evidence.slowdowns("touch", phase="first") if _untouched(one)]
    groups = grouped(found, lambda one: (_touch(one), *place_key(one.slow)))

    def law(group: Sequence[Slowdown]) -> FittedLaw | None:
        return evidence.difference_law(_on_small_pages(group))

    return [slowdown_observed(evidence, group, _WORDINGS[_touch(group[0])], law) for group in groups]


def _touch(one: Slowdown) -> str:
    return parameter(one.slow, "touch", "write")


def _untouched(one: Slowdown) -> bool:
    return _touch(one) in _WORDINGS and parameter(one.fast, "touch", "write") == "write"


def _on_small_pages(group: Sequence[Slowdown]) -> Sequence[Slowdown]:
    """Those whose untouched buffers came in pages of 4 KiB, where there are enough: where the system gives long ones
    huge pages, one cost for each byte can't hold for both.
    """
    small = [one for one in group if page_bytes(one.slow) == SMALL_PAGE_BYTES]
    return small if len(small) >= FEWEST_ALIKE else group


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """Page faults in the number of the message's pages, or the kernel's time for them."""
    slow, fast = sides(evidence, seen)
    pages = (number(slow, "message_bytes") or 0.0) / (page_bytes(slow) or SMALL_PAGE_BYTES)
    lines = (
        faults_words(slow, "first", fast, "first", pages),
        system_time_words(slow, "first", fast, "first", seen.excess_s),
    )
    if shown := tuple(line for line in lines if line):
        return Support("shown", "law and witness agree", shown, "kernel", is_processor_time=lines[0] is None)
    return Support("missing", "page faults and system time do not account for the excess, or were not recorded")


RULE = Rule(
    code="SP012",
    name="first touch",
    title="Memory is touched for the first time inside the message",
    what="The system allocates a page when it is first written, on NUMA machines near the writer.",
    shows="The first message into fresh memory is slow by a time for each page; later ones are fast. Memory "
    "touched by the wrong rank stays slow.",
    why="Each first write to a page is a fault: the kernel finds a page, clears it and maps it, 0.1 to 1 us for 4 KiB. "
    "Long buffers from malloc and calloc are not written yet; free gives them back to the system, so that the next "
    "ones are fresh again.",
    needs="First messages into buffers that were written before and that were not, over 4 lengths or more, the "
    "receiver's and the sender's apart. What the second take more than the first is SP012's, the rest SP005's. "
    "Explained by page faults in the number of the message's pages, or system time.",
    remedy="Write every page from the rank that uses it before the first message; reuse buffers.",
    false_alarms="With huge pages there is one fault for 512 small pages; the excess is smaller and still there. "
    "A sender that never wrote reads one page of zeros again and again, which is quick: real data are not.",
    sources=("set_mempolicy(2)", "mallopt(3)", "docs/reference/engine-interface.md, touch"),
    observe=observe,
    cause="The message faults its pages in.",
    witnesses=witnesses,
    out_of_reach="Memory on the wrong NUMA node needs a machine with two.",
)
