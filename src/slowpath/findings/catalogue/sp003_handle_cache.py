# SPDX-License-Identifier: Apache-2.0
"""SP003: more buffers in turn than a cache of handles or registrations holds."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.observed import GrowthWording, growths_observed
from slowpath.findings.evidence.witness import cost_witness
from slowpath.findings.rule import Observation, Rule

_WORDING = GrowthWording(
    "live_buffers", "live buffers", "A later message from one of {slow} live buffers", "from one of {fast}"
)


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Later messages that get slower from some number of live buffers on."""
    return growths_observed(evidence, _WORDING, ("constant", "live buffers"))


RULE = Rule(
    code="SP003",
    name="handle cache capacity",
    title="More buffers in use than a cache holds",
    what="Libraries cache opened handles and memory registrations. A program with more buffers than fit into the "
    "cache pays at every message.",
    shows="Later messages are fast with up to K buffers in turn, and slow from K + 1 on, at once and not gradually.",
    why="A cache that drops the least recently used entry always misses when K + 1 buffers take turns. MPICH "
    "keeps 16 GPU mappings; others keep more or fewer.",
    needs="The same messages with growing numbers of live buffers: law 'live buffers' with the capacity as its "
    "limit. Explained when system time accounts for the excess.",
    remedy="Use fewer buffers, or a larger cache (docs/reference/remedies.md names each library's variable).",
    false_alarms="Many buffers also leave the processor's caches; that grows in steps of the cache sizes and costs no "
    "system time.",
    sources=("docs/results/gpu.md", "docs/reference/ipc.md"),
    observe=observe,
    cause="The handle or registration cache holds fewer entries than there are buffers in use.",
    witnesses=cost_witness,
    hypotheses=("a cache of handles or registrations is full", "the buffers no longer fit into the processor's caches"),
    out_of_reach="Caches of GPU mappings need a GPU, registration caches a network card.",
)
