# SPDX-License-Identifier: Apache-2.0
"""The experiment `first_use`: what the first use of a part of MPI costs, and the later ones."""

from __future__ import annotations

from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.first_use import metrics
from slowpath.experiments.first_use.cost import first_use_recorded_bytes, first_use_seconds
from slowpath.experiments.first_use.metrics import by_parts
from slowpath.experiments.metric import Metric

EXPERIMENT = "first_use"


def _parts(all_metrics: tuple[Metric, ...], first: int = 0) -> dict[str, int]:
    """Metric -> part of the record, numbered in the order of the metrics."""
    return {metric.name: part for part, metric in enumerate(all_metrics, first)}


FIRST_USE = Experiment(
    name=EXPERIMENT,
    patterns=(
        Pattern("init", by_parts(_parts(metrics.INIT)), metrics.INIT),
        Pattern("peer", metrics.peers, metrics.PEER),
        Pattern("communicator", by_parts(_parts(metrics.COMMUNICATOR)), metrics.COMMUNICATOR),
        Pattern("collective", by_parts(_parts(metrics.COLLECTIVE)), metrics.COLLECTIVE),
        Pattern("window", by_parts(_parts(metrics.WINDOW)), metrics.WINDOW),
        Pattern("shared_window", by_parts(_parts(metrics.SHARED_WINDOW)), metrics.SHARED_WINDOW),
        Pattern("persistent", by_parts(_parts(metrics.PERSISTENT, 1)), metrics.PERSISTENT),
        Pattern("partitioned", by_parts(_parts(metrics.PARTITIONED, 1)), metrics.PARTITIONED),
        Pattern("spawn", by_parts(_parts(metrics.SPAWN)), metrics.SPAWN),
    ),
    roles={
        "pattern": "setting",
        "order": "setting",
        "collective": "setting",
        "communicator": "setting",
        "made_by": "setting",
        "window": "setting",
        "memory": "setting",
        "window_info": "setting",
        "persistent": "setting",
        "message_bytes": "covariate",
        "window_bytes": "covariate",
        "processes": "covariate",
        "uses": "effort",
        "validate": "effort",
    },
    seconds=first_use_seconds,
    recorded_bytes=first_use_recorded_bytes,
    views=("first_use",),
)
