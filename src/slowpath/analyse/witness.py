# SPDX-License-Identifier: Apache-2.0
"""Evidence beside the times: what the kernel did in each block, and what the allocations were made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from slowpath.core.cell_results import Allocations, RoleWitness
from slowpath.core.result import Phase, Role
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.record.events import Allocation, ProcessorTime

_NUMBERS = ("minor_faults", "major_faults", "system_time_ns", "user_time_ns")
PHASES: tuple[Phase, ...] = ("first", "steady")
FIRST_TO_LAST: Mapping[Role, int | None] = {"send": 0, "receive": None}


def witnesses(
    launches: Sequence[LaunchRecord],
    cell: int,
    repeated_allocation: int | None = None,
    roles: Mapping[Role, int | None] = FIRST_TO_LAST,
) -> dict[Phase, dict[Role, RoleWitness | None]] | None:
    """Per phase and role: page faults and system time per operation, involuntary switches; None when not measured.

    Args: repeated_allocation: blocks with this number hold times of a stretch that other blocks hold, too, and repeat
          their witness.  receiver: rank; None: the last one.
    """
    result: dict[Phase, dict[Role, RoleWitness | None]] = {}
    for phase in PHASES:
        found = {role: _role(launches, cell, phase, rank, repeated_allocation) for role, rank in roles.items()}
        if any(found.values()):
            result[phase] = found
    return result or None


def _role(
    launches: Sequence[LaunchRecord], cell: int, phase: str, asked_rank: int | None, repeated_allocation: int | None
) -> RoleWitness | None:
    totals = dict.fromkeys((*_NUMBERS, "involuntary_switches"), 0)
    operations = 0
    for launch in launches:
        if launch.blocks is None:
            continue
        index = launch.blocks
        rank = launch.size - 1 if asked_rank is None else asked_rank
        seen = index.select(cell=cell, rank=rank, phase=phase)
        heads = index.headers[seen[index.flag("witness", seen)]]
        if repeated_allocation is not None:
            heads = heads[heads["allocation"] != repeated_allocation]
        operations += int((heads["n"] * heads["batch"]).sum())
        for name in totals:
            totals[name] += int(heads[name].sum())
    if not operations:
        return None
    reported = all(map(tells_processor_time_apart, launches))
    return RoleWitness(
        minor_faults_per_op=totals["minor_faults"] / operations,
        major_faults_per_op=totals["major_faults"] / operations,
        system_time_s_per_op=totals["system_time_ns"] * 1e-9 / operations if reported else None,
        user_time_s_per_op=totals["user_time_ns"] * 1e-9 / operations if reported else None,
        involuntary_switches=totals["involuntary_switches"],
        operations=operations,
    )


def tells_processor_time_apart(launch: LaunchRecord) -> bool:
    """Whether the kernel distinguished user from system time; a launch of an older engine did not ask: believed."""
    return all(processor_time.is_distinguished for processor_time in launch.events.of(ProcessorTime))


def allocations(launches: Iterable[LaunchRecord], cell: int) -> Allocations | None:
    """What the buffers of a cell were, over all launches and ranks; None when nothing was recorded."""
    seen: list[Allocation] = [a for launch in launches for a in launch.events.allocations(cell)]
    if not seen:
        return None
    sizes = [(a.huge_bytes, a.allocation_bytes) for a in seen if a.huge_bytes is not None and a.allocation_bytes]
    return Allocations(
        count=len(seen),
        reused_address=sum(bool(a.reused_address) for a in seen),
        pages_observed=dict(Counter(a.pages_observed for a in seen if a.pages_observed)),
        huge_ratio=float(np.mean([min(1.0, huge / size) for huge, size in sizes])) if sizes else None,
        mpi_memory_kinds=sorted({a.mpi_memory_kind for a in seen if a.mpi_memory_kind}),
    )


def validated(launches: Iterable[LaunchRecord], cell: int) -> tuple[int | None, int | None]:
    """Bytes compared and bytes found wrong in a cell over all launches; None when the engine did not say."""
    ends = [end for launch in launches if (end := launch.events.cell_ends.get(cell))]
    checked = [end.validated_bytes for end in ends if end.validated_bytes is not None]
    wrong = [end.wrong_bytes for end in ends if end.wrong_bytes is not None]
    return (sum(checked) if checked else None), (sum(wrong) if wrong else None)
