# SPDX-License-Identifier: Apache-2.0
"""What a remedy changes in a cell: one axis, its value as it is and remedied, and the conditions of both. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slowpath.core.campaign import CellsTable, EnvironmentTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.diagnose.places import LaunchPlace
from slowpath.diagnose.sides import Condition
from slowpath.findings.slow_path import Remedy
from slowpath.mpi.launchers import INHERITED, WIDENED

_ALL = "all processors"


@dataclass(frozen=True)
class Toggle:
    """axis, slow, remedied: what differs, as it is and with the remedy.  parameters: with the remedy.

    environments: by name, the one as it is first.  placements: the one as it is first.
    """

    axis: str
    slow: str
    remedied: str
    parameters: Mapping[str, str]
    environments: tuple[EnvironmentTable, ...]
    placements: Mapping[str, LaunchPlace]

    def leads_to(self, cell: CellResult, under: Condition) -> bool:
        """Whether the cell with the remedy is this one: the same parameters, variables and binding."""
        here, place = self.environments[-1], list(self.placements.values())[-1]
        mine = (dict(self.parameters), dict(here.variables), set(here.unset), place)
        return mine == (dict(cell.parameters), dict(under.variables), set(under.unset), under.place)


def toggle_of(cell: CellResult, under: Condition, remedy: Remedy, environ: frozenset[str]) -> Toggle | str:
    """What the remedy changes in a cell, or why it changes nothing there.

    Args: environ: names of the user's variables.
    """
    parameters = dict(cell.parameters)
    here = EnvironmentTable(under.environment, under.variables, under.unset)
    places = {under.placement: under.place}
    if remedy.parameter is not None and remedy.change is not None:
        changed = remedy.change(parameters)
        if changed is None:
            return f"it does not apply: {remedy.parameter} already has this value, or this experiment lacks it"
        name = remedy.parameter
        return Toggle(name, parameters[name], changed[name], changed, (here,), places)
    if remedy.bind is not None:
        if under.bind == remedy.bind:
            return f"it does not apply: ranks are already bound to a {remedy.bind}"
        if remedy.bind == WIDENED and under.bind != INHERITED:
            return "it does not apply: these launches do not start where ranks run"
        names = under.placement, _ALL if remedy.bind == WIDENED else f"bound to {remedy.bind}"
        return Toggle(
            "placement", *names, parameters, (here,), {**places, names[1]: replace(under.place, bind=remedy.bind)}
        )
    other = _remedied(under, remedy, environ)
    if other is None:
        return "it does not apply: the environment already has these values"
    return Toggle("environment", here.name, other.name, parameters, (here, other), places)


def _remedied(under: Condition, remedy: Remedy, environ: frozenset[str]) -> EnvironmentTable | None:
    """The environment with the remedy; None: it would be the same."""
    variables = {k: v for k, v in under.variables.items() if k not in remedy.unset} | dict(remedy.variables)
    unset = tuple(dict.fromkeys([*under.unset, *(name for name in remedy.unset if name in environ)]))
    unset = tuple(name for name in unset if name not in variables)
    if (variables, unset) == (dict(under.variables), under.unset):
        return None
    return EnvironmentTable(f"remedied: {remedy.name}"[:80], variables, unset)


def cells_at(
    name: str,
    experiment: str,
    parameters: Mapping[str, str | list[str]] | Mapping[str, str],
    toggle: Toggle,
    values: Sequence[str],
    copies: int = 1,
) -> CellsTable:
    """Cells at each of `values` of the toggle's axis."""
    environments, placements = [toggle.environments[0].name], [next(iter(toggle.placements))]
    chosen: dict[str, Values] = dict(parameters)
    if toggle.axis == "environment":
        environments = list(values)
    elif toggle.axis == "placement":
        placements = list(values)
    else:
        chosen[toggle.axis] = list(values)
    return CellsTable(name, experiment, chosen, environments, placements, copies)
