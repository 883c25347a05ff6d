# SPDX-License-Identifier: Apache-2.0
"""Ranks x time for the picture: what each rank did in each stretch of the run."""

from __future__ import annotations

import itertools

import numpy as np

from slowpath.watch.attribute import WAITS, Part
from slowpath.watch.attributed import Attributed
from slowpath.watch.events import Floats, Ints
from slowpath.watch.results import Slice

MOST_SLICES = 200
MOST_RANKS = 64
LEAST_SLICE_S = 1e-6


def slices_of(found: Attributed, span_s: float) -> tuple[tuple[Slice, ...], tuple[int, ...] | None]:
    """Slices by rank and time, and which ranks have some: the first, the last and evenly in between; None: all."""
    count = len(found.world.records)
    if not count or span_s <= LEAST_SLICE_S:
        return (), None
    shown = np.unique(np.linspace(0, count - 1, min(count, MOST_RANKS)).round().astype(int)).tolist()
    edges = np.linspace(0.0, span_s, MOST_SLICES + 1)
    slices = tuple(itertools.chain.from_iterable(_of_rank(found, i, edges) for i in shown))
    ranks = tuple(found.world.records[i].rank for i in shown)
    return slices, None if len(shown) == count else ranks


def _of_rank(found: Attributed, i: int, edges: Floats) -> list[Slice]:
    events, record = found.events, found.world.records[i]
    lane = int(record.lanes["call_ticks"].argmax()) if record.lanes.size else 0
    rows = events.of(i, lane)
    parts = found.parts.parts_s[rows]
    waiting, transfer = parts[:, WAITS].sum(axis=1), parts[:, Part.TRANSFER] + parts[:, Part.UNEXPECTED]
    # Within a call: waiting first, then what moves bytes, then the rest.
    begin = events.start_s[rows]
    columns = []
    for length in (waiting, transfer, events.duration_s[rows] - waiting - transfer):
        columns.append(_in_slices(begin, np.maximum(length, 0.0), edges))
        begin = begin + length
    kept = _kept_seconds(found, i, lane, edges)
    rank, slices = record.rank, []
    for k, (start, end) in enumerate(itertools.pairwise(edges.tolist())):
        whole = float(kept[k])
        if whole <= 0:
            slices.append(_slice(rank, start, end, (0.0, 0.0, 0.0), is_kept=False))
            continue
        wait, move, other = (min(float(column[k]) / whole, 1.0) for column in columns)
        total = max(wait + move + other, 1.0)
        slices.append(_slice(rank, start, end, (wait / total, move / total, other / total), is_kept=True))
    return slices


def _slice(rank: int, start_s: float, end_s: float, shares: tuple[float, float, float], *, is_kept: bool) -> Slice:
    waiting, transfer, other = shares
    return Slice(
        rank=rank,
        start_s=start_s,
        end_s=end_s,
        computing=min(max(1.0 - waiting - transfer - other, 0.0), 1.0),
        waiting=waiting,
        transfer=transfer,
        other=other,
        is_kept=is_kept,
    )


def _in_slices(begin: Floats, length: Floats, edges: Floats) -> Floats:
    """Seconds of these stretches in each slice; they don't overlap and are in order."""
    whole = np.append(0.0, np.cumsum(length))
    at = np.searchsorted(begin, edges, side="right")
    index = np.maximum(at - 1, 0)
    open_s = np.zeros(edges.size)
    if begin.size:
        open_s = np.where(at > 0, np.maximum(begin[index] + length[index] - edges, 0.0), 0.0)
    found: Floats = np.diff(whole[at] - open_s)
    return found


def _kept_seconds(found: Attributed, i: int, lane: int, edges: Floats) -> Floats:
    """Seconds of each slice that lie in windows whose events were kept, before the rank's last sign."""
    record, clock = found.world.records[i], found.world.clocks[i]
    level = int(record.lanes["level"][lane]) if record.lanes.size else 0
    origin = float(found.world.origin_s[found.world.clock[i]]) - float(found.shift_s[i])
    first = float(clock.seconds(record.header["start_ticks"][None], origin)[0])
    sign = max(int(record.header["end_ticks"]), int(record.lanes["last_ticks"].max(initial=0)))
    last = float(clock.seconds(np.array([sign], dtype=np.uint64), origin)[0])
    overlap = np.minimum(edges[1:], last) - np.maximum(edges[:-1], first)
    inside = np.asarray(np.maximum(overlap, 0.0), dtype=np.float64)
    if level == 0:
        return inside
    window_s = max(int(record.header["window_ns"]), 1) * 1e-9
    kept: Floats = np.diff(_kept_before(edges + origin, window_s, 1 << level))
    both: Floats = np.minimum(kept, inside)
    return both


def _kept_before(times: Floats, window_s: float, every: int) -> Floats:
    """Seconds in kept windows from 0 up to each time."""
    windows: Ints = np.floor(times / window_s).astype(np.int64)
    full = (windows + every - 1) // every * window_s
    partial = np.where(windows % every == 0, times - windows * window_s, 0.0)
    return np.asarray(full + partial, dtype=np.float64)
