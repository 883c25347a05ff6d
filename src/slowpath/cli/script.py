# SPDX-License-Identifier: Apache-2.0
"""slowpath script"""

from __future__ import annotations

import math
import os
import shutil
import sys
from pathlib import Path

import click

from slowpath.cli.values import DURATION, RANKS
from slowpath.core.errors import SlowpathError
from slowpath.mpi.batch_systems import SCRIPTED, script_for, script_here

BUILD_S = 300.0
ROOM = 2  # the plan is an estimate; a job that is cut off goes on when it is submitted again
UNKNOWN_S = 1800.0
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
@click.option("--time", "limit_s", type=DURATION, help="Time to ask for.  [default: twice the planned time]")
@click.option("--mpi", help="The MPIs that the run uses, named as for slowpath run.")
@click.option("--budget", metavar="DURATION", help="Time for the whole run, passed on to slowpath run.")
def command(
    campaign: str,
    scheduler: str | None,
    nodes: int | None,
    ranks: tuple[int, ...] | None,
    limit_s: float | None,
    mpi: str | None,
    budget: str | None,
) -> int:
    """Write the job script of a campaign, without submitting it.

    The script goes to stdout. It runs the campaign in its allocation and continues the campaign when the batch system
    restarts the job. Modules that are loaded now are also loaded in the job.
    """
    from slowpath.plan.places import most_nodes
    from slowpath.run.prepare import campaign_named
    from slowpath.run.script.write import ScriptRequest, job_script, too_few_nodes

    found = campaign_named(campaign)
    script = script_for(scheduler) if scheduler else script_here(lambda name: shutil.which(name) is not None)
    budget_s = DURATION.convert(budget, None, None) if budget else None
    if limit_s is None:
        limit_s, why = _time_for(campaign, nodes or most_nodes(found.placements), mpi, ranks, budget_s)
        click.echo(why, err=True)
    asked = ScriptRequest(
        campaign=str(Path(campaign).absolute()) if Path(campaign).is_file() else campaign,
        slowpath=_started_by(),
        minutes=max(1, math.ceil(limit_s / 60)),
        nodes=nodes,
        ranks=ranks,
        mpi=mpi,
        options=["--budget", budget] if budget else [],
        modules=[name for name in os.environ.get("LOADEDMODULES", "").split(":") if name],
    )
    if nodes and (note := too_few_nodes(found, nodes)):
        click.echo(note, err=True)
    click.echo(job_script(found, script, asked), nl=False)
    return 0


def _time_for(
    campaign: str, nodes: int, mpi: str | None, ranks: tuple[int, ...] | None, budget_s: float | None
) -> tuple[float, str]:
    """Return the seconds to ask for, and a line with the reason."""
    from slowpath.plan.places import Nodes
    from slowpath.run.prepare import prepare
    from slowpath.run.progress import duration

    if budget_s is not None:
        return budget_s + BUILD_S, f"time: the budget plus {duration(BUILD_S)} to build the engine"
    there = Nodes(nodes, tuple(f"n{number}" for number in range(1, nodes + 1)))
    try:
        prepared = prepare(campaign, os.environ, lambda _: None, mpi, ranks, dry=True, nodes=there)
    except SlowpathError as error:
        return (
            UNKNOWN_S,
            f"time: {duration(UNKNOWN_S)}, because the plan can't be made here ({error}); set it with --time",
        )
    wall_s = prepared.cost.wall_s
    return ROOM * wall_s + BUILD_S, (
        f"time: {prepared.cost.launches} launches on {nodes} node{'s' * (nodes != 1)} take about {duration(wall_s)} by "
        f"the plan; asking for {ROOM} times that plus {duration(BUILD_S)} to build the engine"
    )


def _started_by() -> list[str]:
    """Return the words that start this program on any node."""
    beside = Path(sys.executable).parent / "slowpath"
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "slowpath.cli"]
