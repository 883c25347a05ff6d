# SPDX-License-Identifier: Apache-2.0
"""What the kernel and the library were seen to do next to the times, and whether it agrees with a law. Pure.

A witness agrees when what it counts accounts for the excess: system time of one side for half of it up to all and a
half more, faults or calls in the number that the law predicts to within a half.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowpath.core.cell_results import CellResult, RoleWitness
from slowpath.core.units import format_time
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.rule import Observation, Support

ROLES = ("send", "receive")
SYSTEM_SHARE = (0.5, 1.5)  # of the excess that the system time of one side must account for
ONE_SIDE = 0.5  # of its growth that the other side may have
ONE_OF_TWO = 0.9  # of the further page faults that one side has, to be called the one that faults
MANY_WAITS = 10.0  # calls for each operation, from which on system time is that of waiting
NUMBER_AGREES = (0.5, 1.5)
SINGLE_COPY = ("process_vm_readv", "process_vm_writev")
NOT_COUNTED = "calls were not counted; needs a launch with witness = true"
_WAITS = ("sched_yield", "poll", "futex_wait")
_SIDES = {"send": "sender", "receive": "receiver"}
_SOCKETS = ("socket_send", "socket_receive")


def sides(evidence: Evidence, seen: Observation) -> tuple[CellResult, CellResult]:
    """The slow cell that the observation speaks of, and the one that it is compared with."""
    return evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]


def of(cell: CellResult, phase: str, role: str) -> RoleWitness | None:
    """Witness of one side in one phase; None when nothing was recorded."""
    by_phase = {str(name): roles for name, roles in (cell.witness or {}).items()}
    return {str(name): found for name, found in by_phase.get(phase, {}).items()}.get(role)


def total(cell: CellResult, phase: str, name: str) -> float | None:
    """A count or time per operation over both sides; None when neither recorded it."""
    found = [one for role in ROLES if (one := of(cell, phase, role)) is not None]
    values = [value for one in found if (value := getattr(one, name)) is not None]
    return float(sum(values)) if values else None


def calls(cell: CellResult, phase: str, names: Sequence[str], what: str = "bytes_per_op") -> float | None:
    """Calls or bytes per operation of these functions over both sides; None: no witnessed launch counted."""
    counted = [one.calls for role in ROLES if (one := of(cell, phase, role)) is not None and one.calls is not None]
    if not counted:
        return None
    return float(sum(getattr(entry, what) for one in counted for name, entry in one.items() if name in names))


def single_copy_bytes(cell: CellResult, phase: str = "steady") -> float | None:
    """Bytes per operation that one process copied straight from or to the other's memory."""
    return calls(cell, phase, SINGLE_COPY)


def socket_bytes(cell: CellResult, phase: str = "steady") -> float | None:
    """Bytes per operation that went through sockets, each counted on both sides."""
    return calls(cell, phase, _SOCKETS)


def pages_seen(cell: CellResult, kinds: Sequence[str]) -> bool | None:
    """Whether all of its allocations were observed on pages of these kinds; None: not observed."""
    seen = set(cell.allocations.pages_observed) - {"unknown"} if cell.allocations else set()
    return seen <= set(kinds) if seen else None


def system_time_words(
    slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str, excess_s: float | None
) -> str | None:
    """The line of evidence when the system time of one side accounts for the excess; None when it doesn't.

    One side works and the other one waits. A side that was counted to yield and poll waits, and what the kernel does
    for it is no work. Where both sides' system time grows alike, nothing tells which of the two works.
    """
    more = {role: _more_of(role, slow, slow_phase, fast, fast_phase) for role in ROLES}
    waiting = [role for role in ROLES if _waiting(slow, slow_phase, role)]
    works = max((role for role in ROLES if role not in waiting), key=lambda role: more[role] or 0.0, default=None)
    if works is None:
        return None
    found = more[works]
    if found is None or excess_s is None or excess_s <= 0 or not SYSTEM_SHARE[0] <= found / excess_s <= SYSTEM_SHARE[1]:
        return None
    if any((more[role] or 0.0) > ONE_SIDE * found for role in ROLES if role not in (works, *waiting)):
        return None
    waits = f", while the {_SIDES[waiting[0]]} yields and waits" if waiting else ""
    return (
        f"system time per operation of the {_SIDES[works]} grows by {format_time(found)}, "
        f"{100 * found / excess_s:.0f} % of the excess of {format_time(excess_s)}{waits}: the time goes to the kernel"
    )


