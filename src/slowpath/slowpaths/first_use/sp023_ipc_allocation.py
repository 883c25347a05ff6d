# SPDX-License-Identifier: Apache-2.0
"""SP023: GPU memory whose first use costs by the whole allocation, or that goes through the host."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowpath.findings.facts import Facts, Slowdown, is_device, parameter
from slowpath.findings.laws import difference_law
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import (
    COLD,
    LATER,
    NOT_BY_PAGES,
    SIDE,
    USER,
    WAITING,
    Observation,
    Remedy,
    SlowPath,
    Support,
    set_to,
)
from slowpath.slowpaths.first_use.first_uses import FirstUse, first_use_witness, first_uses_observed
from slowpath.slowpaths.remedies import LIBSLOWPATH_PAD_SO, PAD_TO_2_MIB, PROGRAM_PAD

STAGED = "GPU memory staged"
_HOST = ("host", "pinned_host", "pinned_registered", "mpi")
_WORDING = Wording("{size}messages from GPU memory", "from host memory", STAGED)


def observe(facts: Facts) -> Sequence[Observation]:
    """First uses of GPU memory by the allocation's length, and GPU memory that is slower than host memory."""

    def wanted(use: FirstUse) -> bool:
        return use.by == "allocation" and is_device(use.slow)

    staged = [slowdown for slowdown in facts.slowdowns("memory", phase="steady") if _staged(facts, slowdown)]
    groups = grouped(staged, lambda one: place_key(one.slow))
    later = [
        slowdown_observed(facts, group, _WORDING, partial(difference_law, minimum_effect=facts.minimum_effect))
        for group in groups
    ]
    return [*first_uses_observed(facts, wanted), *later]


def _staged(facts: Facts, one: Slowdown) -> bool:
    return is_device(one.slow) and parameter(one.fast, "memory", "host") in _HOST and facts.as_found(one.slow)


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Of first uses the system time; no counter here shows that memory is staged."""
    if seen.about == STAGED:
        return Support("missing", "the path of GPU memory is not recorded; needs UCX's protocol table or a GPU trace")
    return first_use_witness(facts, seen)


MEMORY_FROM_CUDAMALLOC = Remedy(
    "memory from cudaMalloc",
    "Allocate GPU send buffers with cudaMalloc, not from a pool.",
    ("memory", "phase"),
    LATER,
    ("allocation and release get slower",),
    ("docs/results/gpu.md",),
    parameter="memory",
    change=set_to("memory", "device"),
    code="cudaMalloc(&buffer, length);  /* in place of cudaMallocAsync */",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP023",
    name="GPU allocation length, staging",
    title="GPU messages map the whole allocation, or are copied through the host",
    what="The library reaches a GPU buffer by mapping the whole allocation that holds it, or copies its bytes to "
    "the host: memory from pools, managed memory and GPUs that can't see each other have no handle.",
    needs="First messages over allocation lengths of GPU memory: law 'allocation'; later messages from GPU and from "
    "host memory.",
    remedy="Send from a dedicated cudaMalloc buffer; let each rank see all GPUs of the node.",
    observe=observe,
    cause="The whole GPU allocation is mapped at its first use.",
    witnesses=witnesses,
    hypotheses=("the library maps the whole allocation", "messages are staged through host memory"),
    kind="opportunity",
    rivals=(COLD, NOT_BY_PAGES, WAITING, USER, SIDE),
    probes=("device allocations",),
    remedies=(
        PAD_TO_2_MIB,
        LIBSLOWPATH_PAD_SO,
        MEMORY_FROM_CUDAMALLOC,
    ),
    program_remedies=(PROGRAM_PAD,),
)
