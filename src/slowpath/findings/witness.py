# SPDX-License-Identifier: Apache-2.0
"""The library's control variables (MPI-4.1 section 15.3) and UCX's protocols, as results.json has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slowpath.core.cell_results import CellResult, RoleWitness
from slowpath.core.run_results import LibraryVariable, MpiResult, RunResult
from slowpath.core.units import format_time
from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import Observation, Support

# Lengths as text, in the way of several libraries: "64K", "64KB", "64KiB".
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

Value = bool | int | float | str | Sequence[int | float] | None


@dataclass(frozen=True)
class Setting:
    """A control variable in one environment. number: its value as one, a length in bytes; None: it is neither."""

    name: str
    number: float | None
    description: str


def library(run: RunResult, mpi: str | None) -> MpiResult | None:
    """What is known of the library under which something was seen; None: not which one it was."""
    every = run.mpis or [run.mpi]
    return next((library for library in every if library.mpi == mpi), every[0] if len(every) == 1 else None)


def control_variables(run: RunResult, mpi: str | None = None, environment: str | None = None) -> list[Setting]:
    """All that witnessed launches saw; empty where there was no such launch.

    Args: mpi: short name as cells have it; None: the first MPI of the run that has any.
          environment: the witnessed one whose values are asked for; None: the first.
    """
    having = (library for library in run.mpis if library.control_variables and mpi in (None, library.mpi))
    return _settings(next(having, None), environment)


def _settings(entry: MpiResult | None, environment: str | None) -> list[Setting]:
    rows = (entry.control_variables or []) if entry else []
    return [Setting(row.name, number_of(_value(row, environment)), row.description) for row in rows]


def _value(row: LibraryVariable, environment: str | None) -> Value:
    value: Value = (row.by_environment or {}).get(environment or "", row.value)
    return value


def protocol_limits(run: RunResult, mpi: str | None, environment: str | None, low: float, high: float) -> list[str]:
    """Rows of UCX's own table of protocols that begin in (low, high], in words; [] where there is no such table."""
    entry = library(run, mpi)
    return [
        f"UCX, {row.scope}, {row.operation}: from {row.first_bytes:.0f} bytes on {row.how}"
        for row in (entry.protocols or () if entry else ())
        if row.environment == environment and low < row.first_bytes <= high
    ]


