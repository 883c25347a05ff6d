# SPDX-License-Identifier: Apache-2.0
"""The run that counts calls: the cells that findings rest on, each in its environment and in a witnessed twin. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.diagnose.campaign_text import Campaign, Environment, Group
from slowpath.diagnose.sides import Condition, condition

Json = Mapping[str, Any]
ROUNDS = 2  # counts are the same in every launch; the second says so
MOST_CELLS = 4  # of one finding: two slow and two fast ones


def witness_campaign(findings: Sequence[Json], survey: Json, others: Mapping[str, Json], ranks: int) -> Campaign | None:
    """None when every finding is explained, or none has cells.

    Args: others: results of steps by their folder, for findings that came from one.
    """
    wanted: dict[str, Json] = {}
    under: dict[str, Condition] = {}
    for finding in findings:
        if finding["legs"]["explained"]["state"] != "missing":
            continue
        half = MOST_CELLS // 2
        results = others.get(finding.get("run") or "", survey)
        cells = {cell["cell"]: cell for cell in results["cells"]}
        for number in [*finding["slow_cells"][:half], *finding["fast_cells"][:half]]:
            if number in cells:
                key = f"{cells[number]['key']} {cells[number]['environment']}"
                wanted[key], under[key] = cells[number], condition(cells[number], results)
    if not wanted:
        return None
    environments: dict[str, Environment] = {}
    groups = []
    for number, (key, cell) in enumerate(wanted.items(), start=1):
        here = under[key]
        environments[here.environment] = Environment(here.environment, here.variables, here.unset)
        twin = twin_of(here)
        environments[twin.name] = twin
        names = [here.environment, twin.name]
        groups.append(Group(f"cell {number}", cell["experiment"], cell["parameters"], names, [here.placement]))
    return Campaign(
        name="witness",
        title="What the library calls",
        ranks=ranks,
        rounds=ROUNDS,
        environments=list(environments.values()),
        placements={one.placement: one.bind for one in under.values()},
        groups=groups,
        contrasts=[],
        why="Calls are counted in launches of their own, whose times stand for nothing.",
    )


def twin_of(under: Condition) -> Environment:
    """The same environment with the witness."""
    return Environment(f"{under.environment}, witnessed"[:80], under.variables, under.unset, witness=True)
