# SPDX-License-Identifier: Apache-2.0
"""SP058: a rank computes before it posts a receive that its sender waits for, and others wait for the sender."""

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
    grouped,
    most,
)

LEAST = 10  # messages of one pair of places that are waited for
USUAL = 0.5  # share of the messages there that have to be
MORE = 2.0  # times as long as receivers wait for senders there: on busy processors either is late now and then
COMPUTED = 0.5  # share of the senders' waiting in which the receivers are outside MPI, directly before the receive
SHORT_S = 20e-6  # of a wait that counts


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Places whose senders usually wait while the receivers compute; what that costs, a replay says."""
    messages = calls.messages
    if calls.resources is not None and crowds(calls.resources.ranks):
        return ()  # ranks that share a processor are late for want of it
    known = np.flatnonzero((messages.left != NONE) & (messages.posted != NONE) & (messages.sent != NONE))
    known = known[~calls.is_collective[messages.left[known]]]
    needless = calls.is_synchronous[messages.sent[known]] & (messages.bytes[known] <= calls.eager_bytes)
    known = known[~needless]  # these wait for the kind of their send
    if not known.size:
        return ()
    wait_s, computed_s = _waits(calls, known)
    behind_s = np.maximum(calls.start_s[messages.sent[known]] - calls.start_s[messages.posted[known]], 0.0)
    alike, _ = grouped(calls.site[messages.left[known]], calls.site[messages.posted[known]])
    found = []
    for kind in np.unique(alike[wait_s > SHORT_S]).tolist():
        here = alike == kind
        waits = here & (wait_s > SHORT_S)
        longest_s = 3.0 * float(np.median(wait_s[waits]))  # one rank without a core for seconds is not the usual case
        ahead_s, late_s = (np.minimum(one[here], longest_s).sum() for one in (wait_s, behind_s))
        usual = waits.sum() >= max(LEAST, USUAL * here.sum()) and ahead_s >= MORE * late_s
        if usual and computed_s[waits].sum() >= COMPUTED * wait_s[waits].sum():
            found.append(_pattern(calls, known[waits], wait_s[waits]))
    return found


def _waits(calls: ProgramCalls, known: Ints) -> tuple[Floats, Floats]:
    """How long each sender waited for its receive, and how much of that the receiver spent outside MPI before it."""
    wait_s, gap_s = calls.sender_wait_s(known), calls.gap_s[calls.messages.posted[known]]
    return wait_s, np.minimum(wait_s, np.where(np.isfinite(gap_s), gap_s, 0.0))


def _pattern(calls: ProgramCalls, message: Ints, wait_s: Floats) -> SeenPattern:
    messages = calls.messages
    left, posted = messages.left[message], messages.posted[message]
    count = calls.stood_for(left)
    length = format_bytes(round(float(messages.bytes[message].mean())))
    receivers = np.unique(messages.destination[message])
    who = f"rank {receivers[0]}" if receivers.size == 1 else f"{receivers.size} ranks"
    sites = most(calls.site[posted], wait_s)
    return SeenPattern(
        sites=sites + tuple(site for site in most(calls.site[left], wait_s) if site not in sites),
        count=count,
        text=f"the senders of {count:,} messages of {length} that {who} received in {{place}} waited "
        f"{format_time(float(np.median(wait_s)))} each (median) for the receive, while {who} computed",
        change="receive before computing what does not need the message; or send with MPI_Isend and wait after the "
        "sender's computation; MPI_Irecv before computing helps if the library progresses without calls",
        basis="a replay of the calls without these waits; valid only if the receiver's earlier computation needs "
        "nothing of the message, which you have to check",
        waited_s=float((wait_s * calls.seconds_weight[left]).sum()) / calls.ranks,
        freed=message,
        least_share=_had_core(calls, receivers),
    )


def _had_core(calls: ProgramCalls, receivers: Ints) -> float:
    """Least share of the receivers' time outside MPI in which they had a processor."""
    if calls.resources is None:
        return 1.0
    shares = [rank for rank in calls.resources.ranks if rank.rank in receivers and rank.waited_s is not None]
    outside_s = sum(max(share.span_s - share.mpi_s, 0.0) for share in shares)
    waited_s = sum(share.waited_s or 0.0 for share in shares)
    return max(1.0 - waited_s / outside_s, 0.0) if outside_s > 0 else 1.0


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP058",
    name="receives after computing",
    title="Senders wait for receives that are posted only after computing",
    what="A long message goes when its receive is posted; until then its sender waits and computes nothing.",
    needs="A watched program: at one pair of places half of the messages and ten at least are waited for by their "
    "senders while the receiver is outside MPI, and a replay without these waits is shorter.",
    remedy="Receive first, compute then; or MPI_Isend and a later wait on the side of the sender.",
    cause="The receiver computes before it posts a receive that the sender waits for.",
    needs_law=False,
    kind="property",
    pattern=see,
    is_wait="late receiver",
)
