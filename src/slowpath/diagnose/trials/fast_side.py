# SPDX-License-Identifier: Apache-2.0
"""The fast side in a trial: as it is, and with the remedy where that changes anything there. Pure.

A remedy goes on both sides. What counts is the gap between them as they are and as they would be: one that speeds up
both alike is worth having and leaves the gap where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slowpath.core.campaign import CellsTable, ContrastTable, EnvironmentTable
from slowpath.diagnose.places import LaunchPlace
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.tasks import FastSide
from slowpath.diagnose.trials.toggle import Toggle, cells_at, toggle_of
from slowpath.findings.slow_path import Remedy

EFFECT = "remedy"
FAST, FAST_AGAIN = "fast side", "fast side again"
_QUESTION = "How fast is the fast side with the remedy?"


@dataclass(frozen=True)
class FastCells:
    """kind: as TrialTask.fast_side.  groups, contrasts, environments: what the campaign needs for it.

    Contrasts have the remedied cell as `a` and the one as it is as `b`; where the remedy changes nothing, two copies.
    """

    kind: FastSide
    groups: tuple[CellsTable, ...] = ()
    contrasts: tuple[ContrastTable, ...] = ()
    environments: tuple[EnvironmentTable, ...] = ()
    placements: tuple[tuple[str, LaunchPlace], ...] = ()


def fast_cells(sides: Sides, toggle: Toggle, remedy: Remedy, environ: frozenset[str]) -> FastCells:
    """How the fast side is measured in the trial of this remedy.  Args: environ: names of the user's variables."""
    if sides.fast is None or sides.fast_under is None:
        return FastCells("none")
    metric, phase = sides.fast_metric or sides.metric, sides.fast_phase
    if sides.axis == "phase":
        pairs = [_pair(EFFECT, name, toggle, metric, phase, copy) for name, copy in ((FAST, "1"), (FAST_AGAIN, "2"))]
        return FastCells("toggled", contrasts=tuple(pairs))
    if toggle.leads_to(sides.fast, sides.fast_under):
        return FastCells("remedied")
    experiment, parameters = sides.fast.experiment, dict(sides.fast.parameters)
    there = toggle_of(sides.fast, sides.fast_under, remedy, environ)
    if isinstance(there, str):
        return _unchanged(sides.fast_under, experiment, parameters, metric, phase, toggle)
    there = _named(there, toggle)
    group = cells_at(FAST, experiment, parameters, there, [there.slow, there.remedied], copies=2)
    pairs = [_pair(FAST, name, there, metric, phase, copy) for name, copy in ((FAST, "1"), (FAST_AGAIN, "2"))]
    return FastCells("toggled", (group,), tuple(pairs), there.environments, tuple(there.placements.items()))


def _unchanged(
    under: Condition, experiment: str, parameters: dict[str, str], metric: str, phase: str, toggle: Toggle
) -> FastCells:
    """Two copies of the fast cell: the remedy is about what the slow side alone has."""
    here = _own_name(EnvironmentTable(under.environment, under.variables, under.unset), toggle.environments)
    group = CellsTable(FAST, experiment, parameters, [here.name], [under.placement], copies=2)
    alike = ContrastTable(FAST, _QUESTION, FAST, "copy", "1", "2", metric, phase, explains=True)
    return FastCells("unchanged", (group,), (alike,), (here,), ((under.placement, under.place),))


def _pair(group: str, name: str, toggle: Toggle, metric: str, phase: str, copy: str) -> ContrastTable:
    where = {"copy": copy}
    a, b = toggle.remedied, toggle.slow
    return ContrastTable(name, _QUESTION, group, toggle.axis, a, b, metric, phase, where, explains=True)


def _named(there: Toggle, here: Toggle) -> Toggle:
    """The fast side's toggle with environments that no other one of the campaign is called by."""
    environments = tuple(_own_name(environment, here.environments) for environment in there.environments)
    renamed = {old.name: new.name for old, new in zip(there.environments, environments, strict=True)}
    if there.axis != "environment":
        return replace(there, environments=environments)
    return replace(there, slow=renamed[there.slow], remedied=renamed[there.remedied], environments=environments)


def _own_name(one: EnvironmentTable, taken: Sequence[EnvironmentTable]) -> EnvironmentTable:
    """Equal environments share a name, others never do."""
    for other in taken:
        if (dict(one.variables), set(one.unset)) == (dict(other.variables), set(other.unset)):
            return other
    names = {other.name for other in taken}
    return replace(one, name=f"{one.name[:70]} (fast side)") if one.name in names else one
