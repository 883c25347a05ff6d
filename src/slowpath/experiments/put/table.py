# SPDX-License-Identifier: Apache-2.0
"""The part `put` of results.json: cells that differ only in who puts, and how far each is from the empty call. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cell_results import CellResult, InstructionRegion, MetricEstimate
from slowpath.core.put_results import PutCondition, PutPart, PutResults, PutRow, PutSplit, RateShare
from slowpath.core.results import ContrastResult
from slowpath.core.roles import is_effort
from slowpath.experiments.put.designs import EMPTY_CALLS, ORDER, ROLES, design_of

EXPERIMENT = "put"
METRIC = "time_per_put_s"
_NOT_SET = ("design", "call", "checks", "pattern")


def build_put(cells: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> PutResults | None:
    """None: the run has no measured cell of this experiment."""
    measured = [cell for cell in cells if cell.experiment == EXPERIMENT and steady(cell)]
    if not measured:
        return None
    conditions = _conditions(measured, contrasts)
    by_number = {cell.cell: cell for cell in measured}
    return PutResults(
        cells=[cell.cell for cell in measured],
        conditions=conditions,
        splits=_splits([row for condition in conditions for row in condition.rows], by_number),
    )


def steady(cell: CellResult) -> MetricEstimate | None:
    """The steady time of a put."""
    return cell.estimate(METRIC, "steady")


def puts(cell: CellResult) -> InstructionRegion | None:
    """The instructions of the puts; None: they were not counted."""
    return cell.instructions.put if cell.instructions else None


def _inside(cell: CellResult) -> float | None:
    """Median of the instructions inside a call; None: not counted, or nothing is called."""
    counted = puts(cell)
    return counted.per_call.stepped.median if counted and counted.per_call.stepped else None


def _with_loop(cell: CellResult) -> float | None:
    counted = puts(cell)
    if counted is None or counted.loop_per_put is None:
        return None
    return counted.loop_per_put + (_inside(cell) or 0)


def _settings(cell: CellResult) -> dict[str, str]:
    given = {
        name: value for name, value in cell.parameters.items() if name not in _NOT_SET and not is_effort(ROLES, name)
    }
    return {**given, "environment": cell.environment, "placement": cell.placement}


def _who(cell: CellResult) -> tuple[str, ...]:
    """What tells designs apart: a limit is the same whatever `call` and `checks` are, a layer is not."""
    given = cell.parameters
    design = design_of(given.get("design", "mpi"))
    if design.kind == "layer":
        return design.name, given.get("call", "library"), given.get("checks", "on")
    return (design.name,)


def _conditions(cells: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> list[PutCondition]:
    """Every set of cells in which at least two designs meet; the one with most designs first. Copies are left out."""
    found: dict[tuple[tuple[str, str], ...], list[CellResult]] = {}
    for cell in cells:
        if cell.copy == 1:
            found.setdefault(tuple(sorted(_settings(cell).items())), []).append(cell)
    several = [members for members in found.values() if _designs(members) > 1]
    several.sort(key=lambda members: -_designs(members))
    usual = _settings(several[0][0]) if several else {}
    return [_condition(members, usual, contrasts) for members in several]


def _designs(cells: Sequence[CellResult]) -> int:
    return len({_who(cell) for cell in cells})


def _condition(cells: Sequence[CellResult], usual: dict[str, str], contrasts: Sequence[ContrastResult]) -> PutCondition:
    settings = _settings(cells[0])
    differs = {name: value for name, value in settings.items() if usual.get(name) != value}
    return PutCondition(settings=settings, differs=differs, rows=_rows(cells, contrasts))


def _rows(cells: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> list[PutRow]:
    same: dict[tuple[str | None, tuple[str, ...]], list[CellResult]] = {}
    for cell in cells:
        same.setdefault((cell.mpi, _who(cell)), []).append(cell)
    rows = []
    for (mpi, _), alike in same.items():
        design = design_of(alike[0].parameters.get("design", "mpi"))
        empty = same.get((mpi, (EMPTY_CALLS[design.arguments],)), [])
        shares = {cell.cell: _of_empty(cell, empty, contrasts) for cell in alike}
        best = max(alike, key=lambda cell: (_has_interval(shares[cell.cell]), puts(cell) is not None))
        rows.append((best, _row(best, shares[best.cell])))
    return [row for _, row in sorted(rows, key=lambda one: _place(*one))]


def _row(cell: CellResult, share: RateShare | None) -> PutRow:
    return PutRow(
        design=cell.parameters.get("design", "mpi"),
        mpi=cell.mpi,
        cell=cell.cell,
        instructions_with_loop=_with_loop(cell),
        of_empty=share,
    )


def _place(cell: CellResult, row: PutRow) -> tuple[int, bool, bool, int]:
    """Rows that differ in the MPI alone follow one another; called before inlined, checked before unchecked."""
    given = cell.parameters
    order = ORDER.get(row.design, len(ORDER))
    return order, given.get("call") == "inlined", given.get("checks") == "off", row.cell


def _has_interval(share: RateShare | None) -> bool:
    return share is not None and share.interval is not None


def _of_empty(cell: CellResult, empty: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> RateShare | None:
    """The rate over the empty call's: from a contrast of the same launches, else of the two values alone."""
    numbers = {one.cell for one in empty}
    if cell.cell in numbers or not empty:
        return None
    for contrast in contrasts:
        if contrast.metric == METRIC and contrast.ratio and contrast.a.phase == "steady":
            if contrast.b.cell == cell.cell and contrast.a.cell in numbers:
                return _share(contrast, turned=True)
            if contrast.a.cell == cell.cell and contrast.b.cell in numbers:
                return _share(contrast, turned=False)
    own, other = steady(cell), steady(empty[0])
    if own is None or other is None:
        return None
    return RateShare(ratio=other.value / own.value, interval=None, interval_kind="not a contrast")


def _share(contrast: ContrastResult, turned: bool) -> RateShare:
    """The contrast's ratio of times as a ratio of rates. turned: its b is the design, its a the empty call."""
    ratio, interval = contrast.ratio or 1.0, contrast.interval
    ends = interval if interval and all(interval) else None
    if turned:
        ratio, ends = 1 / ratio, (1 / ends[1], 1 / ends[0]) if ends else None
    kind = contrast.interval_kind or contrast.reason or "no reason was recorded"
    return RateShare(ratio=ratio, interval=ends, interval_kind=kind)


def _splits(rows: Sequence[PutRow], cells: dict[int, CellResult]) -> list[PutSplit]:
    """Of each library, the first row that has been counted function by function."""
    found: dict[tuple[str, str | None], PutSplit] = {}
    for row in rows:
        counted = puts(cells[row.cell])
        if counted is None or not counted.shares or design_of(row.design).kind != "library":
            continue
        total = sum(share.per_call for share in counted.shares)
        parts = [
            PutPart(
                library=share.library,
                function=share.function,
                per_call=share.per_call,
                ratio=share.per_call / total if total else None,
            )
            for share in counted.shares
        ]
        found.setdefault((row.design, row.mpi), PutSplit(design=row.design, mpi=row.mpi, cell=row.cell, parts=parts))
    return list(found.values())
