# SPDX-License-Identifier: Apache-2.0
"""A campaign, an engine's description and the MPIs in use become a plan: every cell, contrast and launch.

The cells of a group are every combination of its values, spelled, labelled and keyed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from slowpath.core import engine_description
from slowpath.core.campaign import EVERY, Campaign, CellsTable, Names, scalars, wrong
from slowpath.core.engine_description import (
    CellVerdict,
    CheckCells,
    DescribedExperiment,
    EngineDescription,
    Verdicts,
    expand_parameter,
    nearest,
    nothing_checked,
)
from slowpath.core.errors import UsageError
from slowpath.core.labels import group_labels, unique_labels
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Placement, Plan, PlannedMpi, cell_key
from slowpath.plan.contrasts import GroupCells, between_mpis, contrasts_of
from slowpath.plan.mpis import MpiInUse, resolve_environments
from slowpath.plan.order import order_launches
from slowpath.plan.places import Nodes, resolve_placements
from slowpath.stats.screening import MOST_FACTORS, design


def expand(
    campaign: Campaign,
    description: EngineDescription | dict[str, Any],
    mpis: Sequence[MpiInUse],
    seed: int,
    ranks: int | Sequence[int] | None = None,
    rounds: int | None = None,
    nodes: Nodes | None = None,
    check: CheckCells = nothing_checked,
) -> Plan:
    """The plan of `campaign` under one or several MPIs.

    Args: description: of the engine, decoded or as it prints it.  mpis: one or more, their names and identities
          distinct.  seed: fixes the order of launches and cells.  ranks: one number or several; these and
          rounds in place of the campaign's.
          nodes: those that the launcher can use; None: this one alone.  check: judges all cells at once.
    Raises: UsageError naming file, table and key.
    """
    if isinstance(description, dict):
        description = engine_description.decode(description)
    asked = campaign.ranks if ranks is None else [ranks] if isinstance(ranks, int) else ranks
    counts = sorted(set(asked))
    rounds = campaign.rounds if rounds is None else rounds
    if not counts or counts[0] < 1 or rounds < 1:
        words = ", ".join(map(str, counts)) or "no"
        raise UsageError(f"{words} ranks and {rounds} rounds can't run; give 1 or more of each")
    environments = resolve_environments(campaign.environments, mpis)
    placements = resolve_placements(campaign.placements, counts, nodes or Nodes(), campaign.source)
    counts = sorted({placement.ranks or counts[-1] for placement in placements})
    planned = [mpi.planned for mpi in mpis]
    groups = _expand_groups(campaign, description, Shared(counts, planned, environments, placements))
    cells = [cell for group in groups.values() for cell in group.cells]
    too_few = frozenset[int]().union(*(group.too_few for group in groups.values()))
    verdicts = _checked(check, [cell for cell in cells if cell.cell not in too_few], placements, counts)
    _require_accepted(cells, verdicts, campaign.source)
    return Plan(
        schema=PLAN_SCHEMA,
        campaign=campaign.name,
        title=campaign.title,
        ranks=counts[-1],
        rounds=rounds,
        seed=seed,
        minimum_effect=campaign.minimum_effect,
        environments=environments,
        placements=placements,
        cells=_with_unique_labels(cells),
        contrasts=_all_contrasts(campaign, groups, planned, verdicts),
        launches=order_launches(
            cells, rounds, seed, {e.name for e in environments if e.witness}, _at_once(campaign, placements)
        ),
        mpis=planned,
    )


def _checked(
    check: CheckCells, cells: Sequence[Cell], placements: Sequence[Placement], counts: Sequence[int]
) -> Verdicts:
    """These cells judged, each with the number of ranks that it is to have."""
    of_placement = {placement.name: placement.ranks or counts[-1] for placement in placements}
    verdicts: dict[int, CellVerdict] = {}
    for count in counts:
        mine = [cell for cell in cells if of_placement[cell.placement] == count]
        verdicts |= check(mine, count) if mine else {}
    return verdicts


def _at_once(campaign: Campaign, placements: Sequence[Placement]) -> dict[str, tuple[str, str]]:
    """Placement -> its two nodes, of those that may run while others do."""
    names = {table.name for table in campaign.placements if table.pairs and table.pairs_at_once}
    return {
        placement.name: (placement.hosts[0], placement.hosts[1])
        for placement in placements
        if placement.of in names and len(placement.hosts) == 2
    }


def _with_unique_labels(cells: list[Cell]) -> list[Cell]:
    labels = unique_labels([cell.group for cell in cells], [cell.label for cell in cells])
    return [msgspec.structs.replace(cell, label=label) for cell, label in zip(cells, labels, strict=True)]


def _all_contrasts(
    campaign: Campaign, groups: Mapping[str, GroupCells], mpis: Sequence[PlannedMpi], verdicts: Verdicts
) -> list[Contrast]:
    tables = campaign.contrasts
    witnessed = {environment.name for environment in campaign.environments if environment.witness}
    timed = {name: _without(group, witnessed) for name, group in groups.items()}
    for table in tables:
        if not timed[table.cells].cells:
            problem = f"all of '{table.cells}' is witnessed, and witnessed launches have no times; add an environment"
            raise wrong(campaign.source, f"[[contrast]] '{table.name}'", "cells", problem)
    source = campaign.source
    contrasts = [c for table in tables for c in contrasts_of(table, timed[table.cells], source, verdicts)]
    contrasts += between_mpis(timed.values(), mpis, tables, verdicts)
    _check_distinct_ids([contrast.id for contrast in contrasts], campaign.source)
    return contrasts


def _without(group: GroupCells, environments: Collection[str]) -> GroupCells:
    return msgspec.structs.replace(group, cells=[c for c in group.cells if c.environment not in environments])


def _check_distinct_ids(ids: list[str], source: str) -> None:
    """Ids are names without what an anchor can't hold, so that two names may clash."""
    repeated = next((name for name, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        problem = f"two tables' names give the same id '{repeated}'; make the names differ in letters or digits"
        raise wrong(source, "[[contrast]]", "name", problem)


def _expand_groups(campaign: Campaign, description: EngineDescription, shared: Shared) -> dict[str, GroupCells]:
    """Cells of every group, numbered through from 0."""
    groups: dict[str, GroupCells] = {}
    first = 0
    for table in campaign.cells:
        groups[table.name] = expand_group(campaign, table, description, shared, first)
        first += len(groups[table.name].cells)
    return groups


def _require_accepted(cells: Sequence[Cell], verdicts: Verdicts, source: str) -> None:
    """Raises UsageError for the first refused cell, naming the campaign's file, its table and the cell."""
    for cell in cells:
        verdict = verdicts.get(cell.cell)
        if verdict is not None and verdict.reason is not None:
            raise wrong(source, f"[[cells]] '{cell.group}'", "parameters", f"{cell.label}: {verdict.reason}")


MAX_CELLS = 100_000
Axes = Mapping[str, list[str]]  # every axis of a group with its values
_FACTORS_OF = {2: 1, 4: 2}  # two-level factors that so many values make up


class Shared(msgspec.Struct, frozen=True):
    """What cells of all groups share: the MPIs, and what environments and placements stand for."""

    counts: list[int]  # of ranks, ascending
    mpis: list[PlannedMpi]
    environments: list[Environment]
    placements: list[Placement]

    def environment(self, name: str, mpi: str) -> Environment:
        """The environment of this name under `mpi`."""
        return next(e for e in self.environments if e.name == name and e.mpi in (None, mpi))

    def placement(self, name: str) -> Placement:
        """The placement of this name."""
        return next(p for p in self.placements if p.name == name)

    def ranks_of(self, placement: Placement) -> int:
        """Ranks of launches there."""
        return placement.ranks or self.counts[-1]


def expand_group(
    campaign: Campaign, table: CellsTable, description: EngineDescription, shared: Shared, first: int
) -> GroupCells:
    """Cells of one [[cells]] table, numbered from `first`.  Raises: UsageError."""
    title = f"[[cells]] '{table.name}'"
    try:
        experiment = description.experiment(table.experiment)
    except UsageError as error:
        raise wrong(campaign.source, title, "experiment", str(error)) from error
    if shared.counts[-1] < experiment.min_ranks:
        problem = f"{experiment.name} needs {experiment.min_ranks} ranks, not {shared.counts[-1]}; set ranks"
        raise wrong(campaign.source, title, "experiment", problem)
    axes = _axes(campaign, table, experiment, shared)
    try:
        plane = screened(table.parameters, axes) if table.design == "screening" else every(axes)
    except UsageError as error:
        raise wrong(campaign.source, title, "design", str(error)) from error
    count = plane.count * len(shared.mpis)
    if first + count > MAX_CELLS:
        problem = f"makes {first + count} cells with those before it; the limit is {MAX_CELLS}; take fewer values"
        raise wrong(campaign.source, title, None, problem)
    points = list(plane.points())
    labels = group_labels(table.name, experiment, points)
    defaults = experiment.defaults()
    parameters = [{name: point.get(name, default) for name, default in defaults.items()} for point in points]
    numbers = itertools.count(first)
    cells = list[Cell]()
    too_few = set[int]()
    for mpi in shared.mpis:
        for point, values, label in zip(points, parameters, labels, strict=True):
            why = _why_too_few(experiment, values, shared.ranks_of(shared.placement(point["placement"])))
            number = next(numbers)
            cells.append(
                _cell(number, table, point, values, mpi_label(mpi, label, shared), mpi, shared, experiment, why)
            )
            if why is not None:
                too_few.add(number)
    if len(too_few) == len(cells):
        raise wrong(campaign.source, title, None, f"all cells are skipped: {cells[0].skip}; set ranks, or --ranks")
    return GroupCells(table.name, experiment, cells, frozenset(too_few))


def mpi_label(mpi: PlannedMpi, label: str, shared: Shared) -> str:
    """`label`, behind the MPI's name where there are several."""
    return f"{mpi.name}, {label}" if len(shared.mpis) > 1 else label


def _axes(
    campaign: Campaign, table: CellsTable, experiment: DescribedExperiment, shared: Shared
) -> dict[str, list[str]]:
    """Every axis of the group with its values: environment, placement, parameters as written, copy."""
    title = f"[[cells]] '{table.name}'"
    axes = {
        "environment": _names(
            campaign, title, "environment", table.environment, [e.name for e in campaign.environments]
        ),
    }
    named = _names(campaign, title, "placement", table.placement, [p.name for p in campaign.placements])
    axes["placement"] = [p.name for name in named for p in shared.placements if name in (p.of, p.name)]
    for name, written in table.parameters.items():
        try:
            axes[name] = expand_parameter(experiment.parameter(name), scalars(written))
        except UsageError as error:
            raise wrong(campaign.source, title, f"parameters.{name}", str(error)) from error
    axes["copy"] = [str(copy) for copy in range(1, table.copies + 1)]
    return axes


def _names(campaign: Campaign, title: str, key: str, given: Names | None, known: list[str]) -> list[str]:
    """Names that a group of cells asks for: by default the first, with "*" all."""
    if given is None:
        return known[:1]
    if given == EVERY:
        return known
    names = [given] if isinstance(given, str) else given
    for name in names:
        if name not in known:
            raise wrong(campaign.source, title, key, f"there is no {key} '{name}'{nearest(name, known)}")
        if names.count(name) > 1:
            raise wrong(campaign.source, title, key, f"'{name}' is listed twice; write each name once")
    return list(names)


def _cell(
    number: int,
    table: CellsTable,
    point: Mapping[str, str],
    parameters: dict[str, str],
    label: str,
    mpi: PlannedMpi,
    shared: Shared,
    experiment: DescribedExperiment,
    why_too_few: str | None,
) -> Cell:
    environment = shared.environment(point["environment"], mpi.name)
    placement = shared.placement(point["placement"])
    ranks = shared.ranks_of(placement)
    key = cell_key(
        table.experiment,
        parameters,
        {**environment.variables, **{f"-{name}": "" for name in environment.unset}},
        placement.bind,
        int(point["copy"]),
        ranks,
        mpi.identity,
        placement.asked,
    )
    return Cell(
        cell=number,
        key=key,
        group=table.name,
        label=label,
        experiment=table.experiment,
        parameters=parameters,
        environment=environment.name,
        placement=placement.name,
        copy=int(point["copy"]),
        skip=why_too_few or _why_skipped(environment, placement, mpi, shared),
        mpi=mpi.name,
    )


def _why_too_few(experiment: DescribedExperiment, parameters: Mapping[str, str], ranks: int) -> str | None:
    """Why so few ranks cannot run the cell: the experiment needs more, or a parameter that counts ranks names more."""
    if ranks < experiment.min_ranks:
        return f"too few ranks: {experiment.name} needs {experiment.min_ranks} ranks, not {ranks}"
    for parameter in experiment.parameters:
        value = parameters[parameter.name]
        if parameter.unit == "ranks" and value.isdecimal() and int(value) > ranks:
            return f"too few ranks: {parameter.name} above {ranks} are left out"
    return None


def _why_skipped(environment: Environment, placement: Placement, mpi: PlannedMpi, shared: Shared) -> str | None:
    if mpi.unavailable is not None:
        return f"{mpi.name} is not available: {mpi.unavailable}"
    if placement.unavailable is not None:
        return f"placement '{placement.name}' is not available: {placement.unavailable}"
    if environment.unavailable is None:
        return None
    under = f" under {mpi.name}" if len(shared.mpis) > 1 else ""
    return f"environment '{environment.name}' is not available{under}: {environment.unavailable}"


@dataclass(frozen=True)
class Plane:
    """Points of a group. crossed: axes of which every combination is taken, in the order of the group's axes.

    runs: each with a value of every other axis; one without any where there are no others.
    """

    axes: Axes
    crossed: Axes
    runs: tuple[Mapping[str, str], ...] = ({},)

    @property
    def count(self) -> int:
        """Points."""
        return math.prod(len(values) for values in self.crossed.values()) * len(self.runs)

    def points(self) -> Iterator[dict[str, str]]:
        """Each with a value of every axis, in the order of the axes."""
        for values in itertools.product(*self.crossed.values()):
            there = dict(zip(self.crossed, values, strict=True))
            for run in self.runs:
                both = {**there, **run}
                yield {name: both[name] for name in self.axes}


def every(axes: Axes) -> Plane:
    """All combinations."""
    return Plane(axes, axes)


def screened(parameters: Collection[str], axes: Axes) -> Plane:
    """Of parameters with two values, or with four, the runs of `stats.screening.design`; all else is crossed.

    Four values are the levels of two factors, lower-lower, upper-lower, lower-upper and upper-upper: `0:0`, `1:0`,
    `0:1`, `1:1`.

    Args:   parameters: names of the axes that are the experiment's.  axes: with all values.
    Raises: UsageError: no factor, or too many of them.
    """
    varied = {name: values for name, values in axes.items() if name in parameters and len(values) in _FACTORS_OF}
    factors = sum(_FACTORS_OF[len(values)] for values in varied.values())
    if not 2 <= factors <= MOST_FACTORS:
        raise UsageError(
            f"screening needs 2 to {MOST_FACTORS} factors, each a parameter with two values (or one with four), "
            f"not {factors}"
        )
    runs = []
    for levels in design(factors):
        upper = iter(levels > 0)
        runs.append({name: values[_place(len(values), upper)] for name, values in varied.items()})
    return Plane(axes, {name: values for name, values in axes.items() if name not in varied}, tuple(runs))


def _place(count: int, upper: Iterator[bool]) -> int:
    """Of a value: its factors' levels as binary digits, the first factor's the lowest."""
    return sum(int(next(upper)) << digit for digit in range(_FACTORS_OF[count]))
