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
    from collections.abc import Sequence

    from slowpath.run.libraries import Library
    from slowpath.studies.plants.classes import PlantClass
    from slowpath.studies.plants.detection import DetectionLimit
    from slowpath.studies.plants.folder import Drawn
    from slowpath.studies.plants.measure import Ground
    from slowpath.studies.plants.table import Scored
    from slowpath.studies.plants.trials import PlantCounts


@click.command("plants", epilog="Example: slowpath plants --count 60 --clean 60 --pairs 0.2")
@click.option("--count", type=click.IntRange(0), default=12, show_default=True, help="Plants to try.")
@click.option("--clean", type=click.IntRange(0), default=4, show_default=True, help="Runs without a plant.")
@click.option("--baseline", type=click.IntRange(1), default=8, show_default=True, help="Clean runs before all others.")
@click.option("--pairs", type=click.FloatRange(0, 1), default=0.0, help="Share of the plants that are two at once.")
@click.option("--seed", type=click.IntRange(0), help="Draws the plants of another run again.  [default: a fresh one]")
@click.option("--class", "chosen", multiple=True, help="Only this class of plants; may be repeated.")
@click.option("--mpi", help="As in slowpath run.")
@click.option("--budget", help="Time of each diagnosis (2m), trials and all.  [default: diagnose --name-only]")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Diagnoses side by side, each on two cores of its own; needs control groups.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder; goes on where one of this --seed stopped.  [default: slowpath-plants-SEED]",
)
@click.option(
    "--limit-of-detection", is_flag=True, help="Search the smallest cost found; --count plants of each class."
)
@click.option("--score-only", is_flag=True, help="Conclude and score the folder --out anew, measure nothing.")
@take_over_option()
@click.option("--dry-run", is_flag=True, help="Print what would be planted, start nothing.")
def command(
    count: int,
    clean: int,
    baseline: int,
    pairs: float,
    seed: int | None,
    chosen: tuple[str, ...],
    mpi: str | None,
    budget: str | None,
    jobs: int,
    out: Path | None,
    limit_of_detection: bool,
    score_only: bool,
    take_over: bool,
    dry_run: bool,
) -> int:
    """Plant slow paths by drawn clauses, and count what is found, and what of it is right.

    For those who work on Slowpath. Each plant delays MPI calls by a clause of a grammar, whose parameters are drawn
    from the seed; then the diagnosis runs as for a user. Exit code 1: something wrong was said, or a run failed.
    """
    from slowpath.studies.plants.folder import Drawn
    from slowpath.studies.plants.measure import prepare
    from slowpath.studies.plants.trials import PlantCounts

    if score_only:
        return _again(out)
    seed = secrets.randbits(31) if seed is None else seed
    asked = ["--name-only"] if budget is None else ["--budget", budget]
    ground = prepare(mpi, ["diagnose", "--quiet", *asked], teller(), dry_run)
    classes = _classes(chosen, ground.library)
    click.echo(f"seed {seed}, {ground.library.identity}, {' '.join(ground.command)}")
    wanted, folder = PlantCounts(count, clean, baseline, pairs), out or Path(f"slowpath-plants-{seed}")
    drawn = Drawn(seed, ground.library.identity, ground.shown)
    if limit_of_detection:
        return _limits(ground, classes, wanted, folder, drawn, jobs, take_over)
    return _scores(ground, classes, wanted, folder, drawn, jobs, take_over, dry_run)


def _scores(
    ground: Ground,
    classes: list[PlantClass],
    asked: PlantCounts,
    folder: Path,
    drawn: Drawn,
    jobs: int,
    take_over: bool,
    dry_run: bool,
) -> int:
    from slowpath.studies.plants.harness import run
    from slowpath.studies.plants.trials import draw

    trials = draw(classes, asked, drawn.seed)
    if dry_run:
        for trial in trials:
            click.echo(f"{trial.name:24} {trial.plant.text if trial.plant else 'nothing'}")
        return 0
    return _reported(run(ground, trials, folder, drawn, _tell, jobs, take_over), folder)


def _limits(
    ground: Ground,
    classes: list[PlantClass],
    asked: PlantCounts,
    folder: Path,
    drawn: Drawn,
    jobs: int,
    take_over: bool,
) -> int:
    from slowpath.core.files import write_atomically
    from slowpath.report.svg.detection import Class, drawing
    from slowpath.studies.plants.limits import lines, run, searched

    able = searched(classes)
    limits: dict[str, DetectionLimit] = run(ground, able, asked, folder, drawn, _tell, jobs, take_over)
    click.echo("\n".join(lines(limits, able)))
    rows = [
        Class(name, one.curve, [(shot.cost_s, shot.found) for shot in one.shots], one.interval_s)
        for name, one in limits.items()
    ]
    if (drawn_limits := drawing(rows)) is not None:
        write_atomically(folder / "limits.svg", str(drawn_limits))
    click.echo(f"all of it: {folder / 'plants.json'}, {folder / 'limits.svg'}")
    return 0


def _again(out: Path | None) -> int:
    from slowpath.core.errors import UsageError
    from slowpath.studies.plants.again import scored_again

    if out is None:
        raise UsageError("--score-only: which folder? Name it with --out")
    return _reported(scored_again(out, _tell), out)


def _tell(one: Scored) -> None:
    from slowpath.studies.plants.table import line

    click.echo(line(one))


def _reported(scored: Sequence[Scored], folder: Path) -> int:
    """The table, and the exit code."""
    from slowpath.studies.plants.table import counts, table

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
