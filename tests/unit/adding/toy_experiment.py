# SPDX-License-Identifier: Apache-2.0
"""The experiment `toy`: barriers. It stands in no registry; test_adding_an_experiment.py adds it to a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.experiment import Experiment, Metric, Pattern
from slowpath.experiments.measured import NO_SAMPLES, Derived, LaunchContext, SampleBlock, per_operation

_METRICS = (Metric("barrier_s", "s", "lower", "one MPI_Barrier, seen by rank 0", message_rate=True),)


def barriers(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Batches of barriers, timed on rank 0."""
    return {"barrier_s": per_operation(blocks, 0, 1, batches=True) or NO_SAMPLES}


TOY = Experiment(
    name="toy",
    patterns=(Pattern("barriers", barriers, _METRICS),),
    roles={"pattern": "setting", "depth": "covariate", "samples": "effort"},
    seconds=lambda parameters, ranks: 2.0 * int(parameters["depth"]),
)
