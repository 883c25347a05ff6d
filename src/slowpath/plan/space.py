# SPDX-License-Identifier: Apache-2.0
"""Whether the disk holds what the run will write."""

from __future__ import annotations

import shutil
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Plan
from slowpath.core.units import format_bytes
from slowpath.experiments.registry import experiment_named

LAUNCH_BYTES = 64 * 1024  # plan, launch record, captured output, what is measured without MPI
# Kept free as well: report, results, and what others write meanwhile.
RESERVE_BYTES = 32 * 1024 * 1024


def needed_bytes(plan: Plan) -> int:
    """Upper estimate of what a run of `plan` writes, bytes."""
    per_cell = {
        cell.cell: experiment_named(cell.experiment).recorded_bytes(cell.parameters, plan.ranks_of(cell.placement))
        for cell in plan.cells
    }
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


def _short(count: int) -> str:
    return format_bytes(-(-count // 2**20) * 2**20)
