# SPDX-License-Identifier: Apache-2.0
"""What a cell of the experiment `cannon` costs, in time and in bytes. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from slowpath.experiments.measured.recorded import BLOCK_BYTES, EVENT_BYTES, SAMPLE_BYTES

Parameters = Mapping[str, str]

PARTS = 11  # each a block of its own (docs/internals/record.md)


@dataclass(frozen=True)
class RankGrid:
    """Ranks as rows x columns; steps: panels into which the inner dimension is cut."""

    rows: int
    columns: int

    @property
    def steps(self) -> int:
        return math.lcm(self.rows, self.columns)


def grid_of(ranks: int, shape: str) -> RankGrid:
    """The grid that the engine takes.

    Args: shape: auto, as square as can be with no more rows than columns; ring, 1 x ranks.
    """
    if shape == "ring":
        return RankGrid(1, ranks)
    rows = max(row for row in range(1, math.isqrt(ranks) + 1) if ranks % row == 0)
    return RankGrid(rows, ranks // rows)


# The BLAS, and the plain loop under each set of compiler options.
FLOPS_PER_S = {"blas": 45e9, "loop_O0": 0.4e9, "loop_O2": 1.5e9, "loop_O3": 2e9, "loop_native": 3e9}


@dataclass(frozen=True)
class CannonCost:
    """Assumed speeds of a slow machine, as in `P2pCost`."""

    cell_s: float = 0.03  # windows, requests, the record
    flops_per_s: Mapping[str, float] = field(default_factory=lambda: dict(FLOPS_PER_S))  # of one core, by kernel
    element_s: float = 4e-9  # of an n x n matrix: inputs made, buffers poisoned
    moved_element_s: float = 30e-9  # through rank 0 or a file
    checked_element_s: float = 20e-9  # Freivalds' check of one repetition, inputs made anew
    repetition_s: float = 0.5e-3  # barriers, readings of the load
    waited_ratio: float = 0.2  # of the time that a repetition may wait for quiet


def cannon_seconds(parameters: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch, where each rank has a core."""
    cost = CannonCost()
    n = int(parameters["n"])
    moved = 0.0 if parameters["source"] == "in_place" else cost.moved_element_s
    flops_per_s = cost.flops_per_s[parameters.get("kernel", "blas")]
    one_s = 2 * n**3 / (ranks * flops_per_s) + n**2 * (cost.element_s / ranks + moved)
    one_s += cost.repetition_s + cost.waited_ratio * float(parameters["quiet_wait_s"])
    checked_s = 2 * n**2 * cost.checked_element_s / ranks if parameters["validate"] == "on" else 0.0
    return cost.cell_s + repetitions(parameters) * one_s + checked_s


def repetitions(parameters: Parameters) -> int:
    """Of one cell in one launch, warm-up included."""
    return int(parameters["repetitions"]) + int(parameters["warmups"])


def intervals(parameters: Parameters, ranks: int) -> int:
    """Most intervals of one rank in one repetition (engine/studies/cannon/contest.cpp, most_intervals)."""
    steps = grid_of(ranks, parameters["grid"]).steps
    panel, piece = max(1, int(parameters["n"]) // steps), int(parameters["piece"])
    pieces = panel // (piece if piece < panel else (panel + 1) // 2) + 1
    besides = 12
    return steps * (besides + 2 * pieces) + besides


def cannon_recorded_bytes(parameters: Parameters, ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    samples = repetitions(parameters) * intervals(parameters, ranks)
    return ranks * (PARTS * (2 * BLOCK_BYTES + EVENT_BYTES) + samples * SAMPLE_BYTES)
