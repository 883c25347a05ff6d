# SPDX-License-Identifier: Apache-2.0
"""Pairs of cells that differ in one axis and in nothing else: those that a campaign asks for, and, where it runs under
several MPIs, each other MPI against the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from slowpath.core.campaign import ContrastTable, scalars, wrong
from slowpath.core.engine_description import DescribedExperiment, Verdicts, expand_parameter, nearest
from slowpath.core.errors import UsageError
from slowpath.core.labels import readable_value
from slowpath.core.plan import LIBRARIES, Cell, Contrast, PlannedMpi, Side
from slowpath.experiments.registry import not_comparable
from slowpath.slowpaths.advice import find_advice

PHASES = ("steady", "first")
MPI_AXIS = "mpi"


class GroupCells(msgspec.Struct, frozen=True):
    """Cells of one group and the experiment that they exercise. too_few: numbers of those that need more ranks."""

    name: str
    experiment: DescribedExperiment
    cells: list[Cell]
    too_few: frozenset[int] = frozenset()


def coordinates(cell: Cell) -> dict[str, str]:
    """Where a cell stands on every axis that a contrast can be along, phase excepted."""
    return {
        **({} if cell.mpi is None else {"mpi": cell.mpi}),
        "environment": cell.environment,
        "placement": cell.placement,
        "copy": str(cell.copy),
        **cell.parameters,
    }


def contrasts_of(table: ContrastTable, group: GroupCells, source: str, verdicts: Verdicts) -> list[Contrast]:
    """All contrasts of one [[contrast]] table, one for each combination of the other axes and each b.

    A contrast that speaks of an MPI is left out where this run goes without that one.

    Args: verdicts: on cells, those that the engine gave.
    Raises: UsageError if an axis, a side or a metric does not exist, or no two cells form a pair.
    """
    title = f"[[contrast]] '{table.name}'"
    try:
        _check_metric_name(table, group)
        _check_comparable(table, group)
        cells = _selected(table, group)
        a_values = _values(table.axis, scalars(table.a), group, "a")
        b_values = _values(table.axis, scalars(table.b), group, "b")
        if len(a_values) != 1:
            raise UsageError("key a: has several values; write one, the side that b is compared with")
        if a_values[0] in b_values:
            raise UsageError(f"key b: '{a_values[0]}' is also a; a contrast needs two different sides")
        pairs = [pair for b in b_values for pair in _pairs(table, cells, a_values[0], b)]
        by_number = {cell.cell: cell for cell in cells}
        for side in (side for pair in pairs for side in pair):
            _check_measured(by_number[side.cell], group.experiment, table.metric, verdicts)
    except UsageError as error:
        raise wrong(source, title, None, str(error)) from error
    if not pairs and not (table.axis == "mpi" or "mpi" in table.where):
        problem = f"no two cells of '{group.name}' differ in {table.axis} alone; check where, a and b"
        raise wrong(source, title, None, problem)
    try:
        remedy = find_advice(table.remedy, table.axis).name if table.remedy is not None else None
    except UsageError as error:
        raise wrong(source, title, "remedy", str(error)) from error
    slug = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-") or "contrast"
    return [
        Contrast(
            id=f"{slug}-{i}",
            group=table.name,
            question=table.question,
            axis=table.axis,
            metric=table.metric,
            a=_readable(group, table.axis, a),
            b=_readable(group, table.axis, b),
            control=table.control,
            explains=table.explains,
            remedy=remedy,
        )
        for i, (a, b) in enumerate(pairs, start=1)
    ]


def _check_metric_name(table: ContrastTable, group: GroupCells) -> None:
    metrics = {metric.name: metric for metric in group.experiment.metrics}
    if table.metric not in metrics:
        raise UsageError(f"key metric: {group.experiment.name} has no '{table.metric}'{nearest(table.metric, metrics)}")
    if not table.metric.endswith("_s") or table.metric.endswith("_per_s"):
        times = [name for name in metrics if name.endswith("_s") and not name.endswith("_per_s")]
        raise UsageError(f"key metric: '{table.metric}' is not a time; a contrast compares times: {', '.join(times)}")


def _check_comparable(table: ContrastTable, group: GroupCells) -> None:
    """A metric says itself along which axes its two sides would time unlike things."""
    why = not_comparable(group.experiment.name, table.metric, table.axis)
    if why is not None:
        raise UsageError(
            f"key axis: '{table.metric}' can't be compared along {table.axis}: {why}; leave the contrast out"
        )


def _check_measured(cell: Cell, experiment: DescribedExperiment, name: str, verdicts: Verdicts) -> None:
    """A cell must yield the metric that it is compared by."""
    patterns = [metric.pattern or "" for metric in experiment.metrics if metric.name == name]
    if all(patterns) and cell.parameters.get("pattern", patterns[0]) not in patterns:
        raise UsageError(f"key metric: only pattern={' or '.join(patterns)} measures '{name}'; narrow where")
    _require_metric(cell, verdicts, name)


def _values(axis: str, written: list[str], group: GroupCells, key: str) -> list[str]:
    """`written` in the spelling of the cells' coordinates; each must exist in the group."""
    if axis == "phase":
        known = set(PHASES)
        values = written
    else:
        _check_axis(axis, group, "axis")
        known = {coordinates(cell)[axis] for cell in group.cells} | (set(LIBRARIES) if axis == "mpi" else set())
        values = _spelled(axis, written, group, key)
    for value in values:
        if value not in known:
            raise UsageError(
                f"key {key}: no cell of '{group.name}' has {axis} '{value}'{nearest(value, sorted(known))}"
            )
    return values


