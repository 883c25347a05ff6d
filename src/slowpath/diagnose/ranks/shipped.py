# SPDX-License-Identifier: Apache-2.0
"""Groups of campaigns/coll.toml as parts of a survey: the cells that rules were made for, in less time. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.diagnose.campaign_text import EnvironmentTable
from slowpath.diagnose.ranks.parts import BRIEF, Pair, Part

# Groups of the campaign, the most valuable first; slow paths name them among their probes.
EARLY = ("numbered calls", "numbered barriers", "numbered communicators", "waits")
GROUPS = (
    *EARLY,
    "thread level",
    "ops",
    "starts",
    "counts",
    "lengths",
    "arrivals",
    "counts of what is not reduced",
    "lengths of reductions in order",
)
EVERYWHERE = "lengths"  # also asks what a place costs
MOST_RANKS_OF_MANY = 16  # communicators one after the other take too long with more
CROWDED = "waits"  # asks what a shared core costs: of all ranks, where they share cores, and of none where not


def _name(group: str) -> str:
    return f"collectives: {group}"


def shipped_parts(text: str, known: Sequence[str]) -> list[Part]:
    """Parts of the campaign `text`.

    Args: known: environments that the survey has already, by name.
    """
    campaign = tomllib.loads(text)
    groups = {one["name"]: one for one in campaign["cells"]}
    tables = {one["name"]: _environment(one) for one in campaign["environment"] if one["name"] not in known}
    return [_part(groups[name], campaign, tables) for name in GROUPS if name in groups]


def _part(
    group: Mapping[str, Any],
    campaign: Mapping[str, Any],
    tables: Mapping[str, EnvironmentTable],
) -> Part:
    written = group.get("environment", "default")
    names = [written] if isinstance(written, str) else list(written)
    pattern = group["parameters"].get("pattern", "calls")
    brief = BRIEF if pattern == "calls" else {}  # of the others each number counts
    return Part(
        _name(group["name"]),
        {name: _words(value) for name, value in group["parameters"].items() if name not in brief},
        tuple(_pair(one) for one in campaign["contrast"] if one["cells"] == group["name"]),
        environments=tuple(name for name in names if name not in tables),
        own_environments=tuple(tables[name] for name in names if name in tables),
        experiment=group["experiment"],
        effort=brief,
        most_ranks=MOST_RANKS_OF_MANY if pattern == "communicators" else None,
        is_early=group["name"] in EARLY,
        crowded=group["name"] == CROWDED,
        everywhere=group["name"] == EVERYWHERE,
    )


def _environment(table: Mapping[str, Any]) -> EnvironmentTable:
    return EnvironmentTable(
        table["name"], table.get("variables", {}), table.get("unset", ()), setting=table.get("setting")
    )


def _pair(table: Mapping[str, Any]) -> Pair:
    b = table["b"]
    return Pair(
        f"collectives: {table['name']}",
        table["question"],
        table["axis"],
        str(table["a"]),
        tuple(map(str, b if isinstance(b, list) else [b])),
        metric=table["metric"],
        explains=table.get("explains", False),
    )


def _words(value: Any) -> str | list[str]:
    return [str(one) for one in value] if isinstance(value, list) else str(value)
