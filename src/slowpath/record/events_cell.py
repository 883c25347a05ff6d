# SPDX-License-Identifier: Apache-2.0
"""Events of one cell and its allocations (docs/internals/record.md).

Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.
"""

from __future__ import annotations

import msgspec


class CellBegin(msgspec.Struct, frozen=True, tag_field="event", tag="cell_begin"):
    """The engine starts a cell. slowpath-ipc, which is told by no plan, says here what the cell is."""

    t_ns: int
    cell: int
    experiment: str | None = None
    parameters: dict[str, str] | None = None


class Allocation(msgspec.Struct, frozen=True, tag_field="event", tag="allocation"):
    """A fresh allocation of one rank: what was asked for and what the kernel gave."""

    t_ns: int
    cell: int
    rank: int
    index: int
    role: str | None = None
    memory: str | None = None
    mpi_memory_kind: str | None = None
    pages_asked: str | None = None
    pages_observed: str | None = None
    huge_bytes: int | None = None
    page_bytes: int | None = None
    base: int | str | None = None
    address: int | str | None = None
    allocation_bytes: int | None = None
    offset_bytes: int | None = None
    reused_address: bool | None = None
    device: int | None = None


class Intervals(msgspec.Struct, frozen=True, tag_field="event", tag="intervals"):
    """Which step of one repetition each interval of a part belongs to; the same in every repetition."""

    t_ns: int
    cell: int
    rank: int
    part: int
    steps: tuple[int, ...]


class Repetitions(msgspec.Struct, frozen=True, tag_field="event", tag="repetitions"):
    """What disturbed each steady repetition on one rank, in order.

    other_cpu_s: processor time that processes other than the ranks used on the node meanwhile; null: not told.
    clock_hz: the frequency of the rank's processor right after the repetition; null: not known.
    clock_from: cpufreq | counted loop, or why there is no frequency.
    """

    t_ns: int
    cell: int
    rank: int
    involuntary_switches: tuple[int, ...]
    other_cpu_s: tuple[float | None, ...] = ()
    clock_hz: tuple[float | None, ...] = ()
    clock_from: str | None = None


class CellEnd(msgspec.Struct, frozen=True, tag_field="event", tag="cell_end"):
    """The engine is done with a cell."""

    t_ns: int
    cell: int
    status: str
    reason: str | None = None
    batch: int | None = None
    steady_samples: int | None = None
    stopped_because: str | None = None
    validated_bytes: int | None = None
    wrong_bytes: int | None = None
