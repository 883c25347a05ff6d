# SPDX-License-Identifier: Apache-2.0
"""A campaign, an engine's description and the MPI in use become a plan: every cell, contrast and launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from slowpath.errors import UsageError
from slowpath.plan import engine_description
from slowpath.plan.campaign import Campaign
from slowpath.plan.cells import Shared, expand_group
from slowpath.plan.contrasts import GroupCells, contrasts_of
from slowpath.plan.engine_description import EngineDescription
from slowpath.plan.labels import unique_labels
from slowpath.plan.model import PLAN_SCHEMA, Cell, Contrast, Environment, Placement, Plan
from slowpath.plan.order import order_launches
from slowpath.plan.tables import EnvironmentTable, wrong

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

    Args: description: of the engine, decoded or as it prints it.  mpi_identity: whatever tells this MPI from
          another; part of each cell's key.  resolve_setting: library-neutral name -> variables, or the reason
          why there are none.  seed: fixes the order of launches and cells.  ranks, rounds: in place of the
          campaign's.
    Raises: UsageError naming file, table and key.
    """
    if isinstance(description, dict):
        description = engine_description.decode(description)
    ranks = campaign.ranks if ranks is None else ranks
    rounds = campaign.rounds if rounds is None else rounds
    if ranks < 1 or rounds < 1:
        raise UsageError(f"{ranks} ranks and {rounds} rounds cannot run; give 1 or more of each")
    environments = [_resolve(table, resolve_setting) for table in campaign.environments]
    placements = [Placement(table.name, table.bind) for table in campaign.placements]
    by_name = ({e.name: e for e in environments}, {p.name: p for p in placements})
    groups = _expand_groups(campaign, description, Shared(ranks, mpi_identity, *by_name))
    cells = [cell for group in groups.values() for cell in group.cells]
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
        cells=_with_unique_labels(cells),
        contrasts=_all_contrasts(campaign, groups),
        launches=order_launches(cells, rounds, seed),
    )


def _with_unique_labels(cells: list[Cell]) -> list[Cell]:
    labels = unique_labels([cell.group for cell in cells], [cell.label for cell in cells])
    return [msgspec.structs.replace(cell, label=label) for cell, label in zip(cells, labels, strict=True)]


def _all_contrasts(campaign: Campaign, groups: Mapping[str, GroupCells]) -> list[Contrast]:
    tables = campaign.contrasts
    contrasts = [c for table in tables for c in contrasts_of(table, groups[table.cells], campaign.source)]
    _check_distinct_ids([contrast.id for contrast in contrasts], campaign.source)
    return contrasts


def _check_distinct_ids(ids: list[str], source: str) -> None:
    """Ids are names without what an anchor can't hold, so that two names may clash."""
    repeated = next((name for name, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        problem = f"two tables' names give the same id '{repeated}'; make the names differ in letters or digits"
        raise wrong(source, "[[contrast]]", "name", problem)


def _resolve(table: EnvironmentTable, resolve: ResolveSetting) -> Environment:
    if table.setting is None:
        return Environment(table.name, dict(table.variables))
    variables, reason = resolve(table.setting)
    return Environment(table.name, dict(variables), table.setting, reason)


def _expand_groups(campaign: Campaign, description: EngineDescription, shared: Shared) -> dict[str, GroupCells]:
    """Cells of every group, numbered through from 0."""
    groups: dict[str, GroupCells] = {}
    first = 0
    for table in campaign.cells:
        groups[table.name] = expand_group(campaign, table, description, shared, first)
        first += len(groups[table.name].cells)
    return groups
