# SPDX-License-Identifier: Apache-2.0
"""What a cell of the experiment `put` costs in time, roughly. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Parameters = Mapping[str, str]


@dataclass(frozen=True)
class PutCost:
    """Assumed speeds of a slow machine, as in `P2pCost`."""

    cell_s: float = 0.005  # the window, agreement, gathering, comparing
    layer_s: float = 5e-9  # one put by a layer or a limit
    put_s: float = 60e-9  # one put of a library
    datatype_s: float = 300e-9  # added by blocks and gaps
    separate_memory_s: float = 1.5e-6  # added by windows over memory that only the target has: create, dynamic
    synchronisation_s: float = 5e-6
    bytes_per_s: float = 4e9
    counted_instruction_s: float = 30e-6
    fewest_samples: int = 8
    shortest_sample_s: float = 10e-6


def put_seconds(parameters: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch."""
    cost = PutCost()
    one_s = _one_put_s(parameters, cost)
    burst_s = int(parameters["puts"]) * one_s + cost.synchronisation_s
    if parameters["window"] in ("create", "dynamic"):
        burst_s += float(parameters.get("target_busy_s", "0"))  # it may have to wait for the target's next call
    sample_s = max(burst_s, cost.shortest_sample_s)
    sampled_s = int(parameters["samples"]) * sample_s
    part_s = max(cost.fewest_samples * sample_s, min(float(parameters["time_limit_s"]), sampled_s))
    warmup_s = max(4 * burst_s, float(parameters["warmup_s"]))
    counted_s = int(parameters["instructions"]) * _instructions(parameters) * cost.counted_instruction_s
    return cost.cell_s + warmup_s + 2 * part_s + counted_s  # whole bursts, then split ones


def _one_put_s(parameters: Parameters, cost: PutCost) -> float:
    moved_s = int(parameters["message_bytes"]) / cost.bytes_per_s
    if parameters["design"] != "mpi":
        return cost.layer_s + moved_s
    separate = parameters["window"] in ("create", "dynamic")
    typed = parameters["datatype"] in ("vector", "indexed")
    return cost.put_s + moved_s + separate * cost.separate_memory_s + typed * cost.datatype_s


def _instructions(parameters: Parameters) -> int:
    """Of one put, roughly."""
    if parameters["design"] != "mpi":
        return 100
    if parameters["datatype"] in ("vector", "indexed"):
        return 4000
    return 1300 if parameters["window"] in ("create", "dynamic") else 700
