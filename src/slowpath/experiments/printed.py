# SPDX-License-Identifier: Apache-2.0
"""The experiment `printed`: operations that only other benchmarks measure (docs/how-to/other-tools.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, Derived, SampleBlock, per_operation
from slowpath.experiments.metric import Metric

_METRICS = (
    Metric("operation_s", "s", "lower", "one operation as another benchmark printed it: mean over its repetitions"),
)


def operation(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The one batch that a printed mean stands for."""
    return {"operation_s": per_operation(blocks, 0, 1) or NO_SAMPLES}


PRINTED = Experiment(
    name="printed",
    patterns=(Pattern("operation", operation, _METRICS),),
    roles={"message_bytes": "covariate"},
)
