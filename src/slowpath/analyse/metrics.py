# SPDX-License-Identifier: Apache-2.0
"""From blocks to metrics: what each pattern's samples mean, in seconds per operation. Definitions: docs/metrics.md.

Pure: arrays in, arrays out. A metric that a cell should have and hasn't is an `Absent` with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

NS = 1e-9


@dataclass(frozen=True)
class Metric:
    """What a metric's numbers are."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    meaning: str


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric("half_round_trip_latency_s", "s", "lower", "half of one round trip, seen by rank 0"),
        Metric("one_way_s", "s", "lower", "from the start of MPI_Send to the end of MPI_Recv, on one clock"),
        Metric("send_s", "s", "lower", "inside MPI_Send"),
        Metric("receive_s", "s", "lower", "inside MPI_Recv"),
        Metric("send_barrier_s", "s", "lower", "MPI_Send and the MPI_Barrier after it, seen by rank 0"),
        Metric("time_per_message_s", "s", "lower", "one message of a window of messages, all pairs together"),
    )
}


@dataclass(frozen=True)
class Block:
    """One block of the record, decoded: duration_ns and start_ns have shape (n,), int64; start_ns is absolute."""

    rank: int
    phase: str
    allocation: int
    batch: int
    seq0: int
    duration_ns: NDArray[np.int64]
    start_ns: NDArray[np.int64] | None


@dataclass(frozen=True)
class Series:
    """Samples of one metric, phase, cell and launch: seconds per operation, shape (n,), in the order taken."""

    values_s: NDArray[np.float64]
    batch: int
    operations: int = 1  # in each element of the batch; a sample spans batch * operations of them


@dataclass(frozen=True)
class Absent:
    """Why a metric can't be given."""

    reason: str


Derived = dict[str, dict[str, Series] | Absent]
PHASES = ("first", "steady")


def _of(blocks: Sequence[Block], rank: int, phase: str) -> list[Block]:
    chosen = [b for b in blocks if b.rank == rank and b.phase == phase]
    return sorted(chosen, key=lambda b: (b.allocation, b.seq0))


def _per_operation(blocks: Sequence[Block], rank: int, operations: int) -> dict[str, Series]:
    """Each sample of one rank divided by its batch and by the operations that one batch element holds."""
    phases = {}
    for phase in PHASES:
        if chosen := _of(blocks, rank, phase):
            values = np.concatenate([b.duration_ns * (NS / (b.batch * operations)) for b in chosen])
            phases[phase] = Series(values, max(b.batch for b in chosen), operations)
    return phases


def _one_way(blocks: Sequence[Block], size: int, one_clock: bool) -> dict[str, Series] | Absent:
    """Receive end minus send start, message by message. Needs both ranks' start times on one clock."""
    if not one_clock:
        return Absent("sender and receiver are on different nodes, whose clocks are not compared")
    phases: dict[str, Series] = {}
    for phase in PHASES:
        parts = []
        received = {(b.allocation, b.seq0): b for b in _of(blocks, size - 1, phase)}
        for sent in _of(blocks, 0, phase):
            got = received.get((sent.allocation, sent.seq0))
            if (
                got is None
                or sent.start_ns is None
                or got.start_ns is None
                or len(got.duration_ns) != len(sent.duration_ns)
            ):
                return Absent(f"the {phase} blocks of sender and receiver do not match")
            parts.append((got.start_ns + got.duration_ns - sent.start_ns) * NS)
        if parts:
            phases[phase] = Series(np.concatenate(parts), 1)
    return phases or Absent("no samples")


def _derive_one_way(p: Mapping[str, str], blocks: Sequence[Block], size: int, one_clock: bool) -> Derived:
    if p.get("synchronise") == "inside":
        return {"send_barrier_s": _per_operation(blocks, 0, 1) or Absent("no samples")}
    return {
        "one_way_s": _one_way(blocks, size, one_clock),
        "send_s": _per_operation(blocks, 0, 1) or Absent("no samples"),
        "receive_s": _per_operation(blocks, size - 1, 1) or Absent("no samples"),
    }


def _derive_ping_pong(p: Mapping[str, str], blocks: Sequence[Block], size: int, one_clock: bool) -> Derived:
    return {"half_round_trip_latency_s": _per_operation(blocks, 0, 2) or Absent("no samples")}


def _derive_windowed(p: Mapping[str, str], blocks: Sequence[Block], size: int, one_clock: bool) -> Derived:
    """All pairs together: the longest sample of any pair, over the messages of all pairs."""
    pairs, in_flight = int(p.get("pairs", "1")), int(p.get("in_flight", "64"))
    phases = {}
    for phase in PHASES:
        senders = [_of(blocks, rank, phase) for rank in range(pairs)]
        if not all(senders):
            continue
        longest = []
        for together in zip(*senders, strict=False):
            n = min(len(b.duration_ns) for b in together)
            slowest = np.max([b.duration_ns[:n] for b in together], axis=0)
            longest.append(slowest * (NS / (together[0].batch * in_flight * pairs)))
        phases[phase] = Series(np.concatenate(longest), max(b.batch for b in senders[0]), in_flight * pairs)
    return {"time_per_message_s": phases or Absent("no samples")}


_Derive = Callable[[Mapping[str, str], Sequence[Block], int, bool], Derived]
PATTERNS: dict[str, _Derive] = {
    "one_way": _derive_one_way,
    "ping_pong": _derive_ping_pong,
    "windowed": _derive_windowed,
}
# What a contrast or a picture of a pattern shows unless it names another.
HEADLINE = {
    "one_way": "one_way_s",
    "ping_pong": "half_round_trip_latency_s",
    "windowed": "time_per_message_s",
}


def derive(parameters: Mapping[str, str], blocks: Sequence[Block], size: int, one_clock: bool) -> Derived:
    """All metrics of one cell in one launch.

    Args:    parameters: the engine's, as in plan.txt.  blocks: of that cell and launch, all ranks.
             size: ranks in the job.  one_clock: rank 0 and the last rank share a node, hence CLOCK_MONOTONIC.
    Returns: metric name -> phase -> Series, or Absent with its reason.
    """
    return PATTERNS[parameters.get("pattern", "ping_pong")](parameters, blocks, size, one_clock)


def bandwidth_bytes_per_s(message_bytes: int, time_s: float) -> float | None:
    """Bytes of payload per second of one message's time; None for an empty message."""
    return message_bytes / time_s if message_bytes and time_s > 0 else None
