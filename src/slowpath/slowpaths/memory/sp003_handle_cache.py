# SPDX-License-Identifier: Apache-2.0
"""SP003: more buffers in turn than a cache of handles or registrations holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.findings.facts import LAW_RATIO, SPEAKING, Difference, Facts, ratio_words, times_words, where_words
from slowpath.findings.laws import Line, lines_along
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
    observed,
    tunings,
)
from slowpath.findings.witness import cost_witness
from slowpath.slowpaths.remedies import HANDLE_CACHE
from slowpath.stats.laws.known import CONSTANT, LIVE_BUFFERS
from slowpath.stats.laws.law import cost_words

LIVE = "live_buffers"


def observe(facts: Facts) -> Sequence[Observation]:
    """Later messages that get slower from some number of live buffers on, against those of the fewest buffers."""
    lines = lines_along(facts, LIVE, phase="steady", metrics=(*SPEAKING, "receive_s"))
    found = (_observation(facts, line) for line in lines)
    return [observation for observation in found if observation is not None]


def _observation(facts: Facts, line: Line) -> Observation | None:
    buffers = line.sweep.covariates[LIVE]
    slow, fast = line.slowest, int(buffers.argmin())
    ratio, law = line.picked_ratio(slow, fast), line.among((CONSTANT, LIVE_BUFFERS))
    if not ratio.beyond or ratio.least < LAW_RATIO or law.fits in (None, "constant"):
        return None
    difference = Difference(
        slow=line.cells[slow],
        fast=line.cells[fast],
        metric=line.sweep.metric,
        slow_s=float(line.centre_s[slow]),
        fast_s=float(line.centre_s[fast]),
        ratio=ratio,
    )
    limits = "".join(f"; the step lies above {b.above:g}, up to {b.up_to:g}" for b in law.brackets)
    cost = f"cost: {cost_words(law)}" if law.name else "no law of its growth holds"
    return observed(
        difference,
        about="live buffers",
        place=facts.place(line.cells, where_words(line.cells)),
        text=f"A later message from one of {buffers[slow]:g} live buffers is {ratio_words(ratio)} slower than from one "
        f"of {buffers[fast]:g}: {times_words(difference)}; {cost}{limits}.",
        affects_default=None,
        cells=tuple(cell.cell for cell in line.cells),
        law=law,
        evidence=(f"{ratio_words(ratio)}: pairs of launches of two cells",),
    )


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
