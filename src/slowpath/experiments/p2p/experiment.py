# SPDX-License-Identifier: Apache-2.0
"""The experiment `p2p`: two-sided messages."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.experiments.experiment import Experiment, Pattern, SideEffect
from slowpath.experiments.measured.recorded import recorded_bytes
from slowpath.experiments.metric import AROUND_COMPUTING, Metric
from slowpath.experiments.p2p.cost import p2p_seconds
from slowpath.experiments.p2p.layout import ends_of, other_bytes, with_blocks
from slowpath.experiments.p2p.metrics import one_way, ping_pong, polling, windowed
from slowpath.experiments.p2p.overlap import overlap
from slowpath.experiments.p2p.who_pays import splits

_PING_PONG = (
    Metric("half_round_trip_latency_s", "s", "lower", "half of one round trip, seen by rank 0", bandwidth=True),
)
_UNLIKE_CALLS = (
    "an early receive is timed in MPI_Wait, a late one in MPI_Probe and MPI_Recv, and the calls differ by themselves; "
    "SP020 compares them over message_bytes without that difference"
)
_ONE_WAY = (
    Metric(
        "one_way_s", "s", "lower", "from the start of MPI_Send to the end of MPI_Recv, on one clock", bandwidth=True
    ),
    Metric("send_s", "s", "lower", "inside MPI_Send"),
    Metric("receive_s", "s", "lower", "inside MPI_Recv", not_across={"posted": _UNLIKE_CALLS}),
    Metric("send_barrier_s", "s", "lower", "MPI_Send and the MPI_Barrier after it, seen by rank 0"),
)
_WINDOWED = (
    Metric(
        "time_per_message_s",
        "s",
        "lower",
        "one message of a window of messages, all pairs",
        bandwidth=True,
        message_rate=True,
    ),
)
_OVERLAP = (
    Metric("communication_s", "s", "lower", "a message each way at once, started and waited for", bandwidth=True),
    *AROUND_COMPUTING,
)
_POLLING = (Metric("poll_s", "s", "lower", "one call that finds nothing"),)

# Short messages, some about where protocols change, and long ones.
MESSAGES = SideEffect(
    axes=("environment", "placement", "pages", "memory"),
    parameters={"pattern": "ping_pong", "message_bytes": ["8", "65536", "1048576"]},
    metric="half_round_trip_latency_s",
)


def _recorded_bytes(parameters: Mapping[str, str], ranks: int) -> int:
    return recorded_bytes(parameters, ranks, parts=1 if other_bytes(parameters) is None else 2)


P2P = Experiment(
    name="p2p",
    patterns=(
        Pattern("ping_pong", ping_pong, _PING_PONG),
        Pattern("one_way", one_way, _ONE_WAY),
        Pattern("windowed", windowed, _WINDOWED),
        Pattern("overlap", overlap, _OVERLAP),
        Pattern("polling", polling, _POLLING),
    ),
    roles={
        "pattern": "setting",
        "memory": "setting",
        "pages": "setting",
        "device": "setting",
        "message_bytes": "covariate",
        "datatype": "setting",
        "blocks": "covariate",
        "block_bytes": "covariate",
        "pack": "setting",
        "buffer_bytes": "covariate",
        "overalloc_bytes": "covariate",
        "offset_bytes": "covariate",
        "other_bytes": "covariate",
        "allocations": "effort",
        "live_buffers": "covariate",
        "order": "setting",
        "messages": "effort",
        "synchronise": "setting",
        "posted": "setting",
        "queue": "covariate",
        "completion": "setting",
        "source": "setting",
        "poll": "setting",
        "open_receive": "setting",
        "in_flight": "covariate",
        "places": "setting",
        "requests": "setting",
        "pairs": "setting",
        "threads": "setting",
        "peer": "setting",
        "direction": "setting",
        "idle_s": "covariate",
        "idle": "setting",
        "cache": "setting",
        "progress": "setting",
        "samples": "effort",
        "time_limit_s": "effort",
        "warmup_s": "effort",
        "touch": "setting",
        "validate": "effort",
    },
    seconds=p2p_seconds,
    shown=with_blocks,
    ends=ends_of,
    recorded_bytes=_recorded_bytes,
    split=splits,
    timelines={"one_way": "messages"},
    brief={"samples": "60", "time_limit_s": "0.01", "warmup_s": "0.003"},
    side_effects=(MESSAGES,),
)
