# SPDX-License-Identifier: Apache-2.0
"""The fixed work of a launch as arrays: what this machine takes for the same thing, and how it stalls. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.record.events import FixedWork


@dataclass(frozen=True)
class FixedWorkSamples:
    """One rank's samples in the order taken, each of the same count of dependent steps. All arrays have shape (n,).

    begin_ns: CLOCK_MONOTONIC of the rank's node, as in blocks with start_ns. visit: 0 before the first cell, then one
    more after each cell or group of cells.
    """

    rank: int
    steps: int
    begin_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    visit: NDArray[np.int64]


def fixed_work(events: Iterable[FixedWork]) -> list[FixedWorkSamples]:
    """The samples of each rank that kept some, by rank: `fixed_work(launch.events.of(FixedWork))`."""
    return [
        FixedWorkSamples(
            rank=event.rank,
            steps=event.steps,
            begin_ns=np.array(event.begins_ns, dtype=np.int64) + event.t0_ns,
            duration_ns=np.array(event.durations_ns, dtype=np.int64),
            visit=np.repeat(np.arange(len(event.visits)), event.visits),
        )
        for event in sorted(events, key=lambda one: one.rank)
        if event.durations_ns
    ]
