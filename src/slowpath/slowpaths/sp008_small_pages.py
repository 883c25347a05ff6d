# SPDX-License-Identifier: Apache-2.0
"""SP008: messages from host memory on small pages."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import HUGE_PAGE_BYTES, Facts, Slowdown, page_bytes
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import MALLOC, Observation, ProgramPrice, SlowPath, Support, When
from slowpath.findings.witness import OTHER_PAGES, pages_seen, sides, single_copy_bytes, system_time_words
from slowpath.slowpaths.remedies import (
    HUGE_PAGES,
    PROGRAM_HUGE_PAGES,
    PROGRAM_KEEP_HUGE_PAGES,
    PROGRAM_PAD_HOST,
    PROGRAM_RESERVED_HUGE_PAGES,
    PROGRAM_TWO_COPIES,
    page_of,
)

_WORDING = Wording("{size}messages from host memory on small pages", "from huge pages", "small pages")


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of page kinds in which huge pages are faster for later messages."""
    slowdowns = [slowdown for slowdown in facts.slowdowns("pages", phase="steady") if _huge_is_faster(slowdown)]
    groups = grouped(slowdowns, lambda slowdown: place_key(slowdown.slow, "pages"))
    return [slowdown_observed(facts, group, _WORDING) for group in groups]


def _huge_is_faster(slowdown: Slowdown) -> bool:
    slow, fast = page_bytes(slowdown.slow), page_bytes(slowdown.fast)
    asked = slowdown.fast_value.split(":")[0] == "huge"
    return (fast or (HUGE_PAGE_BYTES if asked else 0)) == HUGE_PAGE_BYTES != slow


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The kernel gave the pages that were asked for, and its time accounts for the extra time."""
    slow, fast = sides(facts, seen)
    kinds = (pages_seen(slow, ("small", "shared")), pages_seen(fast, ("huge",)))
    if False in kinds:
        return Support("refuted", OTHER_PAGES)
    if None in kinds:
        return Support("missing")
    pages = "page kinds observed: small under the slow messages, huge under the fast ones"
    time = system_time_words(slow, seen.phase, fast, seen.phase, seen.excess_s)
    if time is None:
        return Support("missing", evidence=(pages,))
    copied = single_copy_bytes(slow, seen.phase)
    if not copied:
        return Support("missing", evidence=(pages, time))
    copies = f"process_vm_readv or writev copies {copied:.4g} bytes per operation"
    return Support(
        "shown",
        "page kinds, system time and copies agree",
        (pages, time, copies),
        is_processor_time=True,
    )


SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    needs_law=False,  # what differs is the kind of page; what one costs grows with the length (evidence)
    kind="opportunity",
    probes=("pages",),
    remedies=(HUGE_PAGES,),
    removes_cause=(HUGE_PAGES,),
    program_remedies=(
        PROGRAM_HUGE_PAGES,
        PROGRAM_RESERVED_HUGE_PAGES,
        PROGRAM_KEEP_HUGE_PAGES,
        PROGRAM_TWO_COPIES,
        PROGRAM_PAD_HOST,
    ),
    prices=(
        ProgramPrice(
            "small pages",
            When(memory=MALLOC, below_page_bytes=HUGE_PAGE_BYTES, least_bytes=65536, first=False),
            "from malloc on small pages",
            HUGE_PAGES,
        ),
        ProgramPrice(
            "small pages of static data",
            When(
                memory=frozenset({"stack", "static data"}),
                below_page_bytes=HUGE_PAGE_BYTES,
                least_bytes=65536,
                first=False,
            ),
            "from static data or the stack on small pages",
            HUGE_PAGES,
            reaches_malloc=False,
        ),
    ),
    **page_of("SP008"),
)
