# SPDX-License-Identifier: Apache-2.0
"""Messages of the experiment `p2p`: how they lie in memory, who receives them, when, and whom each holds. Pure.

Which parameters can go together the engine says (`slowpath-engine check`); here they are taken to. A record from before
a parameter existed has none of it.

From the start of MPI_Send to the end of MPI_Recv there is, at every moment, the sender in its call, the receiver in its
call, both, or neither; the four parts add up to one_way_s exactly, message by message. What the receiver waits before
the sender begins, and what the sender does when the receiver is through, is not in one_way_s and is given separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.core.cell_results import WhoPays
from slowpath.core.units import format_time, side_values
from slowpath.experiments.measured import (
    NO_MATCH,
    NO_SAMPLES,
    NS,
    OTHER_NODES_REASON,
    PHASES,
    Absent,
    Derived,
    LaunchContext,
    MetricSamples,
    SampleBlock,
    Split,
    chosen,
    order_of,
    per_operation,
)
from slowpath.stats.estimate import median

Parameters = Mapping[str, str]

AUTO = "auto"
CONTIGUOUS, UNEVEN, TOGETHER, LAST = "contiguous", "indexed_uneven", "together", "last"
FORWARD, REVERSE, BOTH_WAYS = "forward", "reverse", "both"
NO_LENGTH = "none"
FRESH, PARTITIONED = "fresh", "partitioned"
POLLING = "polling"
APART, ONE_PLACE = "apart", "one"
_PLACE_BYTES = 64  # a cache line


def with_blocks(parameters: Parameters) -> dict[str, str]:
    """The same cell with `blocks` as a number, whichever of `blocks` and `block_bytes` was given."""
    written, message = parameters.get("block_bytes", AUTO), int(parameters.get("message_bytes", "0"))
    if written == AUTO or message == 0 or message % int(written):
        return dict(parameters)
    return {**parameters, "blocks": str(message // int(written)), "block_bytes": AUTO}


def blocks_of(parameters: Parameters) -> int:
    """Blocks of a message on a side whose datatype is not contiguous."""
    return int(with_blocks(parameters).get("blocks", "1"))


def is_in_blocks(parameters: Parameters, side: int) -> bool:
    """Whether the messages of a side lie in blocks. side: 0: sender, 1: receiver."""
    return side_values(parameters.get("datatype", CONTIGUOUS))[side] != CONTIGUOUS


def extent_bytes(parameters: Parameters, side: int) -> int:
    """From the first to the last byte of one message of a side: gaps as long as blocks lie between them, or with
    UNEVEN of three blocks' length and of one by turns.
    """
    message = int(parameters["message_bytes"])
    if not is_in_blocks(parameters, side):
        return message
    blocks = blocks_of(parameters)
    block = message // blocks
    if side_values(parameters["datatype"])[side] == UNEVEN:
        return block * (3 * (blocks - 1) + 1 + (blocks - 1) % 2) if message else 0
    return 2 * message - block


def span_bytes(parameters: Parameters, side: int) -> int:
    """Bytes from the first to the last one that the messages of a side occupy.

    Who receives a window has a place for each message in flight of each thread, on a multiple of 64 bytes, as the
    engine does; with places=one a place for each thread. Partitions follow one another without a gap, on both sides.
    """
    message = max(extent_bytes(parameters, side), other_bytes(parameters) or 0)
    partitions = parameters.get("requests", FRESH) == PARTITIONED
    apart = parameters["pattern"] == "windowed" and (side == 1 or is_both_ways(parameters) or partitions)
    of_thread = int(parameters["in_flight"]) if apart and parameters.get("places", APART) != ONE_PLACE else 1
    places = of_thread * threads_of(parameters) if apart else 1
    stride = message if partitions else -(-message // _PLACE_BYTES) * _PLACE_BYTES
    return (places - 1) * stride + message


def is_both_ways(parameters: Parameters) -> bool:
    """Whether both ends of a pair send and receive at once."""
    return parameters.get("direction", FORWARD) == BOTH_WAYS


def threads_of(parameters: Parameters) -> int:
    """Threads of each rank that communicate at once."""
    return int(parameters.get("threads", "1"))


def window_messages(parameters: Parameters) -> int:
    """Messages of a pair in one window of all its threads, in both directions."""
    directions = 2 if is_both_ways(parameters) else 1
    return int(parameters.get("in_flight", "64")) * threads_of(parameters) * directions


def other_bytes(parameters: Parameters) -> int | None:
    """Length of every second message; None: all are alike."""
    written = parameters.get("other_bytes", NO_LENGTH)
    return None if written == NO_LENGTH else int(written)


def allocation_bytes(parameters: Parameters, side: int) -> int:
    """Length of a buffer of a side, over-allocation included."""
    written = side_values(parameters["buffer_bytes"])[side]
    buffer = span_bytes(parameters, side) if written == "message" else int(written)
    return buffer + int(side_values(parameters["overalloc_bytes"])[side])


def ends_of(parameters: Parameters) -> tuple[int | None, int | None]:
    """Sender and receiver of patterns of one pair; None: the last rank. Who polls is the receiver: rank 0 of itself."""
    other = receiver_of(parameters)
    to_first = (parameters.get("direction", FORWARD) == REVERSE) != (parameters.get("pattern") == POLLING)
    return (other, 0) if to_first else (0, other)


def receiver_of(parameters: Parameters) -> int | None:
    """The rank that receives what rank 0 sends, or with direction=reverse the other way round, in patterns of one pair;
    None: the last one.
    """
    peer = parameters.get("peer", LAST)
    return None if peer == LAST or parameters.get("pattern") == "windowed" else int(peer)


OTHER_NODES = Absent(OTHER_NODES_REASON)
LATE_ON_PURPOSE = Absent("late on purpose (posted=before, after); see receive_s")


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
            return Absent(NO_MATCH)
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
        pair_messages = messages(blocks, pair, phase)
        if isinstance(pair_messages, MessageMetrics):
            values = (pair_messages.receive_end - pair_messages.send_begin).astype(np.float64) * NS
            phases[phase] = MetricSamples(values, 1, order=order_of(chosen(blocks, pair[0], phase)))
        elif pair_messages is not NO_SAMPLES:
            return pair_messages
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
        return Absent("only pattern=one_way times both sides")
    if parameters.get("synchronise") == "inside":
        return Absent("synchronise=inside times no receiver")
    if parameters.get("posted", TOGETHER) != TOGETHER:
        return LATE_ON_PURPOSE
    pair = ends(parameters, job.size)
    if not job.one_clock_with(max(pair)):
        return OTHER_NODES
    phases: dict[str, Split] = {}
    for phase in PHASES:
        pair_messages = messages(blocks, pair, phase)
        if isinstance(pair_messages, Absent):
            if pair_messages is not NO_SAMPLES:
                return pair_messages
        elif shares := split(pair_messages):
            phases[phase] = shares
    return phases or NO_SAMPLES


def statement(launches: Sequence[Split], one_way_s: float) -> WhoPays:
    """One phase over launches (docs/reference/results.md): means of the launches' shares, which still add up to 1.

    Args: launches: at least one.  one_way_s: the cell's estimate, of which the shares are taken.
    """
    alone, both, receiver, neither = np.mean([astuple(launch)[:4] for launch in launches], axis=0).tolist()
    in_send, in_receive = alone + both, receiver + both
    text = (
        f"Of {format_time(one_way_s)} {_percent(in_send)} in MPI_Send, {_percent(in_receive)} in MPI_Recv, "
        f"{_percent(both)} in both."
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
