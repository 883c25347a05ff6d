# SPDX-License-Identifier: Apache-2.0
"""The cells of one group: every combination of its values, checked, labelled and keyed."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping

import msgspec

from slowpath.errors import UsageError
from slowpath.plan.campaign import Campaign
from slowpath.plan.checks import check_cell
from slowpath.plan.contrasts import GroupCells
from slowpath.plan.engine_description import EngineDescription, Experiment, expand_parameter, nearest
from slowpath.plan.labels import group_labels
from slowpath.plan.model import Cell, Environment, Placement
from slowpath.plan.tables import CellsTable, Names, scalars, wrong

MAX_CELLS = 100_000


class Shared(msgspec.Struct, frozen=True):
    """What cells of all groups share, and what their environments and placements stand for."""

    ranks: int
    mpi: str
    environments: dict[str, Environment]
    placements: dict[str, Placement]


def expand_group(
    campaign: Campaign, table: CellsTable, description: EngineDescription, shared: Shared, first: int
) -> GroupCells:
    """Cells of one [[cells]] table, numbered from `first`.  Raises: UsageError."""
    title = f"[[cells]] '{table.name}'"
    try:
        experiment = description.experiment(table.experiment)
    except UsageError as error:
        raise wrong(campaign.source, title, "experiment", str(error)) from error
    if shared.ranks < experiment.min_ranks:
        problem = f"{experiment.name} needs {experiment.min_ranks} ranks, not {shared.ranks}; set ranks"
        raise wrong(campaign.source, title, "experiment", problem)
    axes = _axes(campaign, table, experiment)
    count = math.prod(len(values) for values in axes.values())
    if first + count > MAX_CELLS:
        problem = f"makes {first + count} cells with those before it; the limit is {MAX_CELLS}; take fewer values"
        raise wrong(campaign.source, title, None, problem)
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    labels = group_labels(table.name, experiment, points)
    defaults = experiment.defaults()
    cells = []
    for i, (point, label) in enumerate(zip(points, labels, strict=True)):
        parameters = {name: point.get(name, default) for name, default in defaults.items()}
        try:
            check_cell(experiment.name, parameters, shared.ranks)
        except UsageError as error:
            raise wrong(campaign.source, title, "parameters", f"{label}: {error}") from error
        cells.append(_cell(first + i, table, point, parameters, label, shared))
    return GroupCells(table.name, experiment, cells)


def _axes(campaign: Campaign, table: CellsTable, experiment: Experiment) -> dict[str, list[str]]:
    """Every axis of the group with its values: environment, placement, parameters as written, copy."""
    title = f"[[cells]] '{table.name}'"
    axes = {
        "environment": _names(
            campaign, title, "environment", table.environment, [e.name for e in campaign.environments]
        ),
        "placement": _names(campaign, title, "placement", table.placement, [p.name for p in campaign.placements]),
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
    shared: Shared,
) -> Cell:
    environment = shared.environments[point["environment"]]
    placement = shared.placements[point["placement"]]
    key = cell_key(
        table.experiment,
        parameters,
        environment.variables,
        placement.bind,
        int(point["copy"]),
        shared.ranks,
        shared.mpi,
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
