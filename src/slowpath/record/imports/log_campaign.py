# SPDX-License-Identifier: Apache-2.0
"""campaign.toml of an imported run: the logs' cells as a campaign that `slowpath run` measures here."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.plan import Cell, Environment, Plan
from slowpath.core.toml import table_text
from slowpath.record.imports.log import Log
from slowpath.record.imports.source import campaign_head, printable

_MEASURES = "It measures the same messages with this program's engine, under the launch conditions of this machine."
# What a stated transport is as an environment of a campaign; the other transports are the library's own choice.
_SETTINGS = {"network": "network_path", "shared_memory": "single_copy_off"}
_DEFAULT = "default"


def campaign_text(plan: Plan, logs: Sequence[Log]) -> str:
    """TOML that `plan.campaign` reads: one group of cells a log."""
    parts = [campaign_head(plan, "logs", _MEASURES), *_conditions(plan)]
    by_environment = {environment.name: [] for environment in plan.environments}  # type: dict[str, list[Cell]]
    for cell in plan.cells:
        by_environment[cell.environment].append(cell)
    for log, (label, cells), environment in zip(logs, by_environment.items(), plan.environments, strict=True):
        parts.append(_group(log, label, cells, _condition_keys(environment) if any_stated(plan) else {}))
    return "\n".join(parts)


def any_stated(plan: Plan) -> bool:
    """Whether the launch of any log is stated at all."""
    return any(environment.stated for environment in plan.environments)


def _conditions(plan: Plan) -> list[str]:
    """Environments and placements that stand for what is stated of the logs, each once."""
    if not any_stated(plan):
        return []
    keys = [_condition_keys(environment) for environment in plan.environments]
    settings = {
        key["environment"]: _SETTINGS.get(_transport(environment))
        for key, environment in zip(keys, plan.environments, strict=True)
    }
    placements = {
        key["placement"]: environment.stated for key, environment in zip(keys, plan.environments, strict=True)
    }
    tables = [
        table_text("environment", {"name": name, **({"setting": setting} if setting else {})})
        for name, setting in settings.items()
    ]
    for name, stated in placements.items():
        nodes = {"nodes": int(stated["nodes"])} if "nodes" in stated else {}
        tables.append(table_text("placement", {"name": name, "bind": stated.get("bind", "core"), **nodes}))
    return tables


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


def _group(log: Log, label: str, cells: Sequence[Cell], conditions: dict[str, str]) -> str:
    parameters: dict[str, str | list[str]] = {}
    for name in cells[0].parameters:
        values = list(dict.fromkeys(cell.parameters[name] for cell in cells))
        parameters[name] = values[0] if len(values) == 1 else values
    group = {"name": printable(label), "experiment": cells[0].experiment, **conditions, "parameters": parameters}
    return table_text("cells", group, [f"from {printable(log.path.name)}"])
