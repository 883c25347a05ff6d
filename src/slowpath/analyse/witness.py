# SPDX-License-Identifier: Apache-2.0
"""Evidence beside the times: what the kernel did in each block, what the allocations were made of, and the instructions
of calls, as the engine counted them in each launch (event `instructions`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from slowpath.core.cell_results import (
    Allocations,
    Distribution,
    FunctionShare,
    InstructionCounts,
    InstructionRegion,
    InstructionTotal,
    LaunchInstructions,
    PerCall,
    RoleWitness,
)
from slowpath.core.result import Phase, Role
from slowpath.experiments.measured import LaunchRecord
from slowpath.record.blocks import WITNESSED
from slowpath.record.events import Allocation, Instructions, ProcessorTime

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
    totals = dict.fromkeys(WITNESSED, 0)
    operations = 0
    for launch in launches:
        if launch.blocks is None:
            continue
        index = launch.blocks
        rank = launch.size - 1 if asked_rank is None else asked_rank
        seen = index.select(cell=cell, rank=rank, phase=phase)
        seen = seen[index.flag("witness", seen)]
        if repeated_allocation is not None:
            seen = seen[index.headers["allocation"][seen] != repeated_allocation]
        *sums, taken = index.witnessed[seen].sum(axis=0).tolist()
        operations += taken
        for name, value in zip(totals, sums, strict=True):
            totals[name] += value
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
    """Return whether the kernel distinguished user from system time."""
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


REGIONS = ("put", "synchronisation")
_KINDS = ("stepped", "retired")
Counted = Sequence[tuple[int, Instructions]]  # (launch, event), in the order of launches


def instructions(
    experiment: str, parameters: Mapping[str, str], events: Sequence[tuple[int, Sequence[Instructions]]]
) -> tuple[InstructionCounts | None, str | None]:
    """A cell's `instructions` and `instructions_reason` of results.json.

    Args: events: for each launch that measured the cell its number and the cell's events.
    Returns: the reason is None only where both regions were counted.
    """
    regions: dict[str, InstructionRegion | None] = {}
    reasons: list[str] = []
    for region in REGIONS:
        said = [(launch, event) for launch, found in events if (event := _last(found, region))]
        counted = [(launch, event) for launch, event in said if event.counted]
        regions[region] = _region(counted) if counted else None
        if not counted:
            why = dict.fromkeys(event.reason for _, event in said if event.reason)
            reasons.append("; ".join(why) or _silence(experiment, parameters))
    if not any(regions.values()):
        return None, "; ".join(dict.fromkeys(reasons))
    lacking = next((region for region in REGIONS if regions[region] is None), None)
    return InstructionCounts(**regions), f"{lacking}: {reasons[0]}" if lacking else None


def _last(found: Sequence[Instructions], region: str) -> Instructions | None:
    """The region's event of the lowest rank, the origin; its last word counts."""
    mine = [event for event in found if event.region == region]
    lowest = min((event.rank for event in mine), default=None)
    return next((event for event in reversed(mine) if event.rank == lowest), None)


def _silence(experiment: str, parameters: Mapping[str, str]) -> str:
    """Why there is no event at all."""
    if "instructions" not in parameters:
        return f"experiment {experiment} does not count instructions"
    if parameters["instructions"] == "0":
        return "not asked for (instructions=0)"
    return "the engine reported no count"


def _region(counted: Counted) -> InstructionRegion:
    """One region over launches. Calls are pooled; `by_launch` keeps each launch's own."""
    events = [event for _, event in counted]
    calls = sum(event.calls or 0 for event in events)
    stepped, retired = (_distribution([n for e in events for n in getattr(e, kind)]) for kind in _KINDS)
    return InstructionRegion(
        method=" and ".join(sorted({event.method or "not reported" for event in events})),
        launches=len(events),
        calls=calls,
        per_call=PerCall(stepped=stepped, retired=retired),
        total=InstructionTotal(**{kind: float(np.median([sum(getattr(e, kind)) for e in events])) for kind in _KINDS}),
        loop_per_put=_loop(events),
        shares=_shares(events, calls),
        identical_over_launches=_identical(events),
        by_launch=[
            LaunchInstructions(
                launch=launch,
                calls=e.calls or 0,  # never 0: it was counted
                stepped=_times(e.stepped),
                retired=_times(e.retired),
                region_instructions=e.region_instructions,
            )
            for launch, e in counted
        ],
        reason=None if stepped else "no call leaves the program: all of it is in loop_per_put",
    )


def _times(counts: Sequence[int]) -> dict[str, int]:
    """Count of instructions -> how many calls took it, ascending."""
    return {str(value): times for value, times in sorted(Counter(counts).items())}


def _distribution(counts: Sequence[int]) -> Distribution | None:
    if not counts:
        return None
    return Distribution(
        median=float(np.median(counts)),
        min=min(counts),
        max=max(counts),
        mean=float(np.mean(counts)),
        counts=_times(counts),
    )


def _loop(events: Sequence[Instructions]) -> float | None:
    """Instructions of the program itself for each call: call site and loop. None where the region was not counted."""
    own = [
        (event.region_instructions - sum(event.stepped)) / event.calls
        for event in events
        if event.region_instructions is not None and event.calls
    ]
    return float(np.mean(own)) if own else None


def _shares(events: Sequence[Instructions], calls: int) -> list[FunctionShare]:
    """Where the stepped instructions of a call are spent on average, largest first."""
    totals: Counter[tuple[str, str]] = Counter()
    for event in events:
        for share in event.shares:
            totals[share.library, share.function] += share.instructions
    return [
        FunctionShare(library=library, function=function, per_call=total / calls)
        for (library, function), total in totals.most_common()
        if calls
    ]


def _identical(events: Sequence[Instructions]) -> bool | None:
    """Whether every launch gave the same counts, call by call; None with one launch, which cannot tell."""
    if len(events) < 2:
        return None
    return len({(tuple(event.stepped), tuple(event.retired)) for event in events}) == 1
