# SPDX-License-Identifier: Apache-2.0
"""A campaign, an engine's description and the MPIs in use become a plan: every cell, contrast and launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from slowpath.core import engine_description
from slowpath.core.campaign import Campaign, wrong
from slowpath.core.engine_description import CellVerdict, CheckCells, EngineDescription, Verdicts, nothing_checked
from slowpath.core.errors import UsageError
from slowpath.core.labels import unique_labels
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Placement, Plan, PlannedMpi
from slowpath.plan.cells import TOO_FEW_RANKS, Shared, expand_group
from slowpath.plan.contrasts import GroupCells, between_mpis, contrasts_of
from slowpath.plan.mpis import MpiInUse, resolve_environments
from slowpath.plan.order import order_launches
from slowpath.plan.places import Nodes, resolve_placements


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
        raise UsageError(f"{words} ranks and {rounds} rounds cannot run; give 1 or more of each")
    environments = resolve_environments(campaign.environments, mpis)
    placements = resolve_placements(campaign.placements, counts, nodes or Nodes(), campaign.source)
    counts = sorted({placement.ranks or counts[-1] for placement in placements})
    planned = [mpi.planned for mpi in mpis]
    groups = _expand_groups(campaign, description, Shared(counts, planned, environments, placements))
    cells = [cell for group in groups.values() for cell in group.cells]
    verdicts = _checked(check, cells, placements, counts)
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
    """All cells judged, each with the number of ranks that it is to have."""
    of_placement = {placement.name: placement.ranks or counts[-1] for placement in placements}
    verdicts: dict[int, CellVerdict] = {}
    for count in counts:
        mine = [cell for cell in cells if of_placement[cell.placement] == count and not _too_few(cell)]
        verdicts |= check(mine, count) if mine else {}
    return verdicts


def _too_few(cell: Cell) -> bool:
    return cell.skip is not None and cell.skip.startswith(TOO_FEW_RANKS)


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
