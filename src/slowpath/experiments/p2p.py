# SPDX-License-Identifier: Apache-2.0
"""The experiment `p2p`: two-sided messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.engine_description import recorded_roles
from slowpath.core.units import side_values
from slowpath.experiments.experiment import Experiment, Pattern, SideEffect, timed
from slowpath.experiments.measured import Derived, LaunchContext, SampleBlock, longest, recorded_bytes, with_exposed
from slowpath.experiments.messages import (
    POLLING,
    TOGETHER,
    allocation_bytes,
    ends_of,
    one_way,
    other_bytes,
    ping_pong,
    polling,
    receiver,
    splits,
    window_messages,
    windowed,
    with_blocks,
)

_DEVICE_KINDS = ("device", "device_pool", "device_vmm")


@dataclass(frozen=True)
class P2pCost:
    """Assumed speeds of a slow machine of 2 cores."""

    cell_s: float = 0.002  # agreement, gathering and flushing of one cell
    allocation_s: float = 0.0001  # one fresh allocation and its release
    touch_s_per_byte: float = 0.3e-9  # first write: 5 ms for 16 MiB in small pages
    check_s_per_byte: float = 1.0e-9  # filling, poisoning and comparing
    line_s_per_byte: float = 0.5e-9  # reading lines or throwing them out of the caches
    message_s: float = 10e-6
    poll_s: float = 1e-6
    message_bytes_per_s: float = 4e9
    device_bytes_per_s: float = 20e9
    device_allocation_s: float = 0.0015  # one fresh buffer on both sides, opened by the other one (one H200, UCX 1.22)
    device_open_s_per_byte: float = 3e-12  # of its first message: 30 ns for each 4 KiB page of every second length
    device_check_s_per_byte: float = 2.0e-9
    batch_s: float = 5e-6  # a batch lasts at least 100 clock quanta
    fewest_samples: int = 8


_COST = P2pCost()


def p2p_seconds(p: Mapping[str, str], ranks: int) -> float:
    """Seconds that one cell takes in one launch."""
    message = int(p["message_bytes"])
    touched = max(_touched_bytes(p, side) for side in (0, 1))
    is_device = p["memory"] in _DEVICE_KINDS
    fresh = _COST.allocation_s + touched * _COST.touch_s_per_byte
    if is_device:
        stated_bytes = max((int(side) for side in side_values(p["buffer_bytes"]) if side.isdecimal()), default=0)
        fresh += _COST.device_allocation_s + stated_bytes * _COST.device_open_s_per_byte
    if p["validate"] == "on":
        fresh += message * (_COST.device_check_s_per_byte if is_device else _COST.check_s_per_byte)
    bytes_per_s = _COST.device_bytes_per_s if is_device else _COST.message_bytes_per_s
    message_s = _COST.message_s + message / bytes_per_s
    live = int(p.get("live_buffers", "1"))  # an engine from before they could be several has no such parameter
    if p["pattern"] == "one_way":
        each = message_s + _late_s(p) + float(p.get("idle_s", "0")) + _cache_s(p)
        if (other := other_bytes(p)) is not None:
            each += message_s + other / bytes_per_s + float(p.get("idle_s", "0"))
        moving = live * int(p["messages"]) * each + int(p.get("queue", "0")) * _COST.message_s
    else:
        operation = _COST.poll_s if p["pattern"] == POLLING else message_s * _messages_of_an_operation(p)
        sampled = int(p["samples"]) * max(operation, _COST.batch_s)
        steady = max(_COST.fewest_samples * operation, min(float(p["time_limit_s"]), sampled))
        moving = steady + max(4 * operation, float(p["warmup_s"])) + int(p.get("queue", "0")) * _COST.message_s
    return _COST.cell_s + int(p["allocations"]) * (live * fresh + moving)


def _messages_of_an_operation(p: Mapping[str, str]) -> int:
    """overlap: one each way, alone, and then as long again alone and together with as much computing, at worst."""
    return {"ping_pong": 2, "overlap": 8}.get(p["pattern"]) or window_messages(p)


def _late_s(p: Mapping[str, str]) -> float:
    """By which the receiver is late on purpose (engine/experiments/p2p/one_way.cpp)."""
    if p.get("posted", TOGETHER) == TOGETHER:
        return 0.0
    return 10e-6 + min(40e-6 + int(p["message_bytes"]) / 4e9, 1e-3)


def _cache_s(p: Mapping[str, str]) -> float:
    """To read a message, or to throw it out of the caches."""
    if p.get("cache", "as_is") == "as_is":
        return 0.0
    return int(p["message_bytes"]) * _COST.line_s_per_byte


def _touched_bytes(parameters: Mapping[str, str], side: int) -> int:
    """Bytes that the CPU writes before the first message; device memory is not touched."""
    if side_values(parameters["touch"])[side] != "write" or side_values(parameters["memory"])[side] in _DEVICE_KINDS:
        return 0
    return allocation_bytes(parameters, side)


COMMUNICATION, COMPUTATION, BOTH = 0, 1, 2


def overlap(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The slower end of each sample counts."""
    ends = (0, receiver(p, job.size))
    parts = (("communication_s", COMMUNICATION), ("compute_s", COMPUTATION), ("overlapped_s", BOTH))
    return with_exposed("communication_s", {name: longest(blocks, ends, part) for name, part in parts})


_UNLIKE_CALLS = "an early receive is timed in MPI_Wait, a late one in MPI_Probe and MPI_Recv"
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
        Pattern("ping_pong", ping_pong, timed("p2p", "ping_pong")),
        Pattern("one_way", one_way, timed("p2p", "one_way", not_across={"receive_s": {"posted": _UNLIKE_CALLS}})),
        Pattern("windowed", windowed, timed("p2p", "windowed")),
        Pattern("overlap", overlap, timed("p2p", "overlap")),
        Pattern("polling", polling, timed("p2p", "polling")),
    ),
    roles=recorded_roles("p2p"),
    seconds=p2p_seconds,
    shown=with_blocks,
    ends=ends_of,
    recorded_bytes=_recorded_bytes,
    split=splits,
    timelines={"one_way": "messages"},
    brief={"samples": "60", "time_limit_s": "0.01", "warmup_s": "0.003"},
    side_effects=(MESSAGES,),
)
