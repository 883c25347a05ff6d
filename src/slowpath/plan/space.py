# SPDX-License-Identifier: Apache-2.0
"""Whether the disk holds what the run will write."""

from __future__ import annotations

import shutil
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Cell, Plan
from slowpath.core.units import format_bytes
from slowpath.experiments.cannon.cost import intervals, repetitions

SAMPLE_BYTES = 16  # duration_ns and start_ns
BLOCK_BYTES = 128  # schema/block.json, header_bytes
EVENT_BYTES = 512
CANNON_PARTS = 11  # each a block of its own (docs/internals/record.md)
LAUNCH_BYTES = 16 * 1024  # plan, launch record, captured output
# Kept free besides: report, results, and what others write meanwhile.
RESERVE_BYTES = 32 * 1024 * 1024


def needed_bytes(plan: Plan) -> int:
    """Upper estimate of what a run of `plan` writes, bytes."""
    per_cell = {cell.cell: _cell_bytes(cell, plan.ranks) for cell in plan.cells}
    return sum(LAUNCH_BYTES + sum(per_cell[cell] for cell in launch.cells) for launch in plan.launches)


def require_space(folder: Path, plan: Plan) -> None:
    """Raises EnvironmentFailure if the disk of `folder` has not the room for a run of `plan`."""
    needed = needed_bytes(plan) + RESERVE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EnvironmentFailure(
            f"{folder}: the run may need {_short(needed)} and the disk has {_short(free)} free; "
            "name a folder on another disk with --out, or measure fewer rounds"
        )


def _cell_bytes(cell: Cell, ranks: int) -> int:
    if cell.experiment == "cannon":
        samples = repetitions(cell.parameters) * intervals(cell.parameters, ranks)
        return ranks * (CANNON_PARTS * (2 * BLOCK_BYTES + EVENT_BYTES) + samples * SAMPLE_BYTES)
    samples = max(_number(cell, "samples"), _number(cell, "messages"))
    allocations = _number(cell, "allocations") * _number(cell, "live_buffers")
    parts = 3 if cell.experiment == "put" else 1  # whole bursts, puts alone, synchronisation alone
    each = 3 * BLOCK_BYTES + 2 * EVENT_BYTES + parts * samples * SAMPLE_BYTES
    return 2 * EVENT_BYTES + ranks * allocations * each


def _number(cell: Cell, name: str) -> int:
    text = cell.parameters.get(name, "1")
    return int(text) if text.isdigit() else 1


def _short(count: int) -> str:
    return format_bytes(-(-count // 2**20) * 2**20)
