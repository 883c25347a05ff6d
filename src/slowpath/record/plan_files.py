# SPDX-License-Identifier: Apache-2.0
"""plan.json, what must hold between its parts, and the plan.txt that the engine reads (docs/internals/record.md)."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from slowpath.core.engine_description import Parameter, recorded
from slowpath.core.errors import unreadable
from slowpath.core.files import RESTORE, json_bytes, read_versioned, write_atomically
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Launch, Plan
from slowpath.record.folder import LaunchInfo, create_run_folder, read_run, write_run

ENGINE_PLAN_VERSION = 1


def write_plan(path: Path, plan: Plan) -> None:
    """Writes plan.json.  Raises: EnvironmentFailure if it can't be written."""
    write_atomically(path, json_bytes(plan))


def read_plan(path: Path) -> Plan:
    """Reads plan.json.  Raises: RecordError: missing, damaged, beyond the limits, or of another version."""
    plan = read_versioned(path, Plan, PLAN_SCHEMA)
    try:
        require_consistent(plan)
    except ValueError as error:
        raise unreadable(path, error, RESTORE) from error
    return plan


def begin_again(run: Path, out: Path, times: int, started: str) -> None:
    """Make a folder for the launches of a run, `times` as many and in another order, of which none was started yet.

    Args:   started: now, as run.json has it.
    Raises: RecordError: no run, or a damaged one.  EnvironmentFailure: `out` is taken or can't be written.
    """
    info, plan, generator = read_run(run), read_plan(run / "plan.json"), random.Random(started)
    launches = list[Launch]()
    for again in range(times):
        for launch in plan.launches:
            launches.append(
                msgspec.structs.replace(
                    launch,
                    launch=len(launches) + 1,
                    round=again * plan.rounds + launch.round,
                    cells=generator.sample(launch.cells, len(launch.cells)),
                    seed=generator.getrandbits(48),
                )
            )
    create_run_folder(plan.campaign, out)
    write_plan(out / "plan.json", msgspec.structs.replace(plan, rounds=times * plan.rounds, launches=launches))
    write_run(out, msgspec.structs.replace(info, id=out.name, started=started, wall_s=None, status="running", notes=[]))


def engine_plan_text(plan: Plan, launch: Launch, cells: Iterable[int] | None = None) -> str:
    """plan.txt of one launch: its cells in their order, or only those of `cells`, for a follow-up launch.

    Raises: ValueError if a value holds a blank, which plan.txt cannot express.
    """
    by_number = {cell.cell: cell for cell in plan.cells}
    numbers = launch.cells if cells is None else list(cells)
    return _text((by_number[number] for number in numbers), f"launch {launch.launch}", f"seed {launch.seed}")


def engine_cells_text(cells: Iterable[Cell]) -> str:
    """A plan of these cells that no launch runs, for the engine to judge.

    Raises: ValueError if a value holds a blank, which plan.txt cannot express.
    """
    return _text(cells)


def _text(cells: Iterable[Cell], *head: str) -> str:
    lines = [f"slowpath-plan {ENGINE_PLAN_VERSION}", *head, *(_cell_line(cell) for cell in cells)]
    return "\n".join(lines) + "\n"


def _cell_line(cell: Cell) -> str:
    words = ["cell", str(cell.cell), cell.experiment, *(f"{k}={v}" for k, v in cell.parameters.items())]
    for word in words:
        if not word or word.split() != [word]:
            raise ValueError(f"cell {cell.cell}: {word!r} holds a blank, which plan.txt cannot express")
    return " ".join(words)


_WHOLE = re.compile(r"[0-9]{1,18}")  # below 2**63
_SECONDS = re.compile(r"[0-9.eE+-]{1,40}")


def require_parameters(experiment: str, parameters: Mapping[str, str]) -> None:
    """Raises: ValueError: a number of bytes, of things or of seconds is none, or is below its least value.

    Words, and parameters and experiments that this version does not know, may be anything.
    """
    known = _known().get(experiment, {})
    for name, value in parameters.items():
        if name in known and not _fits(known[name], value):
            kind = {"bytes": "number of bytes", "count": "whole number"}.get(known[name].type, "number of seconds")
            least = " from 1 on" if _least(known[name]) else ""
            raise ValueError(f"parameter {name} is '{value[:40]}', which is no {kind}{least}")


@lru_cache(maxsize=1)
def _known() -> dict[str, dict[str, Parameter]]:
    return {experiment.name: {p.name: p for p in experiment.parameters} for experiment in recorded().experiments}


@lru_cache(maxsize=65536)
def _one_fits(value: str, kind: str, least: int, words: tuple[str, ...]) -> bool:
    if value in words:
        return True
    if kind == "seconds":
        return bool(_SECONDS.fullmatch(value)) and _is_seconds(value)
    return bool(_WHOLE.fullmatch(value)) and int(value) >= least


def _fits(parameter: Parameter, value: str) -> bool:
    if parameter.type not in ("bytes", "count", "seconds"):
        return True
    sides = value.split(":") if parameter.sided else [value]
    words = tuple(word for word in (*(parameter.choices or ()), parameter.default) if word[:1].isalpha())
    return len(sides) <= 2 and all(_one_fits(side, parameter.type, _least(parameter), words) for side in sides)


def _least(parameter: Parameter) -> int:
    """1 where there is none without it; logs of other programs hold what is less than our engine measures."""
    return int(parameter.type != "seconds" and parameter.minimum not in (None, "0"))


def _is_seconds(text: str) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return math.isfinite(value) and 0 <= value <= 1e9


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


def _require_known(who: str, kind: str, asked: Sequence[Key], known: Iterable[Key]) -> None:
    unknown = next((name for name in asked if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{who}: there is no {kind} {str(unknown)[:80]!r}")


def _require_once(kind: str, keys: Sequence[object]) -> None:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"{kind} {str(key)[:80]!r} is there twice")
        seen.add(key)