def number_of(value: Value) -> float | None:
    """A number, or one with a suffix as libraries write lengths ("64K"); None: neither."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    return float(value) if not isinstance(value, str) else _length(value)


def _length(text: str) -> float | None:
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = digits[-1:] if digits[-1:] in ("K", "M", "G", "T") else ""
    digits = digits.removesuffix(unit)
    return float(int(digits) * _UNITS[unit]) if digits.isdecimal() else None


# What the kernel and the library were seen to do next to the times, and whether it agrees with a law.
#
# A witness agrees when what it counts accounts for the excess: processor time of one side, its waits taken off, for
# half of it up to all, faults or calls in the number that the law predicts to within a half.

ROLES = ("send", "receive")

SYSTEM_SHARE = (0.5, 1.1)  # of the excess that one side must account for: not more than all, to within its noise

ONE_SIDE = 0.5  # of its growth that the other side may have

ONE_OF_TWO = 0.9  # of the further page faults that one side has, to be called the one that faults

MANY_WAITS = 10.0  # calls for each operation, from which on system time is that of waiting

_NUMBER_AGREES = (0.5, 1.5)  # page faults over those that the law predicts

SINGLE_COPY = ("process_vm_readv", "process_vm_writev")

OTHER_PAGES = "the buffers lie on pages of another kind"

_WAITS = ("sched_yield", "poll", "futex_wait", "sleep")

SIDES: Mapping[str, Literal["sender", "receiver"]] = {"send": "sender", "receive": "receiver"}

_SOCKETS = ("socket_send", "socket_receive")


def sides(facts: Facts, seen: Observation) -> tuple[CellResult, CellResult]:
    """The slow cell that the observation speaks of, and the one that it is compared with."""
    return facts.cells[seen.slow_cells[0]], facts.cells[seen.fast_cells[0]]


def of(cell: CellResult, phase: str, role: str) -> RoleWitness | None:
    """Witness of one side in one phase; None when nothing was recorded."""
    by_phase = {str(name): roles for name, roles in (cell.witness or {}).items()}
    return {str(name): witness for name, witness in by_phase.get(phase, {}).items()}.get(role)


def total(cell: CellResult, phase: str, name: str) -> float | None:
    """A count or time per operation over both sides; None when neither recorded it."""
    witnesses = [witness for role in ROLES if (witness := of(cell, phase, role)) is not None]
    values = [value for witness in witnesses if (value := getattr(witness, name)) is not None]
    return float(sum(values)) if values else None


def calls(cell: CellResult, phase: str, names: Sequence[str], field: str = "bytes_per_op") -> float | None:
    """Calls or bytes per operation of these functions over both sides; None: no witnessed launch counted."""
    counted = [
        witness.calls for role in ROLES if (witness := of(cell, phase, role)) is not None and witness.calls is not None
    ]
    if not counted:
        return None
    return float(sum(getattr(entry, field) for counts in counted for name, entry in counts.items() if name in names))


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


@dataclass(frozen=True)
class Spent:
    """What one side spends more per operation on the slow side than on the fast one, seconds; None: not recorded.

    kernel: system time less that of calls that wait.  waiting: inside calls that wait.  is_waiting: whether it was
    counted to wait, so that its processor time is none of work.
    """

    kernel: float | None
    waiting: float | None
    is_waiting: bool


def spent(role: str, slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str) -> Spent:
    """Of one side."""
    slow_witness, other = of(slow, slow_phase, role), of(fast, fast_phase, role)
    kernel, waiting = _more(slow_witness, other, "system_time_s_per_op"), _waited(slow_witness, other, _WAITS)
    is_waiting = _calls_that_wait(slow_witness) >= MANY_WAITS
    if kernel is not None and waiting is not None:
        kernel = max(0.0, kernel - waiting)
    elif is_waiting:
        kernel = None  # its waits were not timed
    return Spent(kernel, waiting, is_waiting)


def system_time_words(
    slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str, excess_s: float | None
) -> str | None:
    """The line of evidence when the kernel's work for one side accounts for the excess; None when it doesn't.

    One side works and the other one waits. What a side spends in calls that wait (sched_yield, poll, futex, sleep) is
    taken off its system time. Nothing may account for more than the whole excess: a larger share is a contradiction.
    """
    if excess_s is None or excess_s <= 0:
        return None
    more = {role: spent(role, slow, slow_phase, fast, fast_phase) for role in ROLES}
    kernel = {role: spent.kernel for role, spent in more.items() if spent.kernel is not None}
    works = max(kernel, key=lambda role: kernel[role], default=None)
    if works is None or not SYSTEM_SHARE[0] <= kernel[works] / excess_s <= SYSTEM_SHARE[1]:
        return None
    if any(kernel[role] > ONE_SIDE * kernel[works] for role in kernel if role != works):
        return None
    other = next(role for role in ROLES if role != works)
    waits = f", and the {SIDES[other]} waits" if more[other].is_waiting else ""
    off = more[works].waiting
    waited = f" (without {format_time(off)} of waiting)" if off and off > 0.01 * excess_s else ""
    return (
        f"system time per operation of the {SIDES[works]} grows by {format_time(kernel[works])}{waited}, "
        f"{_share(kernel[works], excess_s)}{waits}"
    )


def _share(part_s: float, excess_s: float) -> str:
    """`61 % of the extra 49.2 us`; a measured share above 100 % counts as all of it."""
    return f"{100 * min(1.0, part_s / excess_s):.0f} % of the extra {format_time(excess_s)}"


def _more(slow_witness: RoleWitness | None, other: RoleWitness | None, name: str) -> float | None:
    """Slow minus fast; None: not recorded on both."""
    slow, fast = (getattr(witness, name) if witness else None for witness in (slow_witness, other))
    return None if slow is None or fast is None else float(slow - fast)


def _waited(slow_witness: RoleWitness | None, other: RoleWitness | None, kinds: Sequence[str]) -> float | None:
    """Time in calls of these kinds, slow minus fast; None: it was not taken on both."""
    sums: list[float] = []
    for witness in (slow_witness, other):
        calls_of = (witness.calls if witness else None) or {}
        times = [calls_of[name].time_s_per_op for name in kinds if name in calls_of]
        known = [value for value in times if value is not None]
        if not known:
            return None
        sums.append(sum(known))
    return sums[0] - sums[1]


def _calls_that_wait(witness: RoleWitness | None) -> float:
    counted = (witness.calls if witness else None) or {}
    return sum(counted[name].calls_per_op for name in _WAITS if name in counted)


def is_counted(cell: CellResult, phase: str) -> bool:
    """Whether calls were counted on every side that was recorded."""
    witnesses = [witness for role in ROLES if (witness := of(cell, phase, role)) is not None]
    return bool(witnesses) and all(witness.calls is not None for witness in witnesses)


def faults_words(slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str, pages: float) -> str | None:
    """The line of evidence when the page faults per operation grow by about `pages`; None when not."""
    slow_faults, other = total(slow, slow_phase, "minor_faults_per_op"), total(fast, fast_phase, "minor_faults_per_op")
    if (
        slow_faults is None
        or other is None
        or pages <= 0
        or not _NUMBER_AGREES[0] <= (slow_faults - other) / pages <= _NUMBER_AGREES[1]
    ):
        return None
    side = _faulting(slow, slow_phase, fast, fast_phase, slow_faults - other)
    return f"page faults per operation{side} grow by {slow_faults - other:.4g} (predicted: {pages:.4g})"


def _faulting(slow: CellResult, slow_phase: str, fast: CellResult, fast_phase: str, more: float) -> str:
    """` of the receiver`: who has nearly all of the further faults; empty: both have some, or one was not recorded."""
    for role in ROLES:
        slow_witness, other = of(slow, slow_phase, role), of(fast, fast_phase, role)
        faults = [witness.minor_faults_per_op if witness else None for witness in (slow_witness, other)]
        if faults[0] is not None and faults[1] is not None and faults[0] - faults[1] >= ONE_OF_TWO * more:
            return f" of the {SIDES[role]}"
    return ""


def without_waits(facts: Facts, seen: Observation, support: Support) -> Support:
    """What was witnessed; processor time is none where waiting calls, which spend it as well, were not counted."""
    if support.state != "shown" or not support.is_processor_time:
        return support
    slow, fast = sides(facts, seen)
    fast_phase = "steady" if slow is fast and seen.phase == "first" else seen.phase
    if not is_sampled(slow) and is_counted(slow, seen.phase) and is_counted(fast, fast_phase):
        return support
    return Support("missing", evidence=support.evidence)


def is_sampled(cell: CellResult) -> bool:
    """Whether blocks have processor times that the launch showed to mean nothing (record.events.ProcessorTime)."""
    witnesses = [
        witness for by_role in (cell.witness or {}).values() for witness in by_role.values() if witness is not None
    ]
    return bool(witnesses) and all(
        witness.system_time_s_per_op is None and witness.minor_faults_per_op is not None for witness in witnesses
    )


def _pages(seen: Observation) -> float | None:
    """Pages that the law charges for in the slow cell: the excess over the cost of one."""
    every = seen.law.coefficients if seen.law else ()
    terms = [term for term in every if term.per is not None and term.per.page_bytes is not None]
    if seen.excess_s is None or not terms or terms[0].value <= 0:
        return None
    return seen.excess_s / terms[0].value
