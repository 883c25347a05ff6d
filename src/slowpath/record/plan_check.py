# SPDX-License-Identifier: Apache-2.0
"""What must hold between the parts of a plan, and of a launch and its plan. Pure but for the engine's parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from slowpath.core.plan import Cell, Contrast, Launch, Plan
from slowpath.record.folder import LaunchInfo
from slowpath.record.parameter_check import require_parameters

Key = TypeVar("Key")


def require_consistent(plan: Plan) -> None:
    """Check that a plan refers only to what it has.

    Raises: ValueError: two of one name or number, or a name or number that nothing in the plan has.
    """
    cells = {cell.cell: cell for cell in plan.cells}
    _require_once("cell", [cell.cell for cell in plan.cells])
    _require_once("launch", [launch.launch for launch in plan.launches])
    _require_once("contrast", [contrast.id for contrast in plan.contrasts])
    _require_once("placement", [placement.name for placement in plan.placements])
    _require_once("MPI", [mpi.name for mpi in plan.mpis])
    for cell in plan.cells:
        _require_places(f"cell {cell.cell}", plan, cell)
        try:
            require_parameters(cell.experiment, cell.parameters)
        except ValueError as error:
            raise ValueError(f"cell {cell.cell}: {error}") from error
    for launch in plan.launches:
        _require_places(f"launch {launch.launch}", plan, launch)
        _require_known(f"launch {launch.launch}", "cell", launch.cells, cells.keys())
        _require_once(f"launch {launch.launch}: cell", launch.cells)
    for contrast in plan.contrasts:
        _require_sides(contrast, cells.keys())


def require_launches(plan: Plan, launches: Sequence[LaunchInfo]) -> None:
    """Check launches that were made against the plan.  Raises: ValueError: one names what the plan does not have."""
    for launch in launches:
        _require_places(f"launch {launch.launch}", plan, launch)


def _require_places(who: str, plan: Plan, placed: Cell | Launch | LaunchInfo) -> None:
    _require_known(who, "placement", [placed.placement], {placement.name for placement in plan.placements})
    if plan.mpis:
        _require_known(who, "MPI", [placed.mpi], {mpi.name for mpi in plan.mpis})
    try:
        plan.environment(placed.environment, placed.mpi)
    except KeyError:
        raise ValueError(f"{who}: there is no environment '{placed.environment[:80]}'") from None


def _require_sides(contrast: Contrast, cells: Iterable[int]) -> None:
    _require_known(f"contrast '{contrast.id[:80]}'", "cell", [contrast.a.cell, contrast.b.cell], cells)


def _require_known(who: str, what: str, asked: Sequence[Key], known: Iterable[Key]) -> None:
    unknown = next((name for name in asked if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{who}: there is no {what} {str(unknown)[:80]!r}")


def _require_once(what: str, keys: Sequence[object]) -> None:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"{what} {str(key)[:80]!r} is there twice")
        seen.add(key)
