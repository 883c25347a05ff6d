# SPDX-License-Identifier: Apache-2.0
"""plan.json, and the plan.txt that the engine reads (docs/internals/record.md)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from slowpath.core.decoding import Versioned, decoded
from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes, write_atomically
from slowpath.core.limits import FILE_BYTES
from slowpath.core.plan import PLAN_SCHEMA, Cell, Launch, Plan
from slowpath.record.plan_check import require_consistent

ENGINE_PLAN_VERSION = 1


def write_plan(path: Path, plan: Plan) -> None:
    """Writes plan.json.  Raises: EnvironmentFailure if it can't be written."""
    text = msgspec.json.format(msgspec.json.encode(plan), indent=1)
    write_atomically(path, text + b"\n")


def read_plan(path: Path) -> Plan:
    """Reads plan.json.  Raises: RecordError: missing, damaged, beyond the limits, or from a newer version."""
    content = read_bytes(path, FILE_BYTES["plan.json"])
    advice = "measure again, or restore the file from a copy"
    schema = decoded(content, Versioned, path, advice, "is not a plan").schema
    if schema > PLAN_SCHEMA:
        raise RecordError(f"{path}: was written by a newer slowpath (schema {schema}); update slowpath to read it")
    plan = decoded(content, Plan, path, advice, "is not a valid plan")
    try:
        require_consistent(plan)
    except ValueError as error:
        raise RecordError(f"{path}: is damaged: {error}; {advice}") from error
    return plan


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
