# SPDX-License-Identifier: Apache-2.0
"""What a cell of the experiment nccl takes and writes, roughly. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.experiments.measured.recorded import BLOCK_BYTES, EVENT_BYTES, SAMPLE_BYTES

_CELL_S = 0.02
_OPEN_S = 1.5  # a communicator of NCCL and its first call: 1.3 s on two H200s
_CALL_S = 50e-6
_MOVED_BYTES_PER_S = 10e9
_CHECKED_BYTES_PER_S = 0.3e9  # filled and compared on the processor
_ALLOCATED_S = 0.005
_FEWEST_SAMPLES, _FEWEST_WARMUP = 8, 4
_PARTS = 3  # whole, submit, wait
_FIRST_USE_BLOCKS = 17  # parts of a first use


def _blocks(p: Mapping[str, str]) -> tuple[int, int]:
    """(allocations, samples)."""
    return (1 if p.get("pattern") == "first_use" else int(p["allocations"])), int(p["samples"])


def nccl_seconds(p: Mapping[str, str], ranks: int) -> float:
    """What one cell takes in one launch, roughly, seconds.

    A communicator in use is made once a launch, not once a cell: it counts where each cell makes one.
    """
    allocations, samples = _blocks(p)
    length = int(p["message_bytes"]) * (1 if p["operation"] in ("send", "allreduce", "bcast") else ranks)
    call = _CALL_S + length / _MOVED_BYTES_PER_S
    steady = max(_FEWEST_SAMPLES * call, min(float(p["time_limit_s"]), samples * call))
    warmup = max(_FEWEST_WARMUP * call, float(p["warmup_s"]))
    checked = 2 * (allocations + 1) * length / _CHECKED_BYTES_PER_S if p["validate"] == "on" else 0.0
    opened = _OPEN_S if p.get("pattern") == "first_use" and p["library"] == "nccl" else 0.0
    return _CELL_S + opened + allocations * (_ALLOCATED_S + call) + warmup + steady + checked


def nccl_recorded_bytes(p: Mapping[str, str], ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    allocations, samples = _blocks(p)
    later = 2 * _PARTS * BLOCK_BYTES + 2 * _PARTS * max(samples, 1024) * SAMPLE_BYTES
    first = max(_FIRST_USE_BLOCKS, _PARTS * allocations) * (BLOCK_BYTES + SAMPLE_BYTES)
    return 2 * EVENT_BYTES + ranks * (first + later + EVENT_BYTES)
