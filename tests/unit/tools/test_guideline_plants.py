# SPDX-License-Identifier: Apache-2.0
"""tools/guideline-plants: plants lie in the recorded calls of one copy, and are found and scored."""

from __future__ import annotations

import tomllib

import numpy as np
from guideline_plants.noise import COLLECTIVES, campaign_text
from guideline_plants.scored import clean_run, planted_run
from guideline_plants.taken import Taken

from slowpath.core.plan import Cell
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import SampleBlock

ROUNDS, CALLS, LENGTHS, COPIES = 12, 9, (8, 1024, 65536), 5


def taken(seed: int = 1) -> Taken:
    """Three lengths of one collective, each in five copies, with 3 % of noise between launches."""
    random = np.random.default_rng(seed)
    cells, blocks = [], {}
    for length in LENGTHS:
        for copy in range(1, COPIES + 1):
            number = len(cells)
            parameters = {"pattern": "calls", "collective": "bcast", "message_bytes": str(length), "way": "library"}
            cells.append(
                Cell(number, f"k{number}", "bcast", f"c{number}", "coll", parameters, "default", "bound", copy)
            )
            blocks[number] = [launch(random, 1000 + length) for _ in range(ROUNDS)]
    return Taken(cells, blocks)


def launch(random: np.random.Generator, usual_ns: int) -> tuple[list[SampleBlock], LaunchContext]:
    times = np.round(usual_ns * np.exp(random.normal(0, 0.03)) * np.ones((2, CALLS))).astype(np.int64)
    begins = np.arange(CALLS, dtype=np.int64) * 10**6
    made = [SampleBlock(rank, "steady", 0, 1, 0, times[rank], begins) for rank in (0, 1)]
    return made, LaunchContext(size=2, one_clock=True)


def test_of_copies_nothing_is_named() -> None:
    clean = clean_run(taken(), 1.01)
    assert (clean.contrasts, clean.launches, clean.named) == (3, ROUNDS, [])
    assert 0.02 < clean.noise < 0.06  # of a ratio: of both sides


def test_what_is_planted_is_found_with_its_factor() -> None:
    found = planted_run(taken(), 2, (1.5, 4.0), seed=3)
    assert len(found.found) == 2
    assert (found.missed, found.invented) == ([], [])
    assert found.held >= 1


def test_a_plant_that_is_too_small_is_missed_and_said_so() -> None:
    found = planted_run(taken(), 1, (1.001, 1.002), seed=3)
    assert found.found == []
    (missed,) = found.missed
    assert missed.endswith(" B, 1.00x")


def test_the_campaign_has_200_points_five_times() -> None:
    campaign = tomllib.loads(campaign_text())
    assert [group["copies"] for group in campaign["cells"]] == [COPIES] * len(COLLECTIVES)
    assert sum(len(group["parameters"]["message_bytes"]) for group in campaign["cells"]) == 200
