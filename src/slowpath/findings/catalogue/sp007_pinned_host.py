# SPDX-License-Identifier: Apache-2.0
"""SP007: messages inside a node from pinned host memory."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence, Slowdown
from slowpath.findings.evidence.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.evidence.witness import pages_seen, sides, system_time_words
from slowpath.findings.evidence.words import parameter
from slowpath.findings.rule import Observation, Rule, Support

_PINNED = ("pinned_host", "pinned_registered")
_WORDING = Wording("{size}messages from pinned host memory", "from pageable memory", "pinned host memory")


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts between pinned and pageable host memory in which pinned memory is slower."""
    axes = ("memory", "environment") if evidence.imported else ("memory",)
    found = [one for one in evidence.slowdowns(*axes, phase="steady") if _pinned_is_slower(one)]
    groups = grouped(found, lambda one: () if evidence.imported else place_key(one.slow))
    return [slowdown_observed(evidence, group, _WORDING, evidence.difference_law) for group in groups]


def _pinned_is_slower(one: Slowdown) -> bool:
    slow, fast = (parameter(cell, "memory", "host") for cell in (one.slow, one.fast))
    return slow in _PINNED and fast == "host"


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """Small pages under the pinned buffers, and the kernel's time for the excess."""
    slow, fast = sides(evidence, seen)
    time = system_time_words(slow, seen.phase, fast, seen.phase, seen.excess_s)
    if time is None:
        return Support("missing", "system time does not account for the excess, or was not recorded")
    pages = pages_seen(slow, ("small", "shared"))
    if pages is None:
        return Support("missing", "the pages under the pinned buffers were not observed", (time,))
    if not pages:
        return Support("refuted", "the pinned buffers do not stand on small pages", (time,))
    return Support("shown", "law, page kinds and system time agree", ("small pages under the pinned buffers", time))


RULE = Rule(
    code="SP007",
    name="pinned host memory",
    title="Messages from pinned host memory are slower inside a node",
    what="Messages between processes of a node move more slowly from cudaMallocHost memory than from pageable memory.",
    shows="Long messages inside a node take several times as long from pinned memory, first and later ones "
    "alike; over the network they do not.",
    why="The driver maps pinned memory with small pages into a special mapping, and a single copy by the "
    "kernel handles it page by page. Registered pageable memory keeps its huge pages.",
    needs="The same messages from both kinds of memory at 4 lengths or more. Explained when small pages are "
    "observed under the pinned buffers and system time accounts for the excess.",
    remedy="Send from pageable memory on huge pages, or register it (cudaHostRegister) in place of cudaMallocHost.",
    false_alarms="Logs that do not state how they were launched can also differ in binding or path.",
    sources=("docs/results/gpu.md", "vm_insert_page, Linux mm/memory.c"),
    observe=observe,
    cause="The kernel copies pinned memory page by page, since it stands on small pages.",
    witnesses=witnesses,
    hypotheses=(
        "the kernel copies it page by page (system time)",
        "an attached mapping is faulted in again for each message (page faults)",
        "the library treats it as GPU memory",
        "the mapping is uncached or far away (a local copy is slow, too)",
    ),
    out_of_reach="Pinned memory needs a GPU's driver.",
)
