# SPDX-License-Identifier: Apache-2.0
"""Counts next to a cell's times: calls of the C library and page faults (docs/internals/statistics.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.cell_results import CallCounts, CellResult, RoleWitness
from slowpath.core.result import Role
from slowpath.core.results import Finding
from slowpath.report import format as fmt

NOTHING = "nothing was counted"
MOST_CALLS = 4  # of one side, those made most often
_OPERATIONS = {
    "one_way": "message",
    "ping_pong": "round trip",
    "windowed": "window",
    "overlap": "exchange",
    "burst": "burst",
}
_SIDES = {"send": "sender", "receive": "receiver"}


@dataclass(frozen=True, slots=True)
class CountedCalls:
    """The counts of a cell. `side` states the side of the finding and where; `calls`: whether calls were counted."""

    side: str
    words: str
    calls: bool


def counted(cell: CellResult, phase: str) -> str:
    """Return counts such as `each message: receiver process_vm_readv 12, page faults 1`, or why none exist."""
    shown = [
        f"{_SIDES[role]} {_side(cell, role_witness)}"
        for role, role_witness in _roles(cell, phase).items()
        if role_witness
    ]
    unit = _OPERATIONS.get(cell.parameters.get("pattern", ""), "operation")
    return f"each {unit}: {'; '.join(shown)}" if shown else f"{fmt.MISSING} {_why(cell)}"


def has_calls(cell: CellResult, phase: str) -> bool:
    """Return whether the calls of at least one side were counted."""
    return any(role is not None and role.calls is not None for role in _roles(cell, phase).values())


def _roles(cell: CellResult, phase: str) -> Mapping[Role, RoleWitness | None]:
    return (cell.witness or {}).get(phase, {})


def calls_words(cell: CellResult, role_witness: RoleWitness) -> str:
    """Return the calls of one side per operation, the most frequent first, or a dash and the reason."""
    calls = role_witness.calls
    if calls is None:
        return f"{fmt.MISSING} calls: {_why(cell)}"
    made = sorted(((name, found) for name, found in calls.items() if found.calls_per_op), key=_often)
    shown = [_call(name, found) for name, found in made[:MOST_CALLS]]
    more = [f"{len(made) - MOST_CALLS} other kinds"] if len(made) > MOST_CALLS else []
    return ", ".join([*shown, *more]) or "none of the counted calls"


def of_finding(finding: Finding, cells: Mapping[int, CellResult]) -> list[CountedCalls]:
    """Return the counts of the cells that represent a finding's slow and fast side."""
    phase = finding.phase
    slow, fast = next(iter(finding.slow_cells), None), next(iter(finding.fast_cells), None)
    places = [("slow", slow, phase), ("fast", fast, "steady" if fast == slow else phase)]
    return [
        CountedCalls(f"{side}: {cell.label}, {where}", counted(cell, where), has_calls(cell, where))
        for side, number, where in places
        if number is not None and (cell := cells.get(number))
    ]


def _side(cell: CellResult, role_witness: RoleWitness) -> str:
    known = [
        value for value in (role_witness.minor_faults_per_op, role_witness.major_faults_per_op) if value is not None
    ]
    pages = _number(sum(known)) if known else f"{fmt.MISSING} (it stores no times)"
    return f"{calls_words(cell, role_witness)}, page faults {pages}"


def _often(entry: tuple[str, CallCounts]) -> float:
    return -entry[1].calls_per_op


def _call(name: str, found: CallCounts) -> str:
    length = found.bytes_per_op
    moved = f" ({fmt.count_bytes(round(length))})" if length else ""
    failed = f", {_number(found.failed_per_op)} failed" if found.failed_per_op else ""
    waited = f" ({fmt.time(found.time_s_per_op)})" if found.time_s_per_op else ""
    return f"{name} {_number(found.calls_per_op)}{moved}{waited}{failed}"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _why(cell: CellResult) -> str:
    return cell.calls_reason or cell.reason or NOTHING
