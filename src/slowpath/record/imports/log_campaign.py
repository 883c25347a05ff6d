# SPDX-License-Identifier: Apache-2.0
"""campaign.toml of an imported run: the logs' cells as a campaign that `slowpath run` measures here."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.plan import Cell, Environment, Plan
from slowpath.record.imports.log import Log
from slowpath.record.imports.source import imported_campaign, printable

_MEASURES = "It measures the same messages with this program's engine, under the launch conditions of this machine."
# What a stated transport is as an environment of a campaign; the other transports are the library's own choice.
_SETTINGS = {"network": "network_path", "shared_memory": "single_copy_off"}
_DEFAULT = "default"


def campaign_of(plan: Plan, logs: Sequence[Log]) -> Campaign:
    """One group of cells a log."""
    by_environment: dict[str, list[Cell]] = {environment.name: [] for environment in plan.environments}
    for cell in plan.cells:
        by_environment[cell.environment].append(cell)
    groups = [
        _group(label, cells, _condition_keys(environment) if any_stated(plan) else {})
        for (label, cells), environment in zip(by_environment.items(), plan.environments, strict=True)
    ]
    sources = [f"{group.name}: from {printable(log.path.name)}" for group, log in zip(groups, logs, strict=True)]
    return imported_campaign(plan, "logs", [_MEASURES, *sources], groups, *_conditions(plan))


def any_stated(plan: Plan) -> bool:
    """Whether the launch of any log is stated at all."""
    return any(environment.stated for environment in plan.environments)


def _conditions(plan: Plan) -> tuple[Sequence[EnvironmentTable], Sequence[PlacementTable]]:
    """Environments and placements that stand for what is stated of the logs, each once."""
    if not any_stated(plan):
        return [EnvironmentTable("default")], [PlacementTable("bound")]
    keys = [_condition_keys(environment) for environment in plan.environments]
    settings = {
        key["environment"]: _SETTINGS.get(_transport(one)) for key, one in zip(keys, plan.environments, strict=True)
    }
    stated = {key["placement"]: one.stated for key, one in zip(keys, plan.environments, strict=True)}
    return [EnvironmentTable(name, setting=setting) for name, setting in settings.items()], [
        PlacementTable(name, one.get("bind", "core"), nodes=int(one["nodes"]) if "nodes" in one else None)
        for name, one in stated.items()
    ]


def _transport(environment: Environment) -> str:
    """Between nodes every message takes the network, so nothing has to be set."""
    return "" if environment.stated.get("nodes", "1") != "1" else environment.stated.get("transport", "")


def _condition_keys(environment: Environment) -> dict[str, str]:
    """Names of a log's environment and placement."""
    nodes, bind = environment.stated.get("nodes"), environment.stated.get("bind")
    words = [f"{nodes} node{'s' * (nodes != '1')}"] * (nodes is not None) + [f"bind {bind}"] * (bind is not None)
    setting = _SETTINGS.get(_transport(environment))
    return {
        "environment": setting.replace("_", " ") if setting else _DEFAULT,
        "placement": ", ".join(words) or "as the launcher has it",
    }


def _group(label: str, cells: Sequence[Cell], conditions: dict[str, str]) -> CellsTable:
    parameters: dict[str, Values] = {}
    for name in cells[0].parameters:
        values = list(dict.fromkeys(cell.parameters[name] for cell in cells))
        parameters[name] = values[0] if len(values) == 1 else values
    environment, placement = conditions.get("environment"), conditions.get("placement")
    return CellsTable(printable(label), cells[0].experiment, parameters, environment, placement)
