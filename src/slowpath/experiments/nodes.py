# SPDX-License-Identifier: Apache-2.0
"""The experiment `nodes`: all nodes of a job at the same time, each by itself or in pairs along a ring. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.core.engine_description import recorded_roles
from slowpath.experiments.experiment import Derive, Experiment, Pattern, timed
from slowpath.experiments.measured import NO_SAMPLES, NS, Derived, LaunchContext, MetricSamples, SampleBlock

FASTEST, MEAN = 1, 2  # parts of pattern=work: the fastest and the mean sample of each processor
PAIRS = ("latency", "stream")

# Assumed speeds of a slow machine.
_MEETING_S = 50e-6  # each step of a barrier
_MEMORY_BYTES_PER_S = 2e9
_SETUP_LINES_PER_S = 20e6  # of the random cycle of pattern=access
_LINE_BYTES = 64
_NETWORK_BYTES_PER_S = 1e9
_CONNECT_S = 0.005
_MOST_PROCESSORS = 256
_HEADER_BYTES = 128


def seconds_per_operation(pattern: str, block: SampleBlock) -> float:
    """Return what stands for one node or pair in one launch: the median sample of a block, in seconds per operation.

    Args: pattern: of the experiment. latency: half a round trip.
    """
    operations = block.batch * (2 if pattern == "latency" else 1)
    return float(np.median(block.duration_ns)) * NS / operations


def _typical(pattern: str, metric: str) -> Derive:
    """Return what makes one value for each node or pair; the median of them stands for the launch."""
    wanted = MEAN if pattern == "work" else None

    def derive(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
        values = [
            seconds_per_operation(pattern, block)
            for block in blocks
            if block.phase == "steady" and wanted in (None, block.part) and block.duration_ns.size
        ]
        return {metric: {"steady": MetricSamples(np.array(values), 1)} if values else NO_SAMPLES}

    return derive


def nodes_seconds(p: Mapping[str, str], ranks: int) -> float:
    """What one cell takes in one launch, roughly, seconds."""
    met_s = 2 * _MEETING_S * math.ceil(math.log2(max(ranks, 2))) + float(p["time_limit_s"])
    if p["pattern"] == "copy":
        return met_s + 2 * int(p["array_bytes"]) / _MEMORY_BYTES_PER_S
    if p["pattern"] == "access":
        return met_s + int(p["array_bytes"]) / _LINE_BYTES / _SETUP_LINES_PER_S
    if p["pattern"] == "stream":
        return met_s + _CONNECT_S + 3 * int(p["in_flight"]) * int(p["message_bytes"]) / _NETWORK_BYTES_PER_S
    return met_s + _CONNECT_S


def nodes_bytes(p: Mapping[str, str], ranks: int) -> int:
    """What one cell writes in one launch, at most, bytes."""
    if p["pattern"] == "work":
        return ranks * 2 * (_HEADER_BYTES + 8 * _MOST_PROCESSORS)
    return ranks * (_HEADER_BYTES + 8 * max(3, int(p["samples"])))


_PATTERNS = ("work", "copy", "access", "single_copy", "latency", "stream")

NODES = Experiment(
    name="nodes",
    patterns=tuple(
        Pattern(pattern, _typical(pattern, metrics[0].name), metrics)
        for pattern in _PATTERNS
        if (metrics := timed("nodes", pattern))
    ),
    roles=recorded_roles("nodes"),
    seconds=nodes_seconds,
    recorded_bytes=nodes_bytes,
    brief={"samples": "20", "time_limit_s": "0.01"},
)
