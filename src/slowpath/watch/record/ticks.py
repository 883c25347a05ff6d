# SPDX-License-Identifier: Apache-2.0
"""A rank's ticks as seconds of its host's CLOCK_MONOTONIC, by the record's two anchors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.record.reader import RankRecord

MONOTONIC = 2  # ticks_kind: CLOCK_MONOTONIC in ns
LEAST_SPAN_NS = 1_000_000  # between the anchors: below it their own error shows
_RATES = (1e6, 1e11)  # ticks a second that a counter can have
SAME_BOOT_S = 1.0  # by which CLOCK_REALTIME - CLOCK_MONOTONIC of one boot may differ: it is slewed


@dataclass(frozen=True)
class Ticks:
    """One rank's clock: seconds = origin_s + (ticks - start_ticks) * s_per_tick."""

    start_ticks: int
    origin_s: float
    s_per_tick: float

    def seconds(self, ticks: NDArray[Any], since_s: float = 0.0) -> NDArray[np.float64]:
        """CLOCK_MONOTONIC - since_s, shape of `ticks`."""
        passed = (ticks.astype(np.int64) - np.int64(self.start_ticks)).astype(np.float64)
        found: NDArray[np.float64] = passed * self.s_per_tick + (self.origin_s - since_s)
        return found

    def duration_s(self, ticks: float) -> float:
        """Length of a stretch."""
        return float(ticks) * self.s_per_tick


def ticks_of(records: Sequence[RankRecord]) -> tuple[list[Ticks], list[str]]:
    """A clock for each record; a rank that died before its second anchor has the rate of another on its host.

    Returns: clocks; notes on ranks whose rate is not known and taken as that of ranks elsewhere, or 1 GHz.
    """
    rates = [_rate(record) for record in records]
    known = [rate for rate in rates if rate is not None]
    notes, clocks = [], []
    for record, own in zip(records, rates, strict=True):
        rate = own
        if rate is None:
            host = record.words("host")
            near = [r for other, r in zip(records, rates, strict=True) if r is not None and other.words("host") == host]
            rate = (near or known or [1e9])[0]
            if not near:
                notes.append(f"rank {record.rank}: the rate of its clock is not known; its times are a guess")
        start = int(record.header["start_ticks"]) % 2**63
        clocks.append(Ticks(start, int(record.header["start_monotonic_ns"]) * 1e-9, 1.0 / rate))
    return clocks, notes


def _rate(record: RankRecord) -> float | None:
    """Ticks a second; None: the anchors don't tell."""
    if int(record.header["ticks_kind"]) == MONOTONIC:
        return 1e9
    passed_ns = int(record.header["end_monotonic_ns"]) - int(record.header["start_monotonic_ns"])
    ticks = int(record.header["end_ticks"]) - int(record.header["start_ticks"])
    if passed_ns < LEAST_SPAN_NS or ticks <= 0:
        return None
    rate = ticks / (passed_ns * 1e-9)
    return rate if _RATES[0] <= rate <= _RATES[1] else None


def boots(records: Sequence[RankRecord]) -> NDArray[np.int64]:
    """Number of the clock that each rank has, shape (records,): one for each host and each of its boots.

    Containers of one name on several machines have clocks of their own.
    """
    numbers: list[int] = []
    known: list[tuple[str, float]] = []
    for record in records:
        host = record.words("host")
        offset_s = (int(record.header["start_realtime_ns"]) - int(record.header["start_monotonic_ns"])) * 1e-9
        found = next((i for i, (h, o) in enumerate(known) if h == host and abs(o - offset_s) < SAME_BOOT_S), None)
        if found is None:
            found = len(known)
            known.append((host, offset_s))
        numbers.append(found)
    return np.array(numbers, dtype=np.int64)
