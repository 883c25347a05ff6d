# SPDX-License-Identifier: Apache-2.0
"""slowpath resume"""

from __future__ import annotations

import os
from pathlib import Path

import click

from slowpath.cli.options import cell_timeout_option, full_option, quiet_option, take_over_option
from slowpath.cli.values import DURATION


@click.command("resume", epilog="Example: slowpath resume slowpath-runs/checkup-20260131-120000")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--budget", type=DURATION, help="Time limit of the remaining launches (90s, 10m, 1h).")
@cell_timeout_option()
@click.option("--mpi", help="The run's MPI if the search doesn't find it, as for slowpath run; several with commas.")
@click.option(
    "--trust",
    is_flag=True,
    help="Run programs and settings that the folder names, and accept a different machine.",
)
@take_over_option()
@quiet_option()
@full_option()
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead of text.")
def command(
    run: Path,
    budget: float | None,
    cell_timeout: float,
    mpi: str | None,
    trust: bool,
    take_over: bool,
    quiet: bool,
    full: bool,
    as_json: bool,
) -> int:
    """Continue a run that was interrupted.

    Finished launches are kept and the others run, with the same MPIs and the same engines. Nothing is deleted. A run
    that another process is measuring is refused, even if that process runs on another node or in a container.

    MPIs are searched on this machine again (--mpi, SLOWPATH_MPI, PATH), and this machine's engines are used. A folder
    that chooses which programs run is refused without --trust. So is a machine other than the one on which the run
    started.
    """
    from slowpath.cli.finish import exit_code_of, show
    from slowpath.report.write import rebuild
    from slowpath.run.limits import RunLimits
    from slowpath.run.measure import resume
    from slowpath.run.progress import choose
    from slowpath.run.reopen import Terms

    def tell(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    terms = Terms(mpi, trust, take_over)
    resume(run, os.environ, tell, RunLimits(cell_timeout, budget), lambda: choose(quiet), terms)
    results = rebuild(run)
    show(run, results, "json" if as_json else "text", full)
    return exit_code_of(results)
