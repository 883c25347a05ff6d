# SPDX-License-Identifier: Apache-2.0
"""slowpath gate --remeasure: flagged cells are measured again before the gate fails."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import Decorator, grouped
from slowpath.cli.telling import teller
from slowpath.cli.values import DURATION

if TYPE_CHECKING:
    from slowpath.compare.gate import Gate
    from slowpath.compare.read import Source


@dataclass(frozen=True)
class RemeasureOptions:
    """mpi: as --mpi.  out: run folder of the fresh launches.  budget, cell_timeout: seconds."""

    remeasure: bool
    mpi: str | None
    out: Path | None
    budget: float | None
    cell_timeout: float
    quiet: bool


def remeasure_options(name: str) -> Decorator:
    """The options, as one argument of this name."""
    return grouped(
        name,
        RemeasureOptions,
        click.option("--remeasure", is_flag=True, help="Measure flagged cells again before the gate fails."),
        click.option(
            "--mpi", help="MPIs of --remeasure that no search finds: as slowpath run takes them; several by commas."
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            help="Run folder of --remeasure.  [default: slowpath-runs/gate-DATE]",
        ),
        click.option("--budget", type=DURATION, help="Time for --remeasure (90s, 10m, 1h)."),
        click.option(
            "--cell-timeout",
            type=DURATION,
            default="60s",
            show_default=True,
            help="A launch without progress ends after it.",
        ),
        click.option("--quiet", is_flag=True, help="No progress; failures are still reported."),
    )


def measured_again(found: Gate, run: Source, baseline: Source, options: RemeasureOptions) -> Gate:
    """The gate after its flagged rows were measured again."""
    from slowpath.compare.gate import flagged, not_again, with_again
    from slowpath.compare.remeasure import find_sides, judge_again, measure_again, plan_again, refusal
    from slowpath.report.rebuild import rebuild
    from slowpath.run.execute import RunLimits
    from slowpath.run.progress import choose

    tell = teller(options.quiet)
    rows, least = flagged(found), found.comparison.minimum_effect
    sides = find_sides(rows, run, baseline, os.environ, tell, options.mpi)
    if sides.refused:
        return not_again(found, sides.refused)
    plan = plan_again(rows, run, baseline, sides, least)
    if (why := refusal(plan, os.environ)) is not None:
        return not_again(found, why)
    tell(f"measuring {len(rows)} flagged comparisons again, under {', '.join(sides.libraries)}")
    limits, progress = RunLimits(options.cell_timeout, options.budget), choose(options.quiet)
    folder = measure_again(plan, run, baseline, sides, options.out, limits, progress, os.environ)
    fresh = judge_again(rows, rebuild(folder), baseline, sides.baseline, least)
    notes = [sides.note] if sides.note else []
    if missing := len(rows) - len(fresh):
        notes.append(
            f"{missing} flagged comparisons gave no fresh values (see the report in {folder}) and stay flagged"
        )
    return with_again(found, fresh, str(folder), notes)
