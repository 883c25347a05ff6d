# SPDX-License-Identifier: Apache-2.0
"""What the kernel and the library were seen to do beside the times, and whether it agrees with a law. Pure.

A witness agrees when what it counts accounts for the excess: system time of one side for half of it up to all and a
half more, faults or calls in the number that the law foretells to within a half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.core.units import format_time
from slowpath.findings.evidence.compared import Cell

ROLES = ("send", "receive")
SYSTEM_SHARE = (0.5, 1.5)  # of the excess that the system time of one side must account for
ONE_SIDE = 0.5  # of its growth that the other side may have
MANY_WAITS = 10.0  # calls for each operation, from which on system time is that of waiting
NUMBER_AGREES = (0.5, 1.5)
SINGLE_COPY = ("process_vm_readv", "process_vm_writev")
_WAITS = ("sched_yield", "poll", "futex_wait")
_SIDES = {"send": "sender", "receive": "receiver"}
_SOCKETS = ("socket_send", "socket_receive")


def of(cell: Cell, phase: str, role: str) -> Mapping[str, Any]:
    """Witness of one side in one phase; {} when nothing was recorded."""
    found: Mapping[str, Any] = ((cell.get("witness") or {}).get(phase) or {}).get(role) or {}
    return found


def total(cell: Cell, phase: str, name: str) -> float | None:
    """A count or time per operation over both sides; None when neither told."""
    values = [found[name] for role in ROLES if (found := of(cell, phase, role)).get(name) is not None]
    return float(sum(values)) if values else None


def calls(cell: Cell, phase: str, names: Sequence[str], what: str = "bytes_per_op") -> float | None:
    """Calls or bytes per operation of these functions over both sides; None: no witnessed launch told."""
    told = [found for role in ROLES if (found := of(cell, phase, role).get("calls")) is not None]
    if not told:
        return None
    return float(sum(entry[what] for one in told for name, entry in one.items() if name in names))


def single_copy_bytes(cell: Cell, phase: str = "steady") -> float | None:
    """Bytes per operation that one process copied straight from or to the other's memory."""
    return calls(cell, phase, SINGLE_COPY)


def socket_bytes(cell: Cell, phase: str = "steady") -> float | None:
    """Bytes per operation that went through sockets, each counted on both sides."""
    return calls(cell, phase, _SOCKETS)


def system_time_words(slow: Cell, slow_phase: str, fast: Cell, fast_phase: str, excess_s: float | None) -> str | None:
    """The line of evidence when the system time of one side accounts for the excess; None when it doesn't.

    One side works and the other one waits. A side that was counted to yield and poll waits, and what the kernel does
    for it says nothing of the work; where neither was and both grow alike, nothing tells which of the two works.
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


def _more_of(role: str, slow: Cell, slow_phase: str, fast: Cell, fast_phase: str) -> float | None:
    one, other = (
        of(cell, phase, role).get("system_time_s_per_op") for cell, phase in ((slow, slow_phase), (fast, fast_phase))
    )
    return None if one is None or other is None else float(one - other)


def _waiting(cell: Cell, phase: str, role: str) -> bool:
    counted: Mapping[str, Any] = of(cell, phase, role).get("calls") or {}
    waits = sum(float(counted[name]["calls_per_op"]) for name in _WAITS if name in counted)
    return waits >= MANY_WAITS


def faults_words(slow: Cell, slow_phase: str, fast: Cell, fast_phase: str, pages: float) -> str | None:
    """The line of evidence when the page faults per operation grow by about `pages`; None when not."""
    more = _more(slow, slow_phase, fast, fast_phase, "minor_faults_per_op")
    if more is None or pages <= 0 or not NUMBER_AGREES[0] <= more / pages <= NUMBER_AGREES[1]:
        return None
    return f"page faults per operation grow by {more:.4g}, where the law has {pages:.4g} pages"


def _more(slow: Cell, slow_phase: str, fast: Cell, fast_phase: str, name: str) -> float | None:
    one, other = total(slow, slow_phase, name), total(fast, fast_phase, name)
    return None if one is None or other is None else one - other


def pages_seen(cell: Cell, kinds: Sequence[str]) -> bool | None:
    """Whether all of its allocations were observed on pages of these kinds; None: not observed."""
    seen = {kind for kind in (cell.get("allocations") or {}).get("pages_observed", {}) if kind != "unknown"}
    return seen <= set(kinds) if seen else None
