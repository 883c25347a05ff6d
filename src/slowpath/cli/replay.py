# SPDX-License-Identifier: Apache-2.0
"""slowpath replay"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import DURATION, cell_timeout_option, dry_run_option, quiet_option, teller

if TYPE_CHECKING:
    from slowpath.run.prepare import PreparedRun


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
    from slowpath.core.campaign import campaign_toml
    from slowpath.watch.replay import measured, missing, prepared_for

    tell = teller(quiet)
    watched, questions = missing(watch)
    if not questions:
        tell("nothing to measure: messages are measured already, or below 1 %")
    else:
        prepared, campaign = prepared_for(watched, questions, os.environ, tell, mpi, rounds, budget, dry_run)
        for line in _summary(prepared):
            tell(line)
        if dry_run:
            click.echo(campaign_toml(campaign).rstrip("\n"))
        else:
            measured(watch, prepared, ["slowpath", *sys.argv[1:]], cell_timeout, budget, quiet)
    return 0 if dry_run else _show(watch)


def _summary(prepared: PreparedRun) -> list[str]:
    from slowpath.cli.run import summary

    return summary(prepared)


def _show(watch: Path) -> int:
    """Rebuild the results and the report of the watch, and print its verdict."""
    from slowpath.cli.options import verdict_lines

    for line in verdict_lines(watch):
        click.echo(line)
    return 0
