# SPDX-License-Identifier: Apache-2.0
"""Pictures of a finding's two sides: each launch of the slow and the fast cell, and the counts next to their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.cell_results import CellResult, RoleWitness
from slowpath.core.results import ContrastResult, ContrastSide, Finding, Results
from slowpath.report import format as fmt
from slowpath.report.svg import sides as drawn
from slowpath.report.svg.sides import KernelTime, Kind, SideTimes

_PHASES = {"first": "first message", "steady": "later messages"}
_ROLES = {"send": "sender", "receive": "receiver"}
_OF_ONE_MESSAGE = ("one_way_s", "send_s", "receive_s", "send_barrier_s")  # metrics of what a witness counts by
_AGREES = 1.5  # how far the ratio of two medians may lie from the interval of pairs, in which noise cancels
_LEAST_SYSTEM = 0.2  # share of the slow side's time: less of it is no picture
_PARTS = {"compute_s": "computation alone", "communication_s": "message alone", "overlapped_s": "both at once"}


@dataclass(frozen=True, slots=True)
class _Ends:
    """The cells of both sides, each with its phase and its label."""

    slow: tuple[CellResult, str, str]
    fast: tuple[CellResult, str, str]
    metric: str


def side_of(cell: CellResult, metric: str, phase: str, label: str, kind: Kind) -> SideTimes | None:
    """Return a row, or None if the cell has no such times."""
    found = cell.estimate(metric, phase)
    if found is None:
        return None
    return SideTimes(label, kind, tuple(found.launch_values), found.value, found.interval)


def sides_picture(finding: Finding, results: Results) -> Markup | None:
    """Return slow and fast cell, or message, computation and both at once, or None without another side."""
    cells = {cell.cell: cell for cell in results.cells}
    ends = _ends(finding, results, cells)
    if ends is None:
        return _parts(finding, cells)
    (slow, slow_phase, slow_label), (fast, fast_phase, fast_label) = ends.slow, ends.fast
    rows = [
        side_of(slow, ends.metric, slow_phase, slow_label, "slow"),
        side_of(fast, ends.metric, fast_phase, fast_label, "fast"),
    ]
    if None in rows:
        return None
    return drawn.chart([row for row in rows if row], axis_title(ends.metric), f"Both sides of {finding.rule}")


def axis_title(metric: str) -> str:
    """Return the title of an axis, such as `One-way time`."""
    words = fmt.metric_name(metric)
    return words[:1].upper() + words[1:]


def _ends(finding: Finding, results: Results, cells: Mapping[int, CellResult]) -> _Ends | None:
    """Return the cells that the finding's text is about.

    None if they don't show the finding's own ratio: a picture must not contradict the number next to it.
    """
    slow, fast = (cells.get(next(iter(some), -1)) for some in (finding.slow_cells, finding.fast_cells))
    if slow is None or fast is None:
        return None
    pair = {slow.cell, fast.cell}
    known = [
        contrast
        for contrast in results.contrasts
        if contrast.id in finding.contrasts and {contrast.a.cell, contrast.b.cell} == pair
    ]
    chosen = next((contrast for contrast in known if contrast.metric == finding.metric), None)
    if chosen is not None and chosen.ratio:
        sides = (chosen.b, chosen.a) if chosen.ratio > 1 else (chosen.a, chosen.b)
        ends = _Ends(_end(chosen, sides[0], cells), _end(chosen, sides[1], cells), finding.metric)
    elif slow is fast:
        ends = _Ends((slow, "first", _PHASES["first"]), (slow, "steady", _PHASES["steady"]), finding.metric)
    else:
        phase = finding.phase
        ends = _Ends((slow, phase, _apart(slow, fast)), (fast, phase, _apart(fast, slow)), finding.metric)
    return ends if _agrees(ends, finding) else None


def _agrees(ends: _Ends, finding: Finding) -> bool:
    slow, fast = (cell.estimate(ends.metric, phase) for cell, phase, _ in (ends.slow, ends.fast))
    if slow is None or fast is None or not finding.ratio:
        return False
    shown = slow.value / fast.value
    low, high = finding.interval or (finding.ratio, finding.ratio)
    return low / _AGREES <= shown <= high * _AGREES


def _apart(cell: CellResult, other: CellResult) -> str:
    """Return how a cell differs from the other: in parameters, environment, placement and library."""
    own, its = ({**side.parameters, "environment": side.environment, "placement": side.placement, "mpi": side.mpi}
                for side in (cell, other))  # fmt: skip
    differing = [name for name, value in own.items() if value != its.get(name)]
    return ", ".join(_setting(name, own[name]) for name in differing) or cell.label


def _setting(name: str, value: str | None) -> str:
    words = name.removesuffix("_bytes").replace("_", " ")
    if name.endswith("_bytes") and value and value.isdecimal():
        value = fmt.count_bytes(int(value))
    return f"{words} {value}"


def _end(contrast: ContrastResult, side: ContrastSide, cells: Mapping[int, CellResult]) -> tuple[CellResult, str, str]:
    if contrast.axis == "phase":
        return cells[side.cell], side.phase, _PHASES.get(side.phase, side.phase)
    return cells[side.cell], side.phase, _setting(contrast.axis, side.value)


def _parts(finding: Finding, cells: Mapping[int, CellResult]) -> Markup | None:
    """Return a message behind a computation: each separately, and both."""
    cell = cells.get(next(iter(finding.slow_cells), -1))
    if cell is None or finding.metric != "overlapped_s":
        return None
    rows = [side_of(cell, name, finding.phase, words, "slow" if name == "overlapped_s" else "fast")
            for name, words in _PARTS.items()]  # fmt: skip
    rows[1] = rows[1] or side_of(cell, "communication_s", "steady", _PARTS["communication_s"], "fast")
    return drawn.chart([row for row in rows if row], "Time", f"What overlaps, {finding.rule}")


def witness_picture(finding: Finding, results: Results) -> Markup | None:
    """Return the time in the kernel on both sides, or None if it was not counted."""
    cells = {cell.cell: cell for cell in results.cells}
    ends = _ends(finding, results, cells)
    if ends is None or ends.metric not in _OF_ONE_MESSAGE:
        return None
    seen = [*_seen(*ends.slow, ends.metric, "slow"), *_seen(*ends.fast, ends.metric, "fast")]
    if not any(
        kernel_time.system_s >= _LEAST_SYSTEM * kernel_time.wall_s for kernel_time in seen if kernel_time.kind == "slow"
    ):
        return None
    return drawn.witness_chart(seen, f"{axis_title(ends.metric)}; filled: in the kernel", f"Witness of {finding.rule}")


def _seen(cell: CellResult, phase: str, label: str, metric: str, kind: str) -> Sequence[KernelTime]:
    estimate, roles = cell.estimate(metric, phase), (cell.witness or {}).get(phase, {})
    if estimate is None:
        return []
    return [
        KernelTime(
            f"{label}, {_ROLES[role]}", kind, estimate.value, role_witness.system_time_s_per_op, _faults(role_witness)
        )
        for role, role_witness in roles.items()
        if role_witness is not None and role_witness.system_time_s_per_op is not None
    ]


def _faults(role_witness: RoleWitness) -> str:
    known = [
        value for value in (role_witness.minor_faults_per_op, role_witness.major_faults_per_op) if value is not None
    ]
    return f"{sum(known):.3g} page faults" if sum(known) >= 1 else ""
