# SPDX-License-Identifier: Apache-2.0
"""The experiment `put`: bursts of one-sided operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from slowpath.core.put_results import PutResults
from slowpath.experiments.experiment import Concluded, Experiment, Pattern, SideEffect, Study
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.recorded import recorded_bytes
from slowpath.experiments.measured.series import NO_SAMPLES, Absent, Derived, MetricSamples, SampleBlock, per_operation
from slowpath.experiments.metric import counted, timed
from slowpath.experiments.put.designs import ROLES
from slowpath.experiments.put.table import EXPERIMENT, build_put

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


WHOLE, PUTS, SYNCHRONISATION = 0, 1, 2

# Other processes only ever add to a burst of some 10 us. Under load a lower quantile repeats from launch to launch
# where the median does not; the minimum would be the luckiest burst instead of a usual one.
LOCATION = 0.25


def burst(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Bursts, timed on the origin, rank 0."""
    puts = int(p.get("puts", "1000"))

    def part(number: int, operations: int) -> dict[str, MetricSamples] | Absent:
        mine = [b for b in blocks if b.allocation == number]
        return per_operation(mine, 0, operations, location=LOCATION, batches=True) or NO_SAMPLES

    return {
        "time_per_put_s": part(WHOLE, puts),
        "put_call_s": part(PUTS, puts),
        "synchronisation_s": part(SYNCHRONISATION, 1),
    }


# no_locks promises that no lock is taken, so that it has only the synchronisations that take none.
_HARMED = SideEffect(
    axes=("window", "window_info", "synchronise"),
    parameters={"operation": ["get", "accumulate"]},
    metric="time_per_put_s",
    safe_values=("no_locks",),
)
_PARTS = 3  # whole bursts, puts alone, synchronisation alone


def _study(found: Concluded) -> PutResults | None:
    return build_put(found.cells, found.contrasts)


PUT = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("burst", burst, timed(EXPERIMENT, "burst")),),
    counted=counted(EXPERIMENT),
    roles=ROLES,
    seconds=put_seconds,
    recorded_bytes=partial(recorded_bytes, parts=_PARTS),
    synchronisation=SYNCHRONISATION,
    study=Study("put", _study, lambda found, cells: []),
    views=("put",),
    brief={"samples": "40", "time_limit_s": "0.004", "warmup_s": "0.001", "instructions": "0", "puts": "200"},
    side_effects=(_HARMED,),
)
