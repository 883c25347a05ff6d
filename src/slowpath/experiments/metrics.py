# SPDX-License-Identifier: Apache-2.0
"""The registry of metrics, and which function derives them from the blocks of an experiment's pattern. Pure.

Definitions: docs/reference/metrics.md. A metric that a cell should have and hasn't is an `Absent` with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slowpath.core.errors import RecordError
from slowpath.core.result import Interval
from slowpath.experiments.cannon import metrics as cannon
from slowpath.experiments.ipc import metrics as ipc
from slowpath.experiments.measured.job import Job
from slowpath.experiments.measured.series import Absent, Block, Derived, Series
from slowpath.experiments.p2p import metrics as p2p
from slowpath.experiments.p2p import overlap
from slowpath.experiments.printed import operation
from slowpath.experiments.put import metrics as put

__all__ = ["METRICS", "PATTERNS", "Absent", "Block", "Derived", "Metric", "Series", "derive", "rates"]


@dataclass(frozen=True)
class Metric:
    """What a metric's numbers are."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    meaning: str
    bandwidth: bool = False  # of one message in this time
    message_rate: bool = False  # one over this time


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric("half_round_trip_latency_s", "s", "lower", "half of one round trip, seen by rank 0", bandwidth=True),
        Metric("one_way_s", "s", "lower", "from the start of MPI_Send to the end of MPI_Recv, on one clock", True),
        Metric("send_s", "s", "lower", "inside MPI_Send"),
        Metric("receive_s", "s", "lower", "inside MPI_Recv"),
        Metric("communication_s", "s", "lower", "a message each way at once, started and waited for", bandwidth=True),
        Metric("compute_s", "s", "lower", "computing about as long, with no message under way"),
        Metric("overlapped_s", "s", "lower", "messages started, computing, messages waited for"),
        Metric("send_barrier_s", "s", "lower", "MPI_Send and the MPI_Barrier after it, seen by rank 0"),
        Metric("time_per_message_s", "s", "lower", "one message of a window of messages, all pairs", True, True),
        Metric("time_per_put_s", "s", "lower", "one put and its share of the synchronisation", True, True),
        Metric("put_call_s", "s", "lower", "one put of a burst, without the synchronisation"),
        Metric("synchronisation_s", "s", "lower", "the synchronisation that ends a burst"),
        Metric("multiply_s", "s", "lower", "one multiplication: from the first rank's start to the last rank's end"),
        *(Metric(f"{part}_s", "s", "lower", meaning) for part, meaning in cannon.MEANINGS.items()),
        Metric("exposed_s", "s", "lower", "what communication adds to the time of the computation around it"),
        Metric(
            "exposed_communication_ratio", "1", "lower", "the part of the communication that computing does not hide"
        ),
        Metric("exposed_ratio", "1", "lower", "the part of all ranks' time that is no local multiplication"),
        Metric("operation_s", "s", "lower", "one operation as another benchmark printed it: mean over its repetitions"),
        Metric("ipc_export_s", "s", "lower", "making the handle of a GPU allocation"),
        Metric("ipc_open_s", "s", "lower", "opening the handle of a fresh GPU allocation in another process"),
        Metric("ipc_first_access_s", "s", "lower", "the first copy from the opened allocation"),
        Metric("ipc_close_s", "s", "lower", "closing the opened allocation"),
        Metric("ipc_reopen_s", "s", "lower", "opening the same handle again"),
    )
}

Derive = Callable[[Mapping[str, str], Sequence[Block], Job], Derived]
PATTERNS: dict[tuple[str, str], Derive] = {
    ("p2p", "one_way"): p2p.one_way,
    ("p2p", "ping_pong"): p2p.ping_pong,
    ("p2p", "windowed"): p2p.windowed,
    ("p2p", "overlap"): overlap.overlap,
    ("put", "burst"): put.burst,
    ("cannon", "multiply"): cannon.multiply,
    ("ipc", "ipc"): ipc.steps,
    ("printed", "operation"): operation,
}
# Where the parameters name none.
_DEFAULT_PATTERN = {"p2p": "ping_pong", "put": "burst", "cannon": "multiply", "ipc": "ipc", "printed": "operation"}


def derive(experiment: str, parameters: Mapping[str, str], blocks: Sequence[Block], job: Job) -> Derived:
    """All metrics of one cell in one launch.

    Args:    parameters: the engine's, as in plan.txt.  blocks: of that cell and launch, all ranks.
             job: of that launch.
    Returns: metric name -> phase -> Series, or Absent with its reason.
    Raises:  RecordError: an experiment or a pattern that this version does not know.
    """
    pattern = parameters.get("pattern", _DEFAULT_PATTERN.get(experiment, ""))
    found = PATTERNS.get((experiment, pattern))
    if found is None:
        raise RecordError(
            f"the record holds experiment '{experiment}' with pattern '{pattern}', which this slowpath does not know; "
            "read it with the slowpath that wrote it"
        )
    return found(parameters, blocks, job)


# Designs of a put that move nothing: the price of the call itself, which has a rate and no bandwidth.
_NOTHING_MOVED = ("empty_call", "empty_call_5")


def rates(
    metric: Metric, parameters: Mapping[str, str], value_s: float, interval_s: Interval | None
) -> dict[str, float | Interval | None]:
    """The same measurement turned over; an interval turns over with it. Empty where the metric has no rates.

    Returns: bandwidth_bytes_per_s and its interval, message_rate_per_s and its interval; None for an empty message.
    """
    found: dict[str, float | Interval | None] = {}
    moved = parameters.get("design") not in _NOTHING_MOVED
    if metric.bandwidth:
        payload = int(parameters.get("message_bytes", "0")) * moved
        found["bandwidth_bytes_per_s"] = payload / value_s if payload else None
        found["bandwidth_interval"] = _turned(payload, interval_s) if payload else None
    if metric.message_rate:
        found["message_rate_per_s"] = 1.0 / value_s
        found["message_rate_interval"] = _turned(1, interval_s)
    return found


def _turned(amount: int, interval_s: Interval | None) -> Interval | None:
    return (amount / interval_s[1], amount / interval_s[0]) if interval_s else None
