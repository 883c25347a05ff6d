# SPDX-License-Identifier: Apache-2.0
"""A campaign, an engine's description and the MPI in use become a plan: every cell, contrast and launch."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from slowpath.errors import UsageError
from slowpath.plan import engine_description
from slowpath.plan.campaign import Campaign
from slowpath.plan.checks import check_cell
from slowpath.plan.contrasts import GroupCells, contrasts_of
from slowpath.plan.engine_description import EngineDescription, Experiment, expand_parameter, nearest
from slowpath.plan.labels import group_labels, unique_labels
from slowpath.plan.model import PLAN_SCHEMA, Cell, Environment, Placement, Plan
from slowpath.plan.order import order_launches
from slowpath.plan.tables import CellsTable, Names, scalars, wrong

MAX_CELLS = 100_000
ResolveSetting = Callable[[str], tuple[dict[str, str], str | None]]


def expand(
    campaign: Campaign,
    description: EngineDescription | dict[str, Any],
    mpi_identity: str,
    resolve_setting: ResolveSetting,
    seed: int,
    ranks: int | None = None,
    rounds: int | None = None,
) -> Plan:
    """The plan of `campaign` on one MPI.

    Args: description: of the engine, decoded or as it prints it.  mpi_identity: whatever tells this MPI from another;
          part of each cell's key.  resolve_setting: library-neutral name -> variables, or the reason why there are none.
          seed: fixes the order of launches and cells.  ranks, rounds: in place of the campaign's.
    Raises: UsageError naming file, table and key.
    """
    if isinstance(description, dict):
        description = engine_description.decode(description)
    ranks, rounds = ranks or campaign.ranks, rounds or campaign.rounds
    environments = [
        _resolve(table.name, table.setting, table.variables, resolve_setting)
        for table in campaign.environments
    ]
    placements = [Placement(table.name, table.bind) for table in campaign.placements]
    groups: list[GroupCells] = []
    identity = _Identity(
        ranks, mpi_identity, {e.name: e for e in environments}, {p.name: p for p in placements}
    )
    first = 0
    for table in campaign.cells:
        groups.append(_expand_group(campaign, table, description, identity, first))
        first += len(groups[-1].cells)
    cells = [cell for group in groups for cell in group.cells]
    labels = unique_labels([cell.group for cell in cells], [cell.label for cell in cells])
    cells = [msgspec.structs.replace(cell, label=label) for cell, label in zip(cells, labels, strict=True)]
    by_name = {group.name: group for group in groups}
    contrasts = [
        contrast
        for table in campaign.contrasts
        for contrast in contrasts_of(table, by_name[table.cells], campaign.source)
    ]
    _check_distinct_ids([contrast.id for contrast in contrasts], campaign.source)
    return Plan(
        schema=PLAN_SCHEMA,
        campaign=campaign.name,
        title=campaign.title,
        ranks=ranks,
        rounds=rounds,
        seed=seed,
        minimum_effect=campaign.minimum_effect,
        environments=environments,
        placements=placements,
        cells=cells,
        contrasts=contrasts,
        launches=order_launches(cells, rounds, seed),
    )


def _check_distinct_ids(ids: list[str], source: str) -> None:
    """Ids come from names by leaving out what a file name or an anchor can't hold, so that two names may clash."""
    repeated = next((name for name, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        problem = (
            f"two tables' names give the same id '{repeated}'; make the names differ in letters or digits"
        )
        raise wrong(source, "[[contrast]]", "name", problem)


class _Identity(msgspec.Struct, frozen=True):
    """What cells of all groups share, and what their environments and placements stand for."""

    ranks: int
    mpi: str
    environments: dict[str, Environment]
    placements: dict[str, Placement]


def _resolve(
    name: str, setting: str | None, variables: dict[str, str], resolve: ResolveSetting
) -> Environment:
    if setting is None:
        return Environment(name, dict(variables))
    resolved, reason = resolve(setting)
    return Environment(name, dict(resolved), setting, reason)


def _expand_group(
    campaign: Campaign, table: CellsTable, description: EngineDescription, identity: _Identity, first: int
) -> GroupCells:
    title = f"[[cells]] '{table.name}'"
    try:
        experiment = description.experiment(table.experiment)
    except UsageError as error:
        raise wrong(campaign.source, title, "experiment", str(error)) from error
    if identity.ranks < experiment.min_ranks:
        problem = f"{experiment.name} needs {experiment.min_ranks} ranks, but the campaign has {identity.ranks}; set ranks"
        raise wrong(campaign.source, title, "experiment", problem)
    axes = _axes(campaign, table, experiment)
    count = math.prod(len(values) for values in axes.values())
    if first + count > MAX_CELLS:
        problem = (
            f"makes {first + count} cells with those before it; the limit is {MAX_CELLS}; take fewer values"
        )
        raise wrong(campaign.source, title, None, problem)
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    labels = group_labels(table.name, experiment, points)
    defaults = experiment.defaults()
    cells = []
    for i, (point, label) in enumerate(zip(points, labels, strict=True)):
        parameters = {name: point.get(name, default) for name, default in defaults.items()}
        try:
            check_cell(experiment.name, parameters, identity.ranks)
        except UsageError as error:
            raise wrong(campaign.source, title, "parameters", f"{label}: {error}") from error
        cells.append(_cell(first + i, table, point, parameters, label, identity))
    return GroupCells(table.name, experiment, cells)


def _axes(campaign: Campaign, table: CellsTable, experiment: Experiment) -> dict[str, list[str]]:
    """Every axis that the group spans, with its values: environment, placement, parameters as written, copy."""
    title = f"[[cells]] '{table.name}'"
    axes = {
        "environment": _names(
            campaign, title, "environment", table.environment, [e.name for e in campaign.environments]
        ),
        "placement": _names(
            campaign, title, "placement", table.placement, [p.name for p in campaign.placements]
        ),
    }
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
    if given == "*":
        return known
    names = [given] if isinstance(given, str) else given
    for name in names:
        if name not in known:
            raise wrong(campaign.source, title, key, f"there is no {key} '{name}'{nearest(name, known)}")
        if names.count(name) > 1:
            raise wrong(campaign.source, title, key, f"'{name}' stands there twice; write each name once")
    return list(names)


def _cell(
    number: int,
    table: CellsTable,
    point: Mapping[str, str],
    parameters: dict[str, str],
    label: str,
    identity: _Identity,
) -> Cell:
    environment = identity.environments[point["environment"]]
    placement = identity.placements[point["placement"]]
    key = cell_key(
        table.experiment,
        parameters,
        environment.variables,
        placement.bind,
        int(point["copy"]),
        identity.ranks,
        identity.mpi,
    )
    reason = environment.unavailable
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
        skip=None if reason is None else f"environment '{environment.name}' is not available: {reason}",
    )


def cell_key(
    experiment: str,
    parameters: Mapping[str, str],
    variables: Mapping[str, str],
    bind: str,
    copy: int,
    ranks: int,
    mpi_identity: str,
) -> str:
    """Identity of a cell across runs: the first 16 hexadecimal digits of SHA-256 over canonical JSON.

    `parameters` holds every parameter, defaults included, so that a changed default changes the key.
    """
    content = {
        "bind": bind,
        "copy": copy,
        "experiment": experiment,
        "mpi": mpi_identity,
        "parameters": dict(parameters),
        "ranks": ranks,
        "variables": dict(variables),
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def settings_of(campaign: Campaign) -> Iterable[str]:
    """Library-neutral settings that a campaign asks for."""
    return (table.setting for table in campaign.environments if table.setting is not None)
