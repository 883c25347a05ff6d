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
    from slowpath.studies.plants.trials import PlantCounts, PlantTrial


@click.command("plants", epilog="Example: slowpath plants --count 60 --clean 60 --pairs 0.2")
@click.option("--count", type=click.IntRange(0), default=12, show_default=True, help="Plants to try.")
@click.option("--clean", type=click.IntRange(0), default=4, show_default=True, help="Runs without a plant.")
@click.option("--baseline", type=click.IntRange(1), default=8, show_default=True, help="Clean runs before all others.")
@click.option("--pairs", type=click.FloatRange(0, 1), default=0.0, help="Share of the plants that are two at once.")
@click.option("--seed", type=click.IntRange(0), help="Seed of another run, to draw its plants.  [default: a new one]")
@click.option("--class", "chosen", multiple=True, help="Only this class of plants; may be repeated.")
@click.option("--mpi", help="As in slowpath run.")
@click.option("--budget", help="Time of each diagnosis (2m), trials and all.  [default: diagnose --name-only]")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Diagnoses at the same time, each on two cores of its own; needs control groups.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder. Continues an interrupted run of the same --seed.  [default: slowpath-plants-SEED]",
)
@click.option(
    "--limit-of-detection",
    is_flag=True,
    help="Search the smallest cost that is found, by --count plants of each class.",
)
@click.option("--score-only", is_flag=True, help="Conclude and score the folder --out again without measuring.")
@take_over_option()
@click.option("--dry-run", is_flag=True, help="Print the plants without running anything.")
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
    """Plant known slow paths and count how many the diagnosis finds.

    For developers of Slowpath. Each plant delays MPI calls by a clause of a grammar, whose parameters are drawn
    from the seed. Then the diagnosis runs as for a user. Exit codes: 1 a finding was wrong, or a run failed, 130
    interrupted; the same command with --seed and --out continues.
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
        if dry_run:
            return dry_limits(classes, wanted, seed)
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
        _list(trials)
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
    from slowpath.report.svg.element import as_file
    from slowpath.studies.plants.limits import lines, run, searched

    able = searched(classes)
    limits: dict[str, DetectionLimit] = run(ground, able, asked, folder, drawn, _tell, jobs, take_over)
    click.echo("\n".join(lines(limits, able)))
    rows = [
        Class(name, limit.curve, [(shot.cost_s, shot.found) for shot in limit.shots], limit.interval_s)
        for name, limit in limits.items()
    ]
    if (drawn_limits := drawing(rows)) is not None:
        write_atomically(folder / "limits.svg", as_file(drawn_limits))
    click.echo(f"all results: {folder / 'plants.json'}, {folder / 'limits.svg'}")
    return 0


def dry_limits(classes: list[PlantClass], asked: PlantCounts, seed: int) -> int:
    """Print the first plants of a search for limits, and how many diagnoses it takes. Returns: the exit code."""
    from slowpath.studies.plants.limits import first_shots, searched
    from slowpath.studies.plants.trials import baseline_trials

    able = searched(classes)
    _list([*baseline_trials(asked.baseline), *first_shots(able, seed)])
    click.echo(
        f"then {max(0, asked.planted - 1)} more of each of {len(able)} classes, each drawn from what those before it "
        f"showed; {asked.baseline + asked.planted * len(able)} diagnoses in all"
    )
    return 0


def _list(trials: Sequence[PlantTrial]) -> None:
    for trial in trials:
        click.echo(f"{trial.name:24} {trial.plant.text if trial.plant else 'nothing'}")


def _again(out: Path | None) -> int:
    from slowpath.core.errors import UsageError
    from slowpath.studies.plants.harness import scored_again

    if out is None:
        raise UsageError("--score-only needs --out FOLDER")
    return _reported(scored_again(out, _tell), out)


def _tell(scored: Scored) -> None:
    from slowpath.studies.plants.table import line

    click.echo(line(scored))


def _reported(scored: Sequence[Scored], folder: Path) -> int:
    """Print the table, and return the exit code."""
    from slowpath.studies.plants.table import counts, table

    click.echo(table(scored))
    click.echo(f"all results: {folder / 'plants.json'}")
    found = counts(scored)
    return int(found["wrong"] + found["clean_with_false_alarms"] + found["failed"] > 0)


def _classes(chosen: tuple[str, ...], library: Library) -> list[PlantClass]:
    """Return the chosen plant classes, or all, and report those that this machine or library can't run."""
    from slowpath.core.errors import UsageError
    from slowpath.studies.plants.classes import CLASSES
    from slowpath.studies.plants.measure import unavailable

    names = [plant_class.name for plant_class in CLASSES]
    for name in chosen:
        if name not in names:
            raise UsageError(f"--class {name}: there is no such class; there are {', '.join(names)}")
    found = []
    for plant_class in CLASSES:
        if chosen and plant_class.name not in chosen:
            continue
        if (why := unavailable(plant_class, library)) is not None:
            click.echo(f"class {plant_class.name} is left out: {why}", err=True)
        else:
            found.append(plant_class)
    return found