def _more_of(role: str, slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str) -> float | None:
    one, other = of(slow, slow_phase, role), of(fast, fast_phase, role)
    if one is None or other is None or one.system_time_s_per_op is None or other.system_time_s_per_op is None:
        return None
    return one.system_time_s_per_op - other.system_time_s_per_op


def _waiting(cell: CellResult, phase: str, role: str) -> bool:
    found = of(cell, phase, role)
    counted = (found.calls if found else None) or {}
    return sum(counted[name].calls_per_op for name in _WAITS if name in counted) >= MANY_WAITS


def faults_words(slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str, pages: float) -> str | None:
    """The line of evidence when the page faults per operation grow by about `pages`; None when not."""
    one, other = total(slow, slow_phase, "minor_faults_per_op"), total(fast, fast_phase, "minor_faults_per_op")
    if one is None or other is None or pages <= 0 or not NUMBER_AGREES[0] <= (one - other) / pages <= NUMBER_AGREES[1]:
        return None
    side = _faulting(slow, slow_phase, fast, fast_phase, one - other)
    return f"page faults per operation{side} grow by {one - other:.4g}, where the law has {pages:.4g} pages"


def _faulting(slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str, more: float) -> str:
    """` of the receiver`: who has nearly all of the further faults; empty: both have some, or one was not recorded."""
    for role in ROLES:
        one, other = of(slow, slow_phase, role), of(fast, fast_phase, role)
        faults = [found.minor_faults_per_op if found else None for found in (one, other)]
        if faults[0] is not None and faults[1] is not None and faults[0] - faults[1] >= ONE_OF_TWO * more:
            return f" of the {_SIDES[role]}"
    return ""


def first_use_witness(evidence: Evidence, seen: Observation) -> Support:
    """System time or page faults that account for the excess of the slow cell's first message."""
    slow, fast = sides(evidence, seen)
    phase = "first" if slow is not fast else "steady"
    pages = _pages(seen)
    lines: Iterable[str | None] = (
        faults_words(slow, "first", fast, phase, pages) if pages else None,
        system_time_words(slow, "first", fast, phase, seen.excess_s),
    )
    if shown := tuple(line for line in lines if line):
        return Support("shown", "law and witness agree", shown)
    if slow.witness is None:
        return Support("missing", "no page faults or system time were recorded next to the times")
    return Support(
        "missing", "page faults and system time do not account for the excess; a witnessed launch counts calls"
    )


def cost_witness(evidence: Evidence, seen: Observation) -> Support:
    """System time that accounts for what the slow cell takes more than the fast one, in the observation's phase."""
    slow, fast = sides(evidence, seen)
    line = system_time_words(slow, seen.phase, fast, seen.phase, seen.excess_s)
    if line:
        return Support("shown", "law and witness agree", (line,))
    if slow.witness is None or fast.witness is None:
        return Support("missing", "no system time was recorded next to the times")
    return Support("missing", "system time does not account for the excess; a witnessed launch counts calls")


def _pages(seen: Observation) -> float | None:
    """Pages that the law charges for in the slow cell: the excess over the cost of one."""
    terms = [one for one in seen.law.coefficients if one.unit.endswith(" page")] if seen.law else []
    if seen.excess_s is None or not terms or terms[0].value <= 0:
        return None
    return seen.excess_s / terms[0].value
