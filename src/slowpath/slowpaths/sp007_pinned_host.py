# SPDX-License-Identifier: Apache-2.0
"""SP007: messages inside a node from pinned host memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.cell_results import CellResult
from slowpath.findings.facts import Facts, Slowdown, parameter
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import (
    EAGER,
    Observation,
    ProgramPrice,
    Remedy,
    SlowPath,
    Support,
    When,
    set_to,
)
from slowpath.findings.witness import OTHER_PAGES, pages_seen, sides, system_time_words
from slowpath.slowpaths.remedies import page_of

_CONDITIONS = ("nodes", "transport", "bind")
_PINNED = ("pinned_host", "pinned_registered")
_WORDING = Wording("{size}messages from pinned host memory", "from pageable memory", "pinned host memory")
_UNWRITTEN = replace(_WORDING, reference="from unwritten pageable memory")
_ZEROS = (
    "nothing had written the pageable memory, so the cached page of zeros may be the whole difference; compare with: "
    "slowpath run pinned-host"
)


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts between pinned and pageable host memory in which pinned memory is slower. That of a run has been
    written: where it has not, the page of zeros is the fast side, and not the pageable memory.
    """
    if facts.imported:
        return _of_logs(facts)
    slower = (slowdown for slowdown in facts.slowdowns("memory", phase="steady") if _pinned_is_slower(slowdown))
    written = [slowdown for slowdown in slower if _is_written(slowdown.fast)]
    groups = grouped(written, lambda slowdown: place_key(slowdown.slow))
    return [slowdown_observed(facts, group, _WORDING) for group in groups]


def _of_logs(facts: Facts) -> Sequence[Observation]:
    """Each two conditions apart: logs of other conditions do not agree with one another, they differ."""
    slowdowns = [
        slowdown for slowdown in facts.slowdowns("memory", "environment", phase="steady") if _pinned_is_slower(slowdown)
    ]
    stated = [facts.stated(slowdown.slow) for slowdown in slowdowns]
    is_inside = [here.get("nodes", "1") == "1" and here.get("transport") != "network" for here in stated]
    inside = [slowdown for slowdown, stays in zip(slowdowns, is_inside, strict=True) if stays]
    known = [slowdown for slowdown in inside if not _unknown(facts, slowdown)]
    alike = [slowdown for slowdown in known if facts.stated(slowdown.slow) == facts.stated(slowdown.fast)]

    def apart(slowdown: Slowdown) -> tuple[object, ...]:
        sides = slowdown.slow, slowdown.fast
        return _is_written(slowdown.fast), *(tuple(facts.stated(cell).items()) for cell in sides)

    return [_of_group(facts, group) for group in grouped(alike or inside, apart)]


def _unknown(facts: Facts, slowdown: Slowdown) -> list[str]:
    slow, fast = facts.stated(slowdown.slow), facts.stated(slowdown.fast)
    return [name for name in _CONDITIONS if name not in slow or name not in fast]


def _of_group(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    """What is stated of the slow and the fast side decides what may be concluded."""
    top = max(group, key=lambda slowdown: slowdown.excess_s)
    slow, fast = facts.stated(top.slow), facts.stated(top.fast)
    wording = _WORDING if (written := _is_written(top.fast)) else _UNWRITTEN
    if unknown := _unknown(facts, top):  # each of these logs may be a condition of its own
        doubt = f"not stated in the logs: {', '.join(unknown)}"
        seen = slowdown_observed(facts, [top], wording)
    else:
        differ = [f"{name} ({slow[name]}, {fast[name]})" for name in _CONDITIONS if slow[name] != fast[name]]
        doubt = f"the logs differ in {' and '.join(differ)}" if differ else ""
        seen = slowdown_observed(facts, group, wording)
    doubts = (*seen.doubts, *filter(None, (doubt, "" if written else _ZEROS)))
    return replace(seen, doubts=doubts, axis=seen.axis if written else "touch")


def _is_written(cell: CellResult) -> bool:
    return parameter(cell, "touch", "write").split(":")[0] == "write"


def _pinned_is_slower(slowdown: Slowdown) -> bool:
    slow, fast = (parameter(cell, "memory", "host") for cell in (slowdown.slow, slowdown.fast))
    return slow in _PINNED and fast == "host"


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Small pages under the pinned buffers, and the kernel's time for the excess."""
    slow, fast = sides(facts, seen)
    time = system_time_words(slow, seen.phase, fast, seen.phase, seen.excess_s)
    if time is None:
        return Support("missing")
    pages = pages_seen(slow, ("small", "shared"))
    if pages is None:
        return Support("missing", evidence=(time,))
    if not pages:
        return Support("refuted", OTHER_PAGES, (time,))
    return Support(
        "shown",
        "page kinds and system time agree",
        ("small pages under the pinned buffers", time),
        is_processor_time=True,
    )


PAGEABLE_HOST_MEMORY = Remedy(
    "pageable host memory",
    "Send from pageable memory inside a node. GPUs copy to and from it more slowly.",
    ("memory", "environment"),
    EAGER,
    parameter="memory",
    change=set_to("memory", "host"),
    code="void* buffer = malloc(length);  /* in place of cudaMallocHost */",
    phrase="memory from malloc",
)

SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    needs_law=False,
    kind="opportunity",
    probes=("memory kinds",),
    remedies=(PAGEABLE_HOST_MEMORY,),
    removes_cause=(PAGEABLE_HOST_MEMORY,),
    prices=(
        ProgramPrice(
            "pinned host memory",
            When(memory=frozenset({"pinned host memory"}), first=False),
            "from pinned host memory",
            PAGEABLE_HOST_MEMORY,
        ),
    ),
    **page_of("SP007"),
)
