# SPDX-License-Identifier: Apache-2.0
"""Tables of a watched program: pairs of ranks, allocations by kind, call sites, and what each rank did when."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from slowpath.core.result import LONGEST_NAME
from slowpath.watch.attributed import WAITS, Attributed, TimePart
from slowpath.watch.events import NO_SITE, Floats, Ints, World
from slowpath.watch.record.layout import watch_layout
from slowpath.watch.record.sites import NamedSite, named_sites
from slowpath.watch.result_parts import Slice
from slowpath.watch.results import AllocationKind, CallSite, Pair
from slowpath.watch.totals import whole

MOST_PAIRS = 4096
MOST_NAMED_SITES = 50


def pairs_of(found: Attributed) -> tuple[Pair, ...]:
    """Messages from rank to rank as the senders' profiles count them, most bytes first."""
    world = found.world
    size = world.job.size
    messages: dict[tuple[int, int], float] = defaultdict(float)
    lengths: dict[tuple[int, int], float] = defaultdict(float)
    for record in world.records:
        rows = record.sent
        for row in rows[(rows["peer"] >= 0) & (rows["peer"] < size)]:
            key = record.rank, int(row["peer"])
            messages[key] += float(row["count"])
            lengths[key] += float(row["bytes"])
    largest = sorted(messages, key=lambda key: (-lengths[key], key))[:MOST_PAIRS]
    return tuple(
        Pair(source=a, destination=b, messages=whole(messages[a, b]), bytes=whole(lengths[a, b])) for a, b in largest
    )


def allocations_of(world: World) -> tuple[AllocationKind, ...]:
    """Most bytes first."""
    kinds = watch_layout().memory_kinds
    sums: dict[tuple[str, int | None, bool | None], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for record in world.records:
        for row in record.allocations:
            page, length = int(row["page_bytes"]), int(row["bytes"])
            memory = kinds.get(int(row["kind"]), "not known")
            is_odd = bool(row["remainder_bytes"]) if page and length else None
            entry = sums[memory, min(page, 2**40) or None, is_odd]
            entry[0] += 1
            entry[1] += float(length)
            entry[2] += float(row["uses"])
    found = [
        AllocationKind(
            memory=memory, page_bytes=page, is_odd=is_odd, allocations=whole(n), bytes=whole(b), uses=whole(uses)
        )
        for (memory, page, is_odd), (n, b, uses) in sums.items()
    ]
    return tuple(sorted(found, key=lambda kind: -kind.bytes))


def sites_of(world: World, sites: Sequence[int]) -> tuple[CallSite, ...]:
    """Of these sites, most costly first; the first ones with functions, files and lines."""
    known = [site for site in sites if site != NO_SITE]
    rows = [(world.records[record], row) for record, row in (world.sites[site] for site in known)]
    named = dict(zip(known, named_sites(rows, MOST_NAMED_SITES), strict=True))
    found = []
    for site in sites:
        place = named.get(site)
        if place is None:
            found.append(CallSite(function="", file=None, line=None, object="", offset=0))
            continue
        found.append(as_site(place))
    return tuple(found)


def as_site(place: NamedSite) -> CallSite:
    """Return a place as results have it."""
    at = place.place
    return CallSite(
        function=at.function if at else "",
        file=at.file if at else None,
        line=at.line if at else None,
        object=place.path.rsplit("/", 1)[-1][:LONGEST_NAME],
        offset=place.offset,
        callers=place.callers,
    )


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
    lane = record.leading_lane
    rows = events.of(i, lane)
    parts = found.split.parts_s[rows]
    waiting, transfer = parts[:, WAITS].sum(axis=1), parts[:, TimePart.TRANSFER] + parts[:, TimePart.UNEXPECTED]
    # Within a call: waiting first, then what moves bytes, then the rest; rounding leaves none of them behind its end.
    begin, left_s = events.start_s[rows], events.duration_s[rows]
    columns = []
    for length in (waiting, transfer, left_s):
        length = np.clip(length, 0.0, left_s)
        columns.append(in_slices(begin, length, edges))
        begin, left_s = begin + length, left_s - length
    kept = kept_seconds(found, i, lane, edges)
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


def in_slices(begin: Floats, length: Floats, edges: Floats) -> Floats:
    """Seconds of these stretches in each slice; they don't overlap and are in order."""
    whole = np.append(0.0, np.cumsum(length))
    at = np.searchsorted(begin, edges, side="right")
    index = np.maximum(at - 1, 0)
    open_s = np.zeros(edges.size)
    if begin.size:
        open_s = np.where(at > 0, np.maximum(begin[index] + length[index] - edges, 0.0), 0.0)
    found: Floats = np.maximum(np.diff(whole[at] - open_s), 0.0)  # 0.1 + 0.2 - 0.1 is more than 0.2
    return found


def kept_seconds(found: Attributed, i: int, lane: int, edges: Floats) -> Floats:
    """Seconds of each slice that lie in windows whose events were kept, before the rank's last sign."""
    record, clock = found.world.records[i], found.world.clocks[i]
    level = int(record.lanes["level"][lane]) if record.lanes.size else 0
    origin = float(found.world.origin_s[found.world.clock[i]]) - float(found.shift_s[i])
    first = float(clock.seconds(record.header["start_ticks"][None], origin)[0])
    sign = record.last_sign_ticks
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
