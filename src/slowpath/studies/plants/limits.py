# SPDX-License-Identifier: Apache-2.0
"""The search for limits of detection: one plant of each class after the other, each drawn from what those before it
showed. A folder is gone on with by replaying it: what was measured is concluded again, and the same costs are drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from slowpath.studies.plants.baseline import Baseline
from slowpath.studies.plants.classes import PlantClass
from slowpath.studies.plants.detection import DetectionLimit, Shot, limit_of, next_cost_s
from slowpath.studies.plants.folder import Drawn, write
from slowpath.studies.plants.harness import judged, outcomes, standing
from slowpath.studies.plants.measure import Ground
from slowpath.studies.plants.plant import PlantedDiagnosis
from slowpath.studies.plants.table import Scored
from slowpath.studies.plants.trials import PlantCounts, PlantTrial, baseline_trials


def searched(classes: Sequence[PlantClass]) -> list[PlantClass]:
    """Return the classes whose cost is drawn."""
    return [plant_class for plant_class in classes if plant_class.high_s > 0]


def run(
    ground: Ground,
    classes: Sequence[PlantClass],
    asked: PlantCounts,
    out: Path,
    drawn: Drawn,
    tell: Callable[[Scored], None],
    jobs: int = 1,
    take_over: bool = False,
) -> dict[str, DetectionLimit]:
    """asked.planted: shots of each class.  Returns: the limit of each class.  Raises: as harness.run."""
    trials = baseline_trials(asked.baseline)
    with standing(ground, out, drawn, trials, jobs, take_over) as (measure, pens):
        clean: list[PlantedDiagnosis] = []
        scored: list[Scored] = []
        limits: dict[str, DetectionLimit] = {}

        def batch(part: Sequence[PlantTrial]) -> None:
            with closing(outcomes(measure, part, out, pens)) as ended:
                for trial, outcome, wall_s in ended:
                    if trial.purpose == "baseline" and isinstance(outcome, PlantedDiagnosis):
                        clean.append(outcome)
                    scored.append(judged(trial, outcome, Baseline(clean), wall_s))
                    tell(scored[-1])
                    write(out, drawn, Baseline(clean), scored, trials, limits)

        batch(trials)
        for number in range(1, asked.planted + 1):
            shots = [_shot(plant_class, scored, drawn.seed, number) for plant_class in classes]
            trials += shots
            batch(shots)
            limits |= {
                plant_class.name: limit_of(shots_of(plant_class, scored), plant_class.low_s, plant_class.high_s)
                for plant_class in classes
            }
        write(out, drawn, Baseline(clean), scored, trials, limits)
    return limits


def first_shots(classes: Sequence[PlantClass], seed: int) -> list[PlantTrial]:
    """Return the first plant of each class, on which nothing has been measured yet."""
    return [_shot(plant_class, [], seed, 1) for plant_class in classes]


def _shot(plant_class: PlantClass, scored: Sequence[Scored], seed: int, number: int) -> PlantTrial:
    source = random.Random(f"{seed} {plant_class.name} {number}")
    cost_s = next_cost_s(shots_of(plant_class, scored), plant_class.low_s, plant_class.high_s, source)
    return PlantTrial(f"shot-{number:03d}-{plant_class.name}", "shot", plant_class.draw(source, cost_s))


def shots_of(plant_class: PlantClass, scored: Sequence[Scored]) -> list[Shot]:
    """Return what was tried of a class so far, in the order of the names."""
    own = [s for s in scored if s.trial.purpose == "shot" and s.kind == plant_class.name and s.score and s.trial.plant]
    own.sort(key=lambda s: s.trial.name)
    return [Shot(s.trial.plant.drawn_s, s.score.found) for s in own if s.score and s.trial.plant]


def lines(limits: dict[str, DetectionLimit], classes: Sequence[PlantClass]) -> list[str]:
    """A table for people, in Markdown."""
    rows = ["| class | found 95 times of 100 from | interval, 95 % | tried |", "|---|---|---|---|"]
    for plant_class in classes:
        limit = limits[plant_class.name]
        found = sum(shot.found for shot in limit.shots)
        cost = f"{limit.cost_s:.2g} s" if limit.cost_s else limit.reason
        between = "{:.2g} to {:.2g} s".format(*limit.interval_s) if limit.interval_s else ""
        rows.append(f"| {plant_class.name} | {cost} | {between} | {found} of {len(limit.shots)} found |")
    return rows
