# SPDX-License-Identifier: Apache-2.0
"""SP012: memory that is touched for the first time by the message itself, or by the wrong rank."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Compared
from slowpath.findings.evidence.differences import SMALL_PAGE_BYTES, difference_law, number
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.rule import Leg, Observation, Rule


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of memory that was written before its first message and memory that was not."""
    found = [one for one in evidence.decided("touch", phase="first") if _untouched(one)]
    groups = grouped(found, lambda one: setting_key(one.slow))
    said = Said("The first message into untouched memory", "into memory written before", "first touch")
    return [
        observation(evidence, group, said, lambda g: difference_law(g, ("message_bytes",), evidence.minimum_effect))
        for group in groups
    ]


def _untouched(one: Compared) -> bool:
    slow, fast = (str(cell["parameters"].get("touch", "write")) for cell in (one.slow, one.fast))
    return slow == "none" and fast == "write"


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Page faults in the number of the message's pages, or the kernel's time for them."""
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    pages = (number(slow, "message_bytes") or 0.0) / SMALL_PAGE_BYTES
    lines = (
        witness.faults_words(slow, "first", fast, "first", pages),
        witness.system_time_words(slow, "first", fast, "first", seen.excess_s),
    )
    shown = tuple(line for line in lines if line)
    if shown:
        return Leg("shown", "law and witness agree", shown)
    return Leg("missing", "page faults and system time do not account for the excess, or were not recorded")


RULE = Rule(
    code="SP012",
    name="first touch",
    title="Memory is touched for the first time inside the message",
    what="The system gives memory a page at a time when it is first written; on machines with several NUMA "
    "nodes near the one who writes.",
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
