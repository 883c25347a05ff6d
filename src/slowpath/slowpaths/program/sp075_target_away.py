# SPDX-License-Identifier: Apache-2.0
"""SP075: one-sided calls that return only when their target, which computes, calls MPI again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.units import format_time
from slowpath.findings.program_pattern import Floats, Ints, ProgramCalls, ProgramSlowPath, SeenPattern, crowds, most
from slowpath.slowpaths.remedies import PROGRAM_ASYNCHRONOUS_PROGRESS

LEAST = 10  # calls of one place that wait for their target
USUAL = 0.5  # share of the calls there that have to: a target without a core is away now and then
SHORT_S = 20e-6  # of a wait that counts


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Places whose locks, flushes and unlocks wait while their target is outside MPI."""
    if calls.target_wait_s is None or calls.target is None:
        return ()
    if calls.resources is not None and crowds(calls.resources.ranks):
        return ()  # a target that shares a processor is away for want of it
    waits = np.flatnonzero(calls.target_wait_s > SHORT_S)
    found = []
    for site in np.unique(calls.site[waits]).tolist():
        here = waits[calls.site[waits] == site]
        every = (calls.site == site) & np.isin(calls.call, calls.call[here])
        if here.size >= max(LEAST, USUAL * every.sum()):
            found.append(_pattern(calls, here, calls.target_wait_s[here], calls.target[here]))
    return found


def _pattern(calls: ProgramCalls, rows: Ints, wait_s: Floats, target: Ints) -> SeenPattern:
    targets = np.unique(target)
    who = f"rank {targets[0]}" if targets.size == 1 else f"{targets.size} ranks"
    call = calls.names[int(np.bincount(calls.call[rows], weights=wait_s).argmax())]
    rest_s = np.maximum(calls.own_s[rows] - wait_s, 0.0)
    return SeenPattern(
        sites=most(calls.site[rows], wait_s),
        count=calls.stood_for(rows),
        text=f"{calls.stood_for(rows):,} calls of {call} in {{place}} waited {format_time(float(np.median(wait_s)))} "
        f"each (median) for {who}, the target, which was outside MPI",
        change=f"let {who} call MPI now and then while computing (MPI_Iprobe), put and get in windows of "
        "MPI_Win_allocate, or give the library a progress thread if cores are free "
        f"(slowpath prove --remedy {PROGRAM_ASYNCHRONOUS_PROGRESS.key})",
        basis="a replay of the calls without these waits; low: the waits less what each call takes besides",
        rows=rows,
        saved_s=np.stack([wait_s, np.maximum(wait_s - rest_s, 0.0), wait_s], axis=1),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP075",
    name="target away",
    title="One-sided calls wait until their target calls MPI",
    what="Where the library carries a one-sided access as a message, the target's library handles it inside MPI "
    "calls only, so a rank waits until its target has computed.",
    needs="A watched program: at one place half of the locks, flushes or unlocks, and ten at least, end only when "
    "their target is back in MPI, and a replay without these waits is shorter.",
    remedy="MPI_Iprobe or MPI_Test between pieces of the target's work; windows of MPI_Win_allocate or "
    "MPI_Win_allocate_shared with plain puts and gets; a progress thread of the library.",
    cause="The library needs the target's own calls to carry out an access.",
    needs_law=False,
    kind="property",
    pattern=see,
    is_wait="late target",
    program_remedies=(PROGRAM_ASYNCHRONOUS_PROGRESS,),
)
