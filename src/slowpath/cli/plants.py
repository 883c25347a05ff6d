# SPDX-License-Identifier: Apache-2.0
"""slowpath plants"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import take_over_option
from slowpath.cli.telling import teller

if TYPE_CHECKING:
    from slowpath.run.libraries import Library
    from slowpath.studies.plants.classes import PlantClass


@click.command("plants", epilog="Example: slowpath plants --count 60 --clean 60")
@click.option("--count", type=click.IntRange(0), default=12, show_default=True, help="Plants to try.")
@click.option("--clean", type=click.IntRange(0), default=4, show_default=True, help="Runs without a plant.")
@click.option("--baseline", type=click.IntRange(1), default=8, show_default=True, help="Clean runs before all others.")
@click.option("--seed", type=click.IntRange(0), help="Draws the plants of another run again.  [default: a fresh one]")
@click.option("--class", "chosen", multiple=True, help="Only this class of plants; may be repeated.")
@click.option("--mpi", help="As in slowpath run.")
@click.option("--budget", help="Time of each diagnosis (2m), trials and all.  [default: diagnose --name-only]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder; goes on where one of this --seed stopped.  [default: slowpath-plants-SEED]",
)
@take_over_option()
@click.option("--dry-run", is_flag=True, help="Print what would be planted, start nothing.")
def command(
    count: int,
    clean: int,
    baseline: int,
    seed: int | None,
    chosen: tuple[str, ...],
    mpi: str | None,
    budget: str | None,
    out: Path | None,
    take_over: bool,
    dry_run: bool,
) -> int:
    """Plant slow paths by known laws, and count how many are named.

    For those who work on Slowpath. Each plant delays MPI calls by a law whose parameters are drawn from the seed; then
    the diagnosis runs as for a user. Exit code 1: one was named wrong, or a clean run raised a false alarm.
    """
    from slowpath.studies.plants.harness import run
    from slowpath.studies.plants.measure import prepare
    from slowpath.studies.plants.table import counts, line, table
    from slowpath.studies.plants.trials import draw

    seed = secrets.randbits(31) if seed is None else seed
    asked = ["--name-only"] if budget is None else ["--budget", budget]
    ground = prepare(mpi, ["diagnose", "--quiet", *asked], teller(), dry_run)
    trials = draw(_classes(chosen, ground.library), count, clean, baseline, seed)
    click.echo(f"seed {seed}, {ground.library.identity}, {' '.join(ground.command)}")
    if dry_run:
        for trial in trials:
            click.echo(f"{trial.name:24} {trial.plant.text if trial.plant else 'nothing'}")
        return 0
    folder = out or Path(f"slowpath-plants-{seed}")
    scored = run(ground, trials, folder, seed, lambda one: click.echo(line(one)), take_over)
    click.echo(table(scored))
    click.echo(f"all of it: {folder / 'plants.json'}")
    found = counts(scored)
    return int(found["wrong"] + found["clean_with_false_alarms"] + found["failed"] > 0)


def _classes(chosen: tuple[str, ...], library: Library) -> list[PlantClass]:
    """Those asked for, or all, less what this machine or library does not have, which is reported."""
    from slowpath.core.errors import UsageError
    from slowpath.studies.plants.classes import CLASSES
    from slowpath.studies.plants.measure import unavailable

    names = [one.name for one in CLASSES]
    for name in chosen:
        if name not in names:
            raise UsageError(f"--class {name}: there is no such class; there are {', '.join(names)}")
    found = []
    for one in CLASSES:
        if chosen and one.name not in chosen:
            continue
        if (why := unavailable(one, library)) is not None:
            click.echo(f"class {one.name} is left out: {why}", err=True)
        else:
            found.append(one)
    return found
