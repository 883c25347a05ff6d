# SPDX-License-Identifier: Apache-2.0
"""The ways by which bytes go from one rank to another without MPI, and which of them a cell's message could take.

docs/internals/yardsticks.md describes them; the engine's part `yardstick` times them. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from slowpath.core.units import whole_number

End = Literal["host", "gpu"]
_GPU = ("device", "device_pool", "device_vmm")
_HOST = ("host", "mpi", "pinned_host", "pinned_registered")
# What is timed of a message, by pattern; other patterns have several messages under way, which share what one costs.
METRIC_OF: Mapping[str, str] = {"ping_pong": "half_round_trip_latency_s", "one_way": "one_way_s"}


@dataclass(frozen=True)
class ByteWay:
    """part: every message needs it (hand-over), its bytes could go by it (copy), or it is there to compare with.

    ends: from where to where; None: any.  sized: whether it has a length.
    """

    name: str
    words: str
    part: Literal["hand-over", "copy", "compare"]
    ends: tuple[End, End] | None = None
    sized: bool = True


WAYS: tuple[ByteWay, ...] = (
    ByteWay("flag", "a flag passed through shared memory", "hand-over", sized=False),
    ByteWay("copy_across", "one copy out of shared memory", "copy", ("host", "host")),
    ByteWay("process_vm_readv", "one copy by the kernel", "copy", ("host", "host")),
    ByteWay("memcpy", "a copy within a process", "compare", ("host", "host")),
    ByteWay("memcpy_cold", "a copy within a process, out of all caches", "compare", ("host", "host")),
    ByteWay("gpu_copy", "a copy on the GPU", "copy", ("gpu", "gpu")),
    ByteWay("gpu_peer_copy", "a copy from GPU to GPU", "copy", ("gpu", "gpu")),
    ByteWay("gpu_to_host", "a copy from the GPU to pinned memory", "copy", ("gpu", "host")),
    ByteWay("gpu_from_host", "a copy from pinned memory to the GPU", "copy", ("host", "gpu")),
)


@dataclass(frozen=True)
class TimedMessage:
    """A cell's message: its length, where it goes, and the metric that times it."""

    bytes: int
    ends: tuple[End, End]
    sender: int | None  # None: the last rank
    receiver: int | None
    metric: str

    def ways(self) -> tuple[ByteWay, ...]:
        """Those that end where the message does."""
        return tuple(way for way in WAYS if way.ends in (None, self.ends))


def message_of(parameters: Mapping[str, str], ranks: tuple[int | None, int | None]) -> TimedMessage | str:
    """The message of a p2p cell, or why it has no floor."""
    metric = METRIC_OF.get(parameters.get("pattern", ""))
    if metric is None:
        return f"pattern={parameters.get('pattern')}: several messages are under way at once"
    if (parameters.get("posted", "together"), parameters.get("synchronise", "outside")) != ("together", "outside"):
        return "the sample holds more than the message"
    length = whole_number(parameters.get("message_bytes", ""))
    if not length:
        return "the message is empty"
    kinds = parameters.get("memory", "host").split(":")
    if not all(kind in _GPU or kind in _HOST for kind in kinds):
        return f"memory={parameters.get('memory')}: its pages move"
    ends: list[End] = ["gpu" if kind in _GPU else "host" for kind in (kinds[0], kinds[-1])]
    return TimedMessage(length, (ends[0], ends[1]), *ranks, metric)
