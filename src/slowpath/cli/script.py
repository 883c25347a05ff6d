# SPDX-License-Identifier: Apache-2.0
"""slowpath script"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from slowpath.cli.values import DURATION, RANKS
from slowpath.mpi.batch_systems import SCRIPTED, script_for, script_here

EPILOG = "Example: slowpath script node-pairs --scheduler slurm --nodes 8 > job; sbatch job"


@click.command("script", epilog=EPILOG)
@click.argument("campaign", default="checkup")
@click.option(
    "--scheduler",
    type=click.Choice(SCRIPTED),
    help="Batch system.  [default: the one whose command is on the PATH]",
)
@click.option("--nodes", type=click.IntRange(1), help="Nodes to ask for.  [default: what the campaign needs]")
@click.option("--ranks", type=RANKS, help="MPI ranks, in place of the campaign's; several: 1,2,4.")
@click.option("--time", "limit_s", type=DURATION, default="30m", show_default=True, help="Time to ask for.")
@click.option("--mpi", help="The MPIs that the run uses, named as for slowpath run.")
@click.option("--budget", metavar="DURATION", help="Time for the whole run, passed on to slowpath run.")
def command(
    campaign: str,
    scheduler: str | None,
    nodes: int | None,
    ranks: tuple[int, ...] | None,
    limit_s: float,
    mpi: str | None,
    budget: str | None,
) -> int:
    """Write the job script of a campaign; nothing is submitted.

    It goes to stdout. The script runs the campaign in its allocation, and goes on with it where the batch system
    starts the job anew. Modules that are loaded now are loaded in the job, too.
    """
    from slowpath.run.prepare import campaign_named
    from slowpath.run.script.write import Asked, job_script, too_few_nodes

    found = campaign_named(campaign)
    script = script_for(scheduler) if scheduler else script_here(lambda name: shutil.which(name) is not None)
    options = [word for name, value in (("--mpi", mpi), ("--budget", budget)) if value for word in (name, value)]
    if budget:
        DURATION.convert(budget, None, None)
    asked = Asked(
        campaign=str(Path(campaign).absolute()) if Path(campaign).is_file() else campaign,
        slowpath=_started_by(),
        minutes=max(1, round(limit_s / 60)),
        nodes=nodes,
        ranks=ranks,
        options=options,
        modules=[name for name in os.environ.get("LOADEDMODULES", "").split(":") if name],
    )
    if nodes and (note := too_few_nodes(found, nodes)):
        click.echo(note, err=True)
    click.echo(job_script(found, script, asked), nl=False)
    return 0


def _started_by() -> list[str]:
    """The words that start this very program, on any node."""
    beside = Path(sys.executable).parent / "slowpath"
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "slowpath.cli"]
