# SPDX-License-Identifier: Apache-2.0
"""SP003: more buffers in turn than a cache of handles or registrations holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.findings.facts import Facts
from slowpath.findings.observed import GrowthWording, growths_observed
from slowpath.findings.slow_path import (
    CAPACITY,
    SIDE,
    WAITING,
    Control,
    Observation,
    Parameters,
    ProgramRemedy,
    Remedy,
    SlowPath,
    Way,
    tunings,
)
from slowpath.findings.witness import cost_witness
from slowpath.slowpaths.remedies import HANDLE_CACHE

_WORDING = GrowthWording(
    "live_buffers", "live buffers", "A later message from one of {slow} live buffers", "from one of {fast}"
)


def observe(facts: Facts) -> Sequence[Observation]:
    """Later messages that get slower from some number of live buffers on."""
    return growths_observed(facts, _WORDING, ("constant", "live buffers"))


ONE_BUFFER = Control(
    "one live buffer on each side needs one cache entry, whatever the cache's size",
    parameters={"pattern": "ping_pong", "memory": "device", "message_bytes": "4194304", "live_buffers": "1"},
    metric="half_round_trip_latency_s",
)


def _fewer_buffers(parameters: Parameters) -> Mapping[str, str] | None:
    live = parameters.get("live_buffers", "1")
    return {**parameters, "live_buffers": "1"} if live.isdecimal() and int(live) > 1 else None


LARGER_HANDLE_CACHE = tunings(
    Remedy(
        "larger handle cache",
        "Enlarge the library's cache of IPC handles to the number of buffers.",
        ("live_buffers",),
        control=ONE_BUFFER,
        side_effects=("address space and driver memory of each open handle",),
        of_gpu_memory=True,
    )
)

FEWER_LIVE_BUFFERS = Remedy(
    "fewer live buffers",
    "Use fewer communication buffers, and reuse them.",
    ("live_buffers",),
    Control("the first message from a new buffer costs the same for any number of live buffers", phase="first"),
    ("the program must wait for a free buffer",),
    ("docs/results/gpu.md",),
    parameter="live_buffers",
    change=_fewer_buffers,
    code="static void* pool[8];  /* allocate once, use in turn */",
    phrase="fewer communication buffers, and each again",
)

PROGRAM_LARGER_HANDLE_CACHE = ProgramRemedy(
    "larger-handle-cache",
    "Let the library keep more GPU memory handles open.",
    "control variable",
    "docs/reference/remedies.md",
    table=tuple(remedy.name for remedy in LARGER_HANDLE_CACHE),
    ways=tuple(Way(remedy.applies, remedy.variables) for remedy in LARGER_HANDLE_CACHE),
    needs=("GPU",),
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP003",
    name="handle cache capacity",
    title="More buffers are in use than the library's cache holds",
    what="Libraries cache opened handles and memory registrations. With more buffers in turn than the cache holds, "
    "every message misses it. MPICH keeps 16 GPU mappings.",
    needs="The same messages with growing numbers of live buffers: law 'live buffers' with the capacity as its "
    "limit. Explained when system time accounts for the excess.",
    remedy="Use fewer buffers, or a larger cache (docs/reference/remedies.md).",
    observe=observe,
    cause="The handle or registration cache holds fewer entries than there are buffers in use.",
    witnesses=cost_witness,
    hypotheses=(
        "a cache of handles or registrations is full",
        "the buffers no longer fit into the processor's caches",
    ),
    kind="property",
    rivals=(CAPACITY, WAITING, SIDE),
    probes=("live buffers", "live device buffers"),
    remedies=(
        *LARGER_HANDLE_CACHE,
        *HANDLE_CACHE,
        FEWER_LIVE_BUFFERS,
    ),
    removes_cause=(FEWER_LIVE_BUFFERS,),
    program_remedies=(PROGRAM_LARGER_HANDLE_CACHE,),
)
