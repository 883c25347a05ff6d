# SPDX-License-Identifier: Apache-2.0
"""When a rank last began or ended an MPI call, from the few rows of its record that say what its threads do now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.record.job import tick_rate
from slowpath.watch.record.layout import Doing, RecordState


@dataclass(frozen=True)
class Moved:
    """When a rank last began or ended a call, CLOCK_REALTIME in seconds; and whether it is in one that can block."""

    at_s: float
    is_in_call: bool


def moved(header: np.void, lanes: NDArray[Any], current: NDArray[Any]) -> Moved | None:
    """Of one record; None: it says nothing of now. Polls that find nothing move nothing."""
    if not current.size:
        return None
    if int(header["state"]) in (RecordState.FINALIZED, RecordState.NO_FINALIZE):
        return Moved(int(header["end_realtime_ns"]) * 1e-9, False)
    rate = tick_rate(header, current)
    if rate is None:
        return None
    count = min(lanes.size, current.size)
    is_outside = current["doing"][:count] == Doing.OUTSIDE
    ticks = np.where(
        is_outside,
        np.maximum(lanes["last_ticks"][:count], current["since_ticks"][:count]),
        current["since_ticks"][:count],
    )
    passed = (int(ticks.max()) - int(header["start_ticks"])) / rate
    return Moved(int(header["start_realtime_ns"]) * 1e-9 + passed, bool((~is_outside).any()))
