# SPDX-License-Identifier: Apache-2.0
"""Which plants are tried in which order: all follow from the seed. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from slowpath.studies.plants.classes import PlantClass, pair
from slowpath.studies.plants.plant import Plant


@dataclass(frozen=True)
class PlantTrial:
    """plant: None on a clean machine.  name: of its folder.  purpose: baseline runs say what is true without plants, a
    shot asks for a limit of detection: it is drawn after those before it were seen."""

    name: str
    purpose: Literal["baseline", "clean", "plant", "shot"]
    plant: Plant | None


@dataclass(frozen=True)
class PlantCounts:
    """How many trials of each kind. pairs: share of the plants that are two at once."""

    planted: int
    clean: int
    baseline: int
    pairs: float = 0.0


def draw(classes: Sequence[PlantClass], asked: PlantCounts, seed: int) -> list[PlantTrial]:
    """Baseline first, then plants and clean runs in one random order, so that a drift of the machine meets both. Each
    class comes about equally often; which ones come once more is drawn too."""
    source = random.Random(seed)
    plants = _plants(classes, asked, source)
    mixed: list[Plant | None] = [*plants, *[None] * asked.clean]
    source.shuffle(mixed)
    trials = baseline_trials(asked.baseline)
    for number, plant in enumerate(mixed, 1):
        kind = "clean" if plant is None else plant.kind
        trials.append(PlantTrial(f"{number:03d}-{kind}", "clean" if plant is None else "plant", plant))
    return trials


def baseline_trials(count: int) -> list[PlantTrial]:
    """Clean runs before all others."""
    return [PlantTrial(f"baseline-{i + 1:03d}", "baseline", None) for i in range(count)]


def _plants(classes: Sequence[PlantClass], asked: PlantCounts, source: random.Random) -> list[Plant]:
    able = [plant_class for plant_class in classes if plant_class.make is not None]
    paired = round(asked.planted * asked.pairs) if len(able) > 1 else 0
    alone = asked.planted - paired
    order = [
        plant_class
        for _ in range(-(-alone // max(1, len(classes))))
        for plant_class in source.sample(classes, len(classes))
    ]
    return [*(plant_class.draw(source) for plant_class in order[:alone]), *(pair(source, able) for _ in range(paired))]
