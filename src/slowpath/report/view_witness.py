# SPDX-License-Identifier: Apache-2.0
"""What was counted next to a cell's times: calls of the C library, page faults (docs/internals/witnesses.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slowpath.report import format as fmt

Json = Any
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
class Counted:
    """What was counted in one cell. side: which side of a finding it is, and where.  calls: they were counted, too."""

    side: str
    words: str
    calls: bool


def counted(cell: Json, phase: str) -> str:
    """`each message: receiver process_vm_readv 12, page faults 1; sender ...`, or why nothing was counted."""
    roles = (cell.get("witness") or {}).get(phase) or {}
    told = [f"{_SIDES.get(role, role)} {_side(cell, one)}" for role, one in roles.items() if isinstance(one, dict)]
    unit = _OPERATIONS.get((cell.get("parameters") or {}).get("pattern", ""), "operation")
    return f"each {unit}: {'; '.join(told)}" if told else f"{fmt.MISSING} {_why(cell)}"


def has_calls(cell: Json, phase: str) -> bool:
    """Whether the calls of a side at least were counted."""
    roles = (cell.get("witness") or {}).get(phase) or {}
    return any((one or {}).get("calls") is not None for one in roles.values())


def calls_words(cell: Json, one: Json) -> str:
    """Calls of one side per operation, the most frequent first; a dash and why where they were not counted."""
    calls = one.get("calls")
    if calls is None:
        return f"{fmt.MISSING} calls: {_why(cell)}"
    made = sorted(((name, found) for name, found in calls.items() if found["calls_per_op"]), key=_often)
    shown = [_call(name, found) for name, found in made[:MOST_CALLS]]
    more = [f"{len(made) - MOST_CALLS} other kinds"] if len(made) > MOST_CALLS else []
    return ", ".join([*shown, *more]) or "no call of those that are watched"


def of_finding(finding: Json, cells: dict[int, Json]) -> list[Counted]:
    """Of the cells that stand for a finding's slow and fast side."""
    phase = finding["phase"]
    slow, fast = (next(iter(finding.get(f"{side}_cells") or ()), None) for side in ("slow", "fast"))
    places = [("slow", slow, phase), ("fast", fast, "steady" if fast == slow else phase)]
    return [
        Counted(f"{side}: {cells[number]['label']}, {where}", counted(cells[number], where),
                has_calls(cells[number], where))
        for side, number, where in places
        if number in cells
    ]  # fmt: skip


def _side(cell: Json, one: Json) -> str:
    faults = [one.get(name) for name in ("minor_faults_per_op", "major_faults_per_op")]
    known = [float(value) for value in faults if value is not None]
    pages = _number(sum(known)) if known else f"{fmt.MISSING} (it stores no times)"
    return f"{calls_words(cell, one)}, page faults {pages}"


def _often(entry: tuple[str, Json]) -> float:
    return -float(entry[1]["calls_per_op"])


def _call(name: str, found: Json) -> str:
    length = found.get("bytes_per_op")
    moved = f" ({fmt.count_bytes(round(length))})" if length else ""
    failed = f", {_number(found['failed_per_op'])} failed" if found.get("failed_per_op") else ""
    return f"{name} {_number(found['calls_per_op'])}{moved}{failed}"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _why(cell: Json) -> str:
    return cell.get("calls_reason") or cell.get("reason") or NOTHING
