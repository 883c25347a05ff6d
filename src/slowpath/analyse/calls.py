# SPDX-License-Identifier: Apache-2.0
"""Calls of the C library in witnessed launches (docs/internals/witnesses.md), per operation of the timed cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from slowpath.core.cell_results import CallCounts, RoleWitness
from slowpath.core.result import Phase, Role
from slowpath.core.twins import Twins
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.experiments.measured.series import PHASES
from slowpath.record.events import WitnessedCallCount, WitnessedCalls

_NO_LAUNCH = "no witnessed launch of this cell in the run"
_NOT_COUNTED = (
    "the library that counts did not reach the ranks: does the launcher pass LD_PRELOAD on, and is the engine linked "
    "dynamically?"
)
_NO_EVENTS = "the experiment counts no calls"

# Of a rank that stores no times, and so no block.
_NOT_STORED = RoleWitness(
    minor_faults_per_op=None, major_faults_per_op=None, system_time_s_per_op=None, involuntary_switches=None
)

Roles = Mapping[Role, int | None]  # role -> rank; None: the last one
Witness = dict[Phase, dict[Role, RoleWitness | None]]


def with_calls(
    witness: Witness | None, cell: int, twins: Twins, launches_of: Mapping[int, Sequence[LaunchRecord]], roles: Roles
) -> tuple[Witness | None, str | None]:
    """`witness` of a cell with `calls` in each phase and role, and why there are none if so."""
    sources = [cell] if cell in twins.witnessed else twins.counted_by.get(cell, ())
    measured = [(number, launch) for number in sources for launch in launches_of.get(number, ())]
    if not measured:
        return witness, _NO_LAUNCH
    found: Witness = {phase: dict(both) for phase, both in (witness or {}).items()}
    for phase in PHASES:
        for role, rank in roles.items():
            events = [event for number, launch in measured for event in _events(launch, number, phase, rank)]
            if events:
                both = found.setdefault(phase, dict.fromkeys(roles))
                both[role] = msgspec.structs.replace(both[role] or _NOT_STORED, calls=per_operation(events))
    if any(one and one.calls is not None for both in found.values() for one in both.values()):
        return found, None
    counting = any(launch.events.begin and launch.events.begin.witnessed for _, launch in measured)
    return witness, _NO_EVENTS if counting else _NOT_COUNTED


def per_operation(events: Sequence[WitnessedCalls]) -> dict[str, CallCounts]:
    """All launches together: kind -> calls_per_op, bytes_per_op (None: calls without a length), failed_per_op."""
    operations = sum(event.operations for event in events)
    names = dict.fromkeys(name for event in events for name in event.counts)
    return {name: _one([e.counts[name] for e in events if name in e.counts], operations) for name in names}


def _one(counts: Sequence[WitnessedCallCount], operations: int) -> CallCounts:
    lengths = [count.bytes for count in counts if count.bytes is not None]
    times_ns = [count.time_ns for count in counts if count.time_ns is not None]
    return CallCounts(
        calls_per_op=sum(count.calls for count in counts) / operations,
        bytes_per_op=sum(lengths) / operations if lengths else None,
        failed_per_op=sum(count.failed for count in counts) / operations,
        time_s_per_op=1e-9 * sum(times_ns) / operations if times_ns else None,
    )


def _events(launch: LaunchRecord, cell: int, phase: str, rank: int | None) -> list[WitnessedCalls]:
    wanted = launch.size - 1 if rank is None else rank
    return [
        event
        for event in launch.events.calls(cell)
        if event.rank == wanted and event.phase == phase and event.operations > 0
    ]
