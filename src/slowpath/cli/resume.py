# SPDX-License-Identifier: Apache-2.0
"""slowpath resume"""

from __future__ import annotations

import os
from pathlib import Path

import click

from slowpath.cli.options import take_over_option
from slowpath.cli.values import DURATION


@click.command("resume", epilog="Example: slowpath resume slowpath-runs/checkup-20260131-120000")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--budget", type=DURATION, help="Time for what is left (90s, 10m, 1h).")
@click.option(
    "--cell-timeout", type=DURATION, default="60s", show_default=True, help="A launch without progress ends after it."
)
@click.option("--mpi", help="The run's MPI, where no search finds it: as slowpath run takes it; several by commas.")
@click.option(
    "--trust",
    is_flag=True,
    help="What the folder names and sets is started, and what differs from its machine is fine.",
)
@take_over_option()
@click.option("--quiet", is_flag=True, help="No progress; failures are still reported.")
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead of text.")
def command(
    run: Path,
    budget: float | None,
    cell_timeout: float,
    mpi: str | None,
    trust: bool,
    take_over: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Continue a run that was interrupted.

    Launches that ended are kept, the others are run, with the same MPIs and the same engines. Nothing is deleted. A run
    that another process measures is refused, whatever node or container that runs on.

    The folder says what was measured, this machine what is started: MPIs are searched for anew (--mpi, SLOWPATH_MPI,
    PATH), engines are this machine's own. A folder that would choose what is run is refused without --trust, and so is
    a machine that is not the one that the run began on.
    """
    from slowpath.cli.finish import exit_code_of, show
    from slowpath.report.rebuild import rebuild
    from slowpath.run.execute import RunLimits
    from slowpath.run.measure import resume
    from slowpath.run.progress import choose
    from slowpath.run.reopen import Terms

    def tell(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    terms = Terms(mpi, trust, take_over)
    resume(run, os.environ, tell, RunLimits(cell_timeout, budget), lambda: choose(quiet), terms)
    results = rebuild(run)
    show(run, results, "json" if as_json else "text")
    return exit_code_of(results)
