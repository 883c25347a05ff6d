# SPDX-License-Identifier: Apache-2.0
"""Which plants are tried in which order: all follow from the seed. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from slowpath.studies.plants.classes import PlantClass
from slowpath.studies.plants.plant import Plant


@dataclass(frozen=True)
class PlantTrial:
    """plant: None on a clean machine.  name: of its folder.  purpose: baseline runs say what is true without plants."""

    name: str
    purpose: Literal["baseline", "clean", "plant"]
    plant: Plant | None


def draw(classes: Sequence[PlantClass], planted: int, clean: int, baseline: int, seed: int) -> list[PlantTrial]:
    """Baseline first, then plants and clean runs in one random order, so that a drift of the machine meets both. Each
    class comes about equally often; which ones come once more is drawn too."""
    source = random.Random(seed)
    order = [one for _ in range(-(-planted // max(1, len(classes)))) for one in source.sample(classes, len(classes))]
    plants = [one.draw(source) for one in order[:planted]]
    mixed: list[Plant | None] = [*plants, *[None] * clean]
    source.shuffle(mixed)
    trials = [PlantTrial(f"baseline-{i + 1:03d}", "baseline", None) for i in range(baseline)]
    for number, plant in enumerate(mixed, 1):
        kind = "clean" if plant is None else plant.kind
        trials.append(PlantTrial(f"{number:03d}-{kind}", "clean" if plant is None else "plant", plant))
    return trials
