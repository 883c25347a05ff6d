# SPDX-License-Identifier: Apache-2.0
"""The experiment `exchange`: what neighbours in a grid of ranks send each other at once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.core.engine_description import recorded_roles
from slowpath.experiments.experiment import Experiment, Pattern, timed
from slowpath.experiments.measured import (
    NO_SAMPLES,
    NS,
    PHASES,
    Absent,
    Derived,
    LaunchContext,
    MetricSamples,
    SampleBlock,
    chosen,
)

_NO_MATCH = Absent("the blocks of the ranks do not match")

# Assumed speeds of a slow machine of 2 cores.
_CELL_S = 0.002
_MESSAGE_S = 10e-6
_MESSAGE_BYTES_PER_S = 1e9  # single points of a strided face
_PREPARED_BYTES_PER_S = 0.1e9  # of the array: filled for each neighbour, twice, and compared three times
_FEWEST_SAMPLES = 8
_FEWEST_WARMUP = 4
_MOST_FACES = 6


def halo(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """All ranks together: of each sample the longest of any rank."""
    phases: dict[str, MetricSamples] = {}
    for phase in PHASES:
        ranks = [chosen(blocks, rank, phase) for rank in range(job.size)]
        if not any(ranks):
            continue
        shapes = {tuple((b.seq0, b.batch, len(b.duration_ns)) for b in rank) for rank in ranks}
        if len(shapes) > 1:
            return {"exchange_s": _NO_MATCH}
        longest = [
            np.max([b.duration_ns for b in together], axis=0) * (NS / together[0].batch)
            for together in zip(*ranks, strict=True)
        ]
        batch = max(b.batch for b in ranks[0])
        phases[phase] = MetricSamples(np.concatenate(longest), batch, consecutive=phase == "steady")
    return {"exchange_s": phases or NO_SAMPLES}


def box_points(p: Mapping[str, str]) -> tuple[int, int, int]:
    """Points of a rank's box in x, y and z, without its ghost layer."""
    x = int(p["box_x"])
    y, z = (x if p[name] == "auto" else int(p[name]) for name in ("box_y", "box_z"))
    return x, y, z


def exchange_seconds(p: Mapping[str, str], ranks: int) -> float:
    """What one cell takes in one launch, roughly, seconds."""
    x, y, z = box_points(p)
    point = int(p["point_bytes"])
    faces = 2 * point * (x * y + y * z + z * x)
    operation = _MOST_FACES * _MESSAGE_S + faces / _MESSAGE_BYTES_PER_S
    steady = max(_FEWEST_SAMPLES * operation, min(float(p["time_limit_s"]), int(p["samples"]) * operation))
    prepared = (x + 2) * (y + 2) * (z + 2) * point / _PREPARED_BYTES_PER_S if p["validate"] == "on" else 0.0
    return _CELL_S + prepared + steady + max(_FEWEST_WARMUP * operation, float(p["warmup_s"]))


EXCHANGE = Experiment(
    name="exchange",
    patterns=(Pattern("halo", halo, timed("exchange", "halo")),),
    roles=recorded_roles("exchange"),
    seconds=exchange_seconds,
    brief={"samples": "60", "time_limit_s": "0.01", "warmup_s": "0.003"},
)
