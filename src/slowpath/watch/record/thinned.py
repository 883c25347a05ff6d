# SPDX-License-Identifier: Apache-2.0
"""Fewer windows of events, as a full lane drops them itself: the same ones on all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.record.reader import HIGHEST_LEVEL, RankRecord
from slowpath.watch.record.ticks import Ticks, ticks_of


def windows_of(record: RankRecord, clock: Ticks, start_ticks: NDArray[Any]) -> NDArray[np.int64]:
    """Number of the window of each of these times."""
    ns = max(int(record.header["window_ns"]), 1)
    seconds = clock.seconds(start_ticks)
    found: NDArray[np.int64] = np.floor(seconds * (1e9 / ns)).astype(np.int64)
    return found


def level_of(records: Sequence[RankRecord]) -> int:
    """The highest one: windows whose number is no multiple of 2^level are missing on some rank."""
    return max((int(record.lanes["level"].max(initial=0)) for record in records), default=0)


def thinned(records: Sequence[RankRecord], level: int) -> list[RankRecord]:
    """Windows whose number is no multiple of 2^level go, of all ranks."""
    level = min(level, HIGHEST_LEVEL)
    clocks, _ = ticks_of(records)
    found = []
    for record, clock in zip(records, clocks, strict=True):
        kept = windows_of(record, clock, record.events["start_ticks"]) % (1 << level) == 0
        lanes = record.lanes.copy()
        lanes["level"] = np.maximum(lanes["level"], level)
        found.append(replace(record, events=record.events[kept], event_lane=record.event_lane[kept], lanes=lanes))
    return found
