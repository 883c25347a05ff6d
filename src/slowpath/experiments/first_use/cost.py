# SPDX-License-Identifier: Apache-2.0
"""What a cell of the experiment first_use costs, in time and in bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.experiments.measured.recorded import BLOCK_BYTES, EVENT_BYTES, SAMPLE_BYTES

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
