# SPDX-License-Identifier: Apache-2.0
"""Who is held while a message is under way: one_way_s split by which of its two calls were running. Pure.

From the start of MPI_Send to the end of MPI_Recv there is, at every moment, the sender in its call, the receiver in its
call, both, or neither; the four parts add up to one_way_s exactly, message by message. What the receiver waits before
the sender begins, and what the sender does when the receiver is through, is not in one_way_s and is given separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from slowpath.core.cell_results import WhoPays
from slowpath.core.units import format_time
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, NS, PHASES, Absent, SampleBlock
from slowpath.experiments.p2p.layout import TOGETHER
from slowpath.experiments.p2p.metrics import LATE_ON_PURPOSE, OTHER_NODES, MessageMetrics, ends, messages
from slowpath.stats.inputs import median


@dataclass(frozen=True)
class Split:
    """One launch and phase: mean over its messages of each part's share of one_way_s; the shares add up to 1."""

    sender_alone: float  # in MPI_Send while the receiver has not begun
    both: float
    receiver_alone: float  # in MPI_Recv when the sender is through
    neither: float  # the sender is through and the receiver has not begun
    receiver_early_s: float  # median; how long MPI_Recv waits for MPI_Send to begin; negative: it begins later
    sender_after_s: float  # median; how long MPI_Send goes on after the end of MPI_Recv; negative: it ends before


def split(m: MessageMetrics) -> Split | None:
    """The shares of the four parts; None where an end lies before its begin, which one clock cannot give."""
    whole = (m.receive_end - m.send_begin).astype(np.float64)
    if not (whole > 0).all():
        return None
    sending = np.minimum(m.send_end, m.receive_end) - m.send_begin
    receiving = m.receive_end - np.maximum(m.receive_begin, m.send_begin)
    both = np.maximum(0, np.minimum(m.send_end, m.receive_end) - np.maximum(m.receive_begin, m.send_begin))
    parts = (sending - both, both, receiving - both, whole - (sending + receiving - both))
    alone, both_ratio, receiver, neither = (float(np.mean(part / whole)) for part in parts)
    early_s = median(m.send_begin - m.receive_begin) * NS
    after_s = median(m.send_end - m.receive_end) * NS
    return Split(alone, both_ratio, receiver, neither, early_s, after_s)


def splits(
    parameters: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext
) -> dict[str, Split] | Absent:
    """One launch's split of each phase that it has, or why there is none."""
    if parameters.get("pattern") != "one_way":
        return Absent("only pattern=one_way times both sides of a message")
    if parameters.get("synchronise") == "inside":
        return Absent("with synchronise=inside the receiver's call is not timed")
    if parameters.get("posted", TOGETHER) != TOGETHER:
        return LATE_ON_PURPOSE
    pair = ends(parameters, job.size)
    if not job.one_clock_with(max(pair)):
        return OTHER_NODES
    phases: dict[str, Split] = {}
    for phase in PHASES:
        found = messages(blocks, pair, phase)
        if isinstance(found, Absent):
            if found is not NO_SAMPLES:
                return found
        elif shares := split(found):
            phases[phase] = shares
    return phases or NO_SAMPLES


def statement(launches: Sequence[Split], one_way_s: float) -> WhoPays:
    """One phase over launches (docs/reference/results.md): means of the launches' shares, which still add up to 1.

    Args: launches: at least one.  one_way_s: the cell's estimate, of which the shares are taken.
    """
    alone, both, receiver, neither = np.mean([astuple(launch)[:4] for launch in launches], axis=0).tolist()
    in_send, in_receive = alone + both, receiver + both
    text = (
        f"Of {format_time(one_way_s)} from the start of MPI_Send to the end of MPI_Recv the sender is in its call for "
        f"{_percent(in_send)}, the receiver in its own for {_percent(in_receive)}; both are for {_percent(both)}."
    )
    return WhoPays(
        sender_alone_ratio=alone,
        both_ratio=both,
        receiver_alone_ratio=receiver,
        neither_ratio=neither,
        sender_s=in_send * one_way_s,
        receiver_s=in_receive * one_way_s,
        receiver_early_s=median([launch.receiver_early_s for launch in launches]),
        sender_after_s=median([launch.sender_after_s for launch in launches]),
        launches=len(launches),
        text=text,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
