# SPDX-License-Identifier: Apache-2.0
"""SP012: memory that is touched for the first time by the message itself, or by the wrong rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import SMALL_PAGE_BYTES, Facts, Slowdown, number, page_bytes, parameter
from slowpath.findings.laws import difference_law
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import WAITING, Control, Observation, Remedy, SlowPath, Support, set_to
from slowpath.findings.witness import faults_words, sides, system_time_words
from slowpath.mpi.own_settings import KEEP_FREED
from slowpath.slowpaths.remedies import (
    HUGE_PAGES,
    PROGRAM_HUGE_PAGES,
    PROGRAM_KEEP_FREED_MEMORY,
    PROGRAM_KEEP_HUGE_PAGES,
    PROGRAM_PAD_HOST,
    PROGRAM_RESERVED_HUGE_PAGES,
)
from slowpath.stats.laws.law import FittedLaw

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


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of memory that was written before its first message and memory that was not, each side by itself."""
    found = [slowdown for slowdown in facts.slowdowns("touch", phase="first") if _untouched(slowdown)]
    groups = grouped(found, lambda one: (_touch(one), *place_key(one.slow)))

    def law(group: Sequence[Slowdown]) -> FittedLaw | None:
        return partial(difference_law, minimum_effect=facts.minimum_effect)(_on_small_pages(group))

    return [slowdown_observed(facts, group, _WORDINGS[_touch(group[0])], law) for group in groups]


def _touch(one: Slowdown) -> str:
    return parameter(one.slow, "touch", "write")


def _untouched(one: Slowdown) -> bool:
    return _touch(one) in _WORDINGS and parameter(one.fast, "touch", "write") == "write"


def _on_small_pages(group: Sequence[Slowdown]) -> Sequence[Slowdown]:
    """Those whose untouched buffers came in pages of 4 KiB, where there are enough: where the system gives long ones
    huge pages, one cost for each byte can't hold for both.
    """
    small = [slowdown for slowdown in group if page_bytes(slowdown.slow) == SMALL_PAGE_BYTES]
    return small if len(small) >= FEWEST_ALIKE else group


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Page faults in the number of the message's pages, or the kernel's time for them."""
    slow, fast = sides(facts, seen)
    pages = (number(slow, "message_bytes") or 0.0) / (page_bytes(slow) or SMALL_PAGE_BYTES)
    lines = (
        faults_words(slow, "first", fast, "first", pages),
        system_time_words(slow, "first", fast, "first", seen.excess_s),
    )
    if shown := tuple(line for line in lines if line):
        return Support("shown", "law and witness agree", shown, "kernel", is_processor_time=lines[0] is None)
    return Support("missing", "page faults and system time do not account for the excess, or were not recorded")


_COLD_UNTOUCHED = Rival(
    name="cold cache", cause="Memory that nobody has written is not cached either: its bytes are fetched from memory."
)

_TOUCHED = Control(
    "round trips of 8 bytes reuse one page, which is present after the first of them",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)

TOUCH_BUFFERS_FIRST = Remedy(
    "touch buffers first",
    "Write every page of a buffer before its first message, on the core that uses it: memset or MAP_POPULATE does, "
    "calloc of a long buffer does not.",
    ("touch",),
    _TOUCHED,
    ("start-up takes the time of the page faults", "memory is used from then on, even if not needed"),
    ("mmap(2), MAP_POPULATE", "set_mempolicy(2)"),
    parameter="touch",
    change=set_to("touch", "write"),
    code=(
        "void* buffer = malloc(length);\n"
        "memset(buffer, 0, length);  /* by the thread that will send or receive; calloc writes nothing */\n"
        "/* or: mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0); */"
    ),
    phrase="buffers of which every page is written before the first message",
)

REUSE_TOUCHED_BUFFERS = Remedy(
    "reuse touched buffers",
    "Keep buffers and reuse them: free returns large ones to the system, and the next malloc gets untouched pages.",
    ("touch",),
    side_effects=("memory stays taken",),
    sources=("mallopt(3), M_MMAP_THRESHOLD",),
    untried="the finding's own later messages use kept buffers; there is nothing else to toggle",
    code="static void* buffer;  /* allocated and written once, kept from call to call */",
    phrase="buffers that were used before",
)

KEEP_FREED_MEMORY = Remedy(
    "keep freed memory",
    "Let glibc keep freed memory with its pages, if you can't change the program.",
    ("touch",),
    side_effects=("freed memory is not returned to the system", "fragmentation of a long-lived heap"),
    sources=("mallopt(3), M_MMAP_MAX and M_TRIM_THRESHOLD", "GNU C Library manual, Memory Allocation Tunables"),
    untried="the engine maps its buffers without malloc; set it for your program",
    code=f"export GLIBC_TUNABLES={KEEP_FREED}",
    phrase="GLIBC_TUNABLES that keep freed memory",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP012",
    name="first touch",
    title="The first message page-faults on untouched memory",
    what="The system allocates and clears a page when it is first written, 0.1 to 1 us for 4 KiB. Long buffers from "
    "malloc and calloc are not written yet.",
    needs="First messages into buffers that were written before and that were not, over 4 lengths or more. "
    "Explained by page faults in the number of the message's pages, or system time.",
    remedy="Write every page from the rank that uses it before the first message; reuse buffers.",
    observe=observe,
    cause="The message faults its pages in.",
    witnesses=witnesses,
    # Pages have to be made at some time: who writes them before the message pays as much then.
    kind="property",
    rivals=(_COLD_UNTOUCHED, WAITING),
    probes=("untouched",),
    remedies=(
        TOUCH_BUFFERS_FIRST,
        REUSE_TOUCHED_BUFFERS,
        KEEP_FREED_MEMORY,
        HUGE_PAGES,
    ),
    removes_cause=(TOUCH_BUFFERS_FIRST,),
    program_remedies=(
        PROGRAM_HUGE_PAGES,
        PROGRAM_RESERVED_HUGE_PAGES,
        PROGRAM_KEEP_FREED_MEMORY,
        PROGRAM_KEEP_HUGE_PAGES,
        PROGRAM_PAD_HOST,
    ),
)
