# SPDX-License-Identifier: Apache-2.0
"""Metrics of the experiment p2p: two-sided messages. Definitions: docs/reference/metrics.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import (
    NO_SAMPLES,
    NS,
    PHASES,
    Absent,
    Derived,
    MetricSamples,
    SampleBlock,
    chosen,
    order_of,
    per_operation,
)
from slowpath.experiments.p2p.layout import TOGETHER, ends_of, receiver_of, window_messages

OTHER_NODES = Absent("sender and receiver are on different nodes, whose clocks are not compared")
LATE_ON_PURPOSE = Absent(
    "with posted=before and posted=after the receiver enters the library late on purpose; receive_s has its time there"
)


MESSAGE, OTHER = 0, 1  # parts of one_way: messages of message_bytes, and of other_bytes


def receiver(p: Mapping[str, str], size: int) -> int:
    """The rank that receives what rank 0 sends, in patterns of one pair that have no direction."""
    peer = receiver_of(p)
    return size - 1 if peer is None else peer


def ends(p: Mapping[str, str], size: int) -> tuple[int, int]:
    """Sender and receiver of patterns of one pair."""
    sender, got = ends_of(p)
    return (size - 1 if sender is None else sender), (size - 1 if got is None else got)


@dataclass(frozen=True)
class MessageMetrics:
    """When each message of a launch was sent and received: ns on one clock, int64, shape (messages,)."""

    send_begin: NDArray[np.int64]
    send_end: NDArray[np.int64]
    receive_begin: NDArray[np.int64]
    receive_end: NDArray[np.int64]


def of_message(blocks: Sequence[SampleBlock]) -> list[SampleBlock]:
    """Without those of other_bytes."""
    return [block for block in blocks if block.part == MESSAGE]


def messages(blocks: Sequence[SampleBlock], pair: tuple[int, int], phase: str) -> MessageMetrics | Absent:
    """Sender's and receiver's times of the same messages, by allocation and position.

    Args: blocks: those of other_bytes are left out.  pair: sender and receiver.
    """
    times: list[tuple[NDArray[np.int64], ...]] = []
    sender, last = pair
    received = {(b.allocation, b.seq0): b for b in of_message(chosen(blocks, last, phase))}
    for sent in of_message(chosen(blocks, sender, phase)):
        got = received.get((sent.allocation, sent.seq0))
        if (
            got is None
            or sent.start_ns is None
            or got.start_ns is None
            or len(got.duration_ns) != len(sent.duration_ns)
        ):
            return Absent(f"the {phase} blocks of sender and receiver do not match")
        begins = (sent.start_ns, got.start_ns)
        times.append((begins[0], begins[0] + sent.duration_ns, begins[1], begins[1] + got.duration_ns))
    if not times:
        return NO_SAMPLES
    return MessageMetrics(*(np.concatenate(column) for column in zip(*times, strict=True)))


def _one_way(
    blocks: Sequence[SampleBlock], pair: tuple[int, int], job: LaunchContext
) -> dict[str, MetricSamples] | Absent:
    """Receive end minus send start, message by message. Needs both ranks' start times on one clock."""
    if not job.one_clock_with(max(pair)):  # the other one is rank 0
        return OTHER_NODES
    phases: dict[str, MetricSamples] = {}
    for phase in PHASES:
        found = messages(blocks, pair, phase)
        if isinstance(found, MessageMetrics):
            values = (found.receive_end - found.send_begin).astype(np.float64) * NS
            phases[phase] = MetricSamples(values, 1, order=order_of(chosen(blocks, pair[0], phase)))
        elif found is not NO_SAMPLES:
            return found
    return phases or NO_SAMPLES


def one_way(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Single messages, timed on both ranks."""
    sender, last = ends(p, job.size)
    blocks = of_message(blocks)
    if p.get("synchronise") == "inside":
        return {"send_barrier_s": per_operation(blocks, sender, 1) or NO_SAMPLES}
    received: dict[str, MetricSamples] | Absent = per_operation(blocks, last, 1) or NO_SAMPLES
    if p.get("posted", TOGETHER) != TOGETHER:
        return {"one_way_s": LATE_ON_PURPOSE, "send_s": LATE_ON_PURPOSE, "receive_s": received}
    return {
        "one_way_s": _one_way(blocks, (sender, last), job),
        "send_s": per_operation(blocks, sender, 1) or NO_SAMPLES,
        "receive_s": received,
    }


def ping_pong(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Round trips, timed on the rank that begins them."""
    sender, _ = ends(p, job.size)
    return {"half_round_trip_latency_s": per_operation(blocks, sender, 2, batches=True) or NO_SAMPLES}


def polling(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Calls that find nothing, timed on the rank that makes them: the one that receives in the end."""
    _, asks = ends(p, job.size)
    return {"poll_s": per_operation(blocks, asks, 1, batches=True) or NO_SAMPLES}


def windowed(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """All pairs together: the longest sample of any pair, over the messages of all pairs, threads and directions."""
    pairs, each = int(p.get("pairs", "1")), window_messages(p)
    phases = {}
    for phase in PHASES:
        senders = [chosen(blocks, rank, phase) for rank in range(pairs)]
        if not all(senders):
            continue
        longest = []
        for together in zip(*senders, strict=False):
            n = min(len(b.duration_ns) for b in together)
            slowest = np.max([b.duration_ns[:n] for b in together], axis=0)
            longest.append(slowest * (NS / (together[0].batch * each * pairs)))
        batch = max(b.batch for b in senders[0])
        phases[phase] = MetricSamples(np.concatenate(longest), batch, each * pairs, consecutive=phase == "steady")
    return {"time_per_message_s": phases or NO_SAMPLES}