def _check_axis(axis: str, group: GroupCells, key: str) -> None:
    known = list(coordinates(group.cells[0]))
    if axis not in known:
        raise UsageError(f"key {key}: there is no axis '{axis}'{nearest(axis, [*known, 'phase'])}")


def _spelled(axis: str, written: list[str], group: GroupCells, key: str) -> list[str]:
    if axis in ("mpi", "environment", "placement", "copy"):
        return written
    try:
        return expand_parameter(group.experiment.parameter(axis), written)
    except UsageError as error:
        raise UsageError(f"key {key}: {error}") from error


def _selected(table: ContrastTable, group: GroupCells) -> list[Cell]:
    """The cells that `where` leaves."""
    wanted: dict[str, list[str]] = {}
    for axis, value in table.where.items():
        key = f"where.{axis}"
        if axis == table.axis or axis == "phase":
            raise UsageError(f"key {key}: is the axis itself or the phase; write it in a, b or phase")
        _check_axis(axis, group, key)
        wanted[axis] = _values(axis, scalars(value), group, key)
    return [cell for cell in group.cells if all(coordinates(cell)[axis] in values for axis, values in wanted.items())]


def _pairs(table: ContrastTable, cells: list[Cell], a: str, b: str) -> Iterator[tuple[Side, Side]]:
    """Sides that differ in `axis` alone, in the order of the cells."""
    if table.axis == "phase":
        yield from ((Side(cell.cell, a, a), Side(cell.cell, b, b)) for cell in cells)
        return
    places = {tuple(coordinates(cell).items()): cell for cell in cells}
    for cell in cells:
        here = coordinates(cell)
        if here[table.axis] != a:
            continue
        other = places.get(tuple({**here, table.axis: b}.items()))
        if other is not None:
            there = coordinates(other)
            assert [axis for axis in here if here[axis] != there[axis]] == [table.axis]
            yield Side(cell.cell, table.phase, a), Side(other.cell, table.phase, b)


def _readable(group: GroupCells, axis: str, side: Side) -> Side:
    return msgspec.structs.replace(side, value=readable_value(group.experiment, axis, side.value))


def _require_metric(cell: Cell, verdicts: Verdicts, metric: str) -> None:
    """Raises UsageError where the cell does not yield the metric that it is to be compared by."""
    verdict = verdicts.get(cell.cell)
    if verdict is not None and metric not in verdict.metrics:
        raise UsageError(
            f"key metric: cell '{cell.label}' does not measure '{metric}', but {', '.join(verdict.metrics)}; "
            "choose one, or narrow where"
        )


def between_mpis(
    groups: Iterable[GroupCells], mpis: Sequence[PlannedMpi], written: Sequence[ContrastTable], verdicts: Verdicts
) -> list[Contrast]:
    """One for each cell of an MPI and the same cell of the first; none where the campaign compares MPIs itself.

    Args: groups: of cells with times.  mpis: in the order in which the user named them; the first that is there is
          side a.  written: the campaign's own tables.  verdicts: on cells, those that the engine gave.
    """
    names = [mpi.name for mpi in mpis if mpi.unavailable is None]
    if len(names) < 2 or any(table.axis == MPI_AXIS for table in written):
        return []
    return [
        contrast for group in groups for other in names[1:] for contrast in _of_group(group, names[0], other, verdicts)
    ]


def _of_group(group: GroupCells, first: str, other: str, verdicts: Verdicts) -> Iterator[Contrast]:
    name = f"{other} against {first}: {group.name}"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    pairs = (
        (a, b, metric) for a, b in _same_cells(group.cells, first, other) if (metric := _metric(group, a, b, verdicts))
    )
    for number, (a, b, metric) in enumerate(pairs, start=1):
        yield Contrast(
            id=f"{slug}-{number}",
            group=name,
            question=f"Is {other} slower than {first} in '{group.name}'?"[:400],
            axis=MPI_AXIS,
            metric=metric,
            a=Side(a.cell, "steady", first),
            b=Side(b.cell, "steady", other),
        )


def _same_cells(cells: Sequence[Cell], first: str, other: str) -> Iterator[tuple[Cell, Cell]]:
    """Cells that differ in nothing but the MPI; second copies are for controls alone, skipped cells have no times."""
    there = {_all_but_mpi(cell): cell for cell in cells if cell.mpi == other and cell.skip is None}
    for cell in cells:
        if cell.mpi == first and cell.skip is None and cell.copy == 1 and _all_but_mpi(cell) in there:
            yield cell, there[_all_but_mpi(cell)]


def _all_but_mpi(cell: Cell) -> tuple[tuple[str, str], ...]:
    return tuple(item for item in coordinates(cell).items() if item[0] != MPI_AXIS)


def _metric(group: GroupCells, a: Cell, b: Cell, verdicts: Verdicts) -> str | None:
    """The first time that both cells yield."""
    times = _times(group.experiment, a.parameters.get("pattern"))
    known = [verdict.metrics for cell in (a, b) if (verdict := verdicts.get(cell.cell)) is not None]
    return next((name for name in times if all(name in metrics for metrics in known)), None)


def _times(experiment: DescribedExperiment, pattern: str | None) -> list[str]:
    return [
        metric.name
        for metric in experiment.metrics
        if metric.unit == "s" and (metric.pattern is None or pattern is None or metric.pattern == pattern)
    ]
