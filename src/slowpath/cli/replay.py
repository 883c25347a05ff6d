# SPDX-License-Identifier: Apache-2.0
"""slowpath replay"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from slowpath.cli.options import DURATION, cell_timeout_option, dry_run_option, quiet_option, teller


@click.command("replay", epilog="Example: slowpath replay slowpath-watches/lmp-20260131-120000 --budget 2m")
@click.argument("watch", type=click.Path(path_type=Path, file_okay=False))
@click.option("--mpi", help="Path or prefix of the program's MPI.  [default: search for it]")
@click.option("--rounds", type=click.IntRange(1), help="Launches of each configuration.  [default: 8]")
@click.option("--budget", type=DURATION, default="5m", show_default=True, help="Time limit (90s, 5m, 1h).")
@cell_timeout_option()
@dry_run_option()
@quiet_option()
def replay_command(
    watch: Path,
    mpi: str | None,
    rounds: int | None,
    budget: float,
    cell_timeout: float,
    dry_run: bool,
    quiet: bool,
) -> int:
    """Measure messages like those of a watched program, to price its slow paths."""
    from slowpath.cli.options import verdict_lines
    from slowpath.cli.run import summary
    from slowpath.core.campaign import campaign_toml
    from slowpath.watch.replay import measured, outcome, prepared_for, priced
    from slowpath.watch.results import read_watch_results

    tell = teller(quiet)
    watched, prices = priced(watch)
    if not prices.missing:
        tell("nothing is left to measure: messages are measured, or below 1 %")
    else:
        prepared, campaign = prepared_for(watched, prices.missing, os.environ, tell, mpi, rounds, budget, dry_run)
        for line in summary(prepared):
            tell(line)
        if dry_run:
            click.echo(campaign_toml(campaign).rstrip("\n"))
        else:
            measured(watch, prepared, ["slowpath", *sys.argv[1:]], cell_timeout, budget, quiet)
    if not dry_run:
        for line in verdict_lines(watch):
            click.echo(line)
        click.echo(outcome(priced(watch)[1], read_watch_results(watch)))
    return 0
