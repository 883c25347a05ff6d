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
@click.option("--rounds", type=click.IntRange(1), help="How often each configuration is launched.  [default: 8]")
@click.option(
    "--budget", type=DURATION, default="5m", show_default=True, help="Time limit of the replay; reduces the rounds."
)
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
    """Measure messages like those of a watched program, to price its slow paths.

    The messages are measured with and without each fault on this machine. WATCH is a folder of slowpath watch.
    Each kind of message that takes at least 0.1 % of the run, by a rule whose messages take at least 1 %, becomes two
    cells of the engine, measured in interleaved launches of 2 ranks under the program's MPI. The cost is shown first.
    The runs are kept in WATCH/prices, and the watch's report is rebuilt.
    """
    tell = teller(quiet)
    if measure_missing(watch, mpi, rounds, budget, cell_timeout, dry_run, quiet) is None:
        tell("nothing to measure: no rule is about messages that take 1 % of the run or more")
    return 0 if dry_run else _show(watch)


def measure_missing(
    watch: Path,
    mpi: str | None,
    rounds: int | None,
    budget_s: float,
    cell_timeout_s: float,
    dry_run: bool,
    quiet: bool,
) -> Path | None:
    """Measure a watch's messages into a folder of it, and return that; None: there is nothing to measure.

    With `dry_run` print the campaign instead, and return the watch.  Raises: SlowpathError: it can't be measured here.
    """
    from slowpath.watch.analysis import questions

    tell = teller(quiet)
    watched, asked = questions(watch)
    for line in asked.left:
        tell(f"no cell for {line}")
    if not asked.questions:
        return None
    from slowpath.core.campaign import campaign_toml
    from slowpath.watch.replay import measured, prepared_for

    prepared, campaign = prepared_for(watched, asked, os.environ, tell, mpi, rounds, budget_s, dry_run)
    for line in _summary(prepared):
        tell(line)
    if dry_run:
        click.echo(campaign_toml(campaign).rstrip("\n"))
        return watch
    return measured(watch, prepared, ["slowpath", *sys.argv[1:]], cell_timeout_s, budget_s, quiet)


def _summary(prepared: PreparedRun) -> list[str]:
    from slowpath.cli.run import summary

    return summary(prepared)


def _show(watch: Path) -> int:
    """Rebuild the results and the report of the watch, and print its verdict."""
    from slowpath.cli.options import verdict_lines

    for line in verdict_lines(watch):
        click.echo(line)
    return 0
