# SPDX-License-Identifier: Apache-2.0
"""Every experiment, in the order in which pages list them, and what follows from the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.roles import Roles
from slowpath.experiments.cannon.experiment import CANNON
from slowpath.experiments.coll.experiment import COLL
from slowpath.experiments.exchange import EXCHANGE
from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.first_use.experiment import FIRST_USE
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, Derived, SampleBlock, per_operation
from slowpath.experiments.metric import Metric
from slowpath.experiments.nodes import NODES
from slowpath.experiments.p2p.experiment import P2P
from slowpath.experiments.put.experiment import PUT

# Operations that only other benchmarks measure (docs/how-to/other-tools.md).


def _operation(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The one batch that a printed mean stands for."""
    return {"operation_s": per_operation(blocks, 0, 1) or NO_SAMPLES}


_PRINTED_MEAN = "one operation as another benchmark printed it: mean over its repetitions"
PRINTED = Experiment(
    name="printed",
    patterns=(Pattern("operation", _operation, (Metric("operation_s", "s", "lower", _PRINTED_MEAN),)),),
    roles={"message_bytes": "covariate"},
)

EXPERIMENTS: tuple[Experiment, ...] = (
    P2P,
    EXCHANGE,
    COLL,
    FIRST_USE,
    NODES,
    PUT,
    CANNON,
    PRINTED,
)

METRICS: dict[str, Metric] = {metric.name: metric for experiment in EXPERIMENTS for metric in experiment.metrics}
ROLES: Roles = {name: role for experiment in EXPERIMENTS for name, role in experiment.roles.items()}


def experiment_named(name: str) -> Experiment:
    """The experiment of this name; one of which nothing but the name is known where there is none."""
    return next((experiment for experiment in EXPERIMENTS if experiment.name == name), Experiment(name))


def not_comparable(experiment: str, metric: str, axis: str) -> str | None:
    """Why this metric's two sides would time unlike things along this axis; None: they can be compared."""
    found = next((one for one in experiment_named(experiment).metrics if one.name == metric), None)
    return found.not_across.get(axis) if found else None
