# SPDX-License-Identifier: Apache-2.0
"""plan.json, and the plan.txt that the engine reads (docs/internals/record.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes, write_atomically
from slowpath.core.plan import PLAN_SCHEMA, Cell, Launch, Plan

ENGINE_PLAN_VERSION = 1


def write_plan(path: Path, plan: Plan) -> None:
    """Writes plan.json.  Raises: EnvironmentFailure if it can't be written."""
    text = msgspec.json.format(msgspec.json.encode(plan), indent=1)
    write_atomically(path, text + b"\n")


def read_plan(path: Path) -> Plan:
    """Reads plan.json.  Raises: RecordError if it is missing, damaged or from a newer version."""
    content = read_bytes(path)
    try:
        schema = json.loads(content)["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError(f"{path}: is not a plan; the run folder is damaged") from error
    if not isinstance(schema, int) or schema > PLAN_SCHEMA:
        raise RecordError(f"{path}: was written by a newer slowpath (schema {schema}); update slowpath to read it")
    try:
        return msgspec.json.decode(content, type=Plan)
    except msgspec.DecodeError as error:
        raise RecordError(f"{path}: is not a valid plan: {error}; the run folder is damaged") from error


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
