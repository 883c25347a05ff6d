# SPDX-License-Identifier: Apache-2.0
"""slowpath resume"""

from __future__ import annotations

import os
from pathlib import Path

import click

from slowpath.cli.values import DURATION


@click.command("resume", epilog="Example: slowpath resume slowpath-runs/checkup-20260131-120000")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--budget", type=DURATION, help="Time for what is left (90s, 10m, 1h).")
@click.option(
    "--cell-timeout", type=DURATION, default="60s", show_default=True, help="A launch without progress ends after it."
)
@click.option("--quiet", is_flag=True, help="No progress; failures are still reported.")
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead of text.")
def command(run: Path, budget: float | None, cell_timeout: float, quiet: bool, as_json: bool) -> int:
    """Continue a run that was interrupted.

    Launches that ended are kept, the others are run, with the same MPIs and the same engines. Nothing is deleted.
    """
    from slowpath.cli.finish import exit_code_of, show
    from slowpath.report.rebuild import rebuild
    from slowpath.run.execute import RunLimits
    from slowpath.run.measure import measure
    from slowpath.run.progress import choose
    from slowpath.run.reopen import reopen

    plan, commands, schedule = reopen(run, os.environ, lambda line: None if quiet else click.echo(line, err=True))
    left = len(schedule.launches_left())
    if not quiet:
        click.echo(f"{left} of {len(plan.launches)} launches are left", err=True)
    measure(run, plan, commands, RunLimits(cell_timeout, budget), choose(quiet), schedule)
    results = rebuild(run)
    show(run, results, "json" if as_json else "text")
    return exit_code_of(results)
