# SPDX-License-Identifier: Apache-2.0
"""The experiment `cannon`: a distributed multiplication in many communication styles."""

from __future__ import annotations

from slowpath.core.cannon_results import CannonResults
from slowpath.experiments.cannon.cost import cannon_recorded_bytes, cannon_seconds
from slowpath.experiments.cannon.entry import build_cannon
from slowpath.experiments.cannon.lines import cannon_lines
from slowpath.experiments.cannon.metrics import MEANINGS, multiply
from slowpath.experiments.cannon.observed import EXPERIMENT, Observed
from slowpath.experiments.cannon.parameters import ROLES
from slowpath.experiments.experiment import Concluded, Experiment, Pattern, Study
from slowpath.experiments.metric import EXPOSED, Metric

_METRICS = (
    Metric("multiply_s", "s", "lower", "one multiplication: from the first rank's start to the last rank's end"),
    *(Metric(f"{part}_s", "s", "lower", meaning) for part, meaning in MEANINGS.items()),
    EXPOSED,
    Metric("exposed_ratio", "1", "lower", "the part of all ranks' time that is no local multiplication"),
)


def _study(found: Concluded) -> CannonResults | None:
    return build_cannon(found.plan, found.measurements, found.cells, found.skipped)


CANNON = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("multiply", multiply, _METRICS),),
    roles=ROLES,
    seconds=cannon_seconds,
    recorded_bytes=cannon_recorded_bytes,
    observer=Observed,
    study=Study("cannon", _study, cannon_lines),
    views=("cannon",),
    compared=("multiply_s", "dgemm_s", "exposed_s"),
    timelines={"multiply": "multiplication"},
)
