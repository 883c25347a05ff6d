# SPDX-License-Identifier: Apache-2.0
"""SP076: short messages by MPI_Ssend, which wait for their receives where MPI_Send would not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.program_pattern import (
    NONE,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    crowds,
    most,
)

LEAST = 10  # messages of one place that wait
SHORT_S = 2e-6  # of a wait that counts: shorter ones are the two calls' own edges


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Places whose synchronous sends wait, of a length that a standard send carries at once."""
    messages = calls.messages
    if calls.resources is not None and crowds(calls.resources.ranks):
        return ()  # a receiver that shares a processor is late for want of it
    known = np.flatnonzero((messages.sent != NONE) & (messages.left != NONE) & (messages.posted != NONE))
    known = known[calls.is_synchronous[messages.sent[known]] & (messages.bytes[known] <= calls.eager_bytes)]
    wait_s = calls.sender_wait_s(known)
    known, wait_s = known[wait_s > SHORT_S], wait_s[wait_s > SHORT_S]
    site = calls.site[messages.left[known]]
    return [
        _pattern(calls, known[site == place], wait_s[site == place])
        for place in np.unique(site).tolist()
        if (site == place).sum() >= LEAST
    ]


def _pattern(calls: ProgramCalls, message: Ints, wait_s: Floats) -> SeenPattern:
    messages = calls.messages
    left = messages.left[message]
    count = calls.stood_for(messages.sent[message])
    lead = calls.names[int(np.bincount(calls.call[messages.sent[message]]).argmax())]
    length = format_bytes(round(float(messages.bytes[message].mean())))
    standard = lead.removesuffix("_c").replace("Ssend", "Send").replace("Issend", "Isend")
    return SeenPattern(
        sites=most(calls.site[left], wait_s),
        count=count,
        text=f"{count:,} messages of {length} by {lead} in {{place}} waited {format_time(float(np.median(wait_s)))} "
        "each (median) for their receive",
        change=f"send them by {standard}, which does not wait for a receive up to {format_bytes(calls.eager_bytes)} "
        "unless a setting says so; check that the program does not rely on the receive having begun",
        basis="a replay of the calls without these waits",
        waited_s=float((wait_s * calls.seconds_weight[left]).sum()) / calls.ranks,
        freed=message,
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP076",
    name="synchronous sends",
    title="Short messages are sent synchronously, and wait for their receives",
    what="MPI_Ssend and MPI_Issend end only when their receive has begun, where MPI_Send of a short message would "
    "have returned at once.",
    needs="A watched program: at one place ten messages or more wait for their receive, of a length that a standard "
    "send sends before it, and a replay without these waits is shorter.",
    remedy="MPI_Send and MPI_Isend, where the program does not rely on the receive having begun.",
    cause="A synchronous send waits for its receive whatever its length.",
    needs_law=False,
    kind="property",
    pattern=see,
    is_wait="late receiver",
)
