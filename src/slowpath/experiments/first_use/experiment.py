# SPDX-License-Identifier: Apache-2.0
"""The experiment `first_use`: what the first use of a part of MPI costs, and the later ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.first_use import metrics
from slowpath.experiments.first_use.metrics import by_parts
from slowpath.experiments.measured.recorded import BLOCK_BYTES, EVENT_BYTES, SAMPLE_BYTES
from slowpath.experiments.metric import Metric

Parameters = Mapping[str, str]
_MOST_PARTS = 4


@dataclass(frozen=True)
class FirstUseCost:
    """Assumed speeds of a slow machine of 2 cores. pages_per_s: made and written, of all ranks of a node together."""

    cell_s: float = 0.003
    use_s: float = 0.0004  # a communicator, a request; ranks that share cores take turns
    release_s: float = 0.00005
    spawned_s: float = 0.3  # one process more
    pages_per_s: float = 0.4e6
    page_bytes: int = 4096
    checks: int = 2


_COST = FirstUseCost()


def first_use_seconds(p: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch."""
    pattern, uses = p["pattern"], int(p["uses"])
    if pattern == "init":
        return 0.0
    each = _COST.use_s + _COST.release_s * ranks
    if pattern == "peer":
        each *= max(1, ranks - 1)
    if pattern == "spawn":
        each += _COST.spawned_s * int(p.get("processes", "1"))
    if pattern in ("window", "shared_window"):
        passes = 1 + (_COST.checks if p["validate"] == "on" else 0) / 4
        each += ranks * int(p["window_bytes"]) / _COST.page_bytes / _COST.pages_per_s * passes
    return _COST.cell_s + uses * each


def first_use_recorded_bytes(p: Parameters, ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    samples = int(p["uses"]) + (ranks if p["pattern"] == "peer" else 0)
    return ranks * (2 * _MOST_PARTS * BLOCK_BYTES + _MOST_PARTS * samples * SAMPLE_BYTES + 2 * EVENT_BYTES)


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
