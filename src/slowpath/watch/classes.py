# SPDX-License-Identifier: Apache-2.0
"""Messages that are alike, over all ranks: the profile's rows, with what their events say of waiting and transfer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from slowpath.watch.attributed import Attributed
from slowpath.watch.coverage import RECEIVE_SIDE, whole
from slowpath.watch.events import NO_SITE, Floats, World
from slowpath.watch.message_times import MessageKey, MessageTimes, message_times
from slowpath.watch.record.layout import NONE_32, watch_layout
from slowpath.watch.results import MessageClass

Side = Literal["send", "receive", "both", "none"]
MOST_CLASSES = 5000
FIRST_USE, HAS_GAPS = 1, 4  # flags of a profile row
_LENGTH_KNOWN, _IS_ODD = 1 << 9, 1 << 8
_STARTS = {0: "not known", 1: "page", 2: "line", 3: "elsewhere"}
_PAGES = {1: 4096, 2: 65536, 3: 2**21}
SHORTEST_BUCKET_S = 64e-9
BUCKETS = 48


@dataclass
class _Sum:
    """One class over rows of profiles."""

    count: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0
    least_s: float = np.inf
    most_s: float = 0.0
    allocation_bytes: int = 0
    gaps: bool = False
    peers: set[int] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    histogram: Floats = field(default_factory=lambda: np.zeros(BUCKETS))


@dataclass(frozen=True)
class ClassKey:
    """What makes messages alike."""

    call: int
    site: int
    side: Side
    size_class: int
    is_first: bool
    buffer_class: int

    @property
    def of_messages(self) -> MessageKey:
        """The key by which events are found: they don't tell the start of the buffer."""
        return (self.call, self.site, self.side, self.size_class, self.is_first)


def classes_of(found: Attributed) -> tuple[tuple[MessageClass, ...], tuple[ClassKey, ...], tuple[int, ...]]:
    """Classes with most time first, their keys, and the sites that they name, in the order of CallSites.

    `MessageClass.site` is an index in the third.
    """
    world = found.world
    sums = _sums(world)
    times = message_times(found)
    keys = sorted(sums, key=lambda key: -sums[key].seconds)[:MOST_CLASSES]
    sites = tuple(dict.fromkeys(key.site for key in keys))
    site_at = {site: i for i, site in enumerate(sites)}
    ranks = max(len(world.records), 1)
    classes = tuple(
        _class(i, key, sums[key], site_at[key.site], times.get(key.of_messages), ranks, world)
        for i, key in enumerate(keys)
    )
    return classes, tuple(keys), sites


def side_of(call: str, family: str, flags: int) -> Side:
    """Which side of a message a profile's row is."""
    if family == "point to point" and ("robe" not in call):
        return "receive" if flags & RECEIVE_SIDE else "send"
    if family == "collective":
        return "both"
    if family == "one-sided":
        if "Get_acc" in call or "Fetch" in call or "Compare" in call:
            return "both"
        return (
            "receive" if "get" in call.lower() else "send" if "put" in call.lower() or "acc" in call.lower() else "none"
        )
    return "none"


def _sums(world: World) -> dict[ClassKey, _Sum]:
    families = watch_layout().families
    family_of = [families.get(number, "other") for number in world.families]
    found: dict[ClassKey, _Sum] = defaultdict(_Sum)
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        site_of, call_of = world.site_of[i], world.call_of[i]
        for row in record.profile:
            call = int(call_of[row["call"]])
            flags, size_class = int(row["flags"]), int(row["size_class"])
            side = side_of(world.calls[call], family_of[call], flags)
            site = NO_SITE if row["site"] == NONE_32 else int(site_of[row["site"]])
            key = ClassKey(call, site, side, min(size_class, 63), bool(flags & FIRST_USE), int(row["buffer_class"]))
            _add(found[key], row, record.rank, clock.s_per_tick)
    return found


def _add(entry: _Sum, row: Any, rank: int, s_per_tick: float) -> None:
    entry.count += float(row["count"])
    entry.bytes += float(row["bytes"])
    entry.seconds += float(row["ticks"]) * s_per_tick
    if row["count"]:
        entry.least_s = min(entry.least_s, float(row["least_ticks"]) * s_per_tick)
        entry.most_s = max(entry.most_s, float(row["most_ticks"]) * s_per_tick)
    entry.allocation_bytes = max(entry.allocation_bytes, min(int(row["allocation_bytes"]), 2**62))
    entry.gaps = entry.gaps or bool(int(row["flags"]) & HAS_GAPS)
    if row["peer"] >= 0:
        entry.peers.add(int(row["peer"]))
    entry.ranks.add(rank)
    entry.histogram += row["histogram"]


def _class(
    i: int, key: ClassKey, total: _Sum, site: int, times: MessageTimes | None, ranks: int, world: World
) -> MessageClass:
    kind, page, start = key.buffer_class & 15, key.buffer_class >> 4 & 3, key.buffer_class >> 6 & 3
    is_known = bool(key.buffer_class & _LENGTH_KNOWN)
    memory = watch_layout().memory_kinds.get(kind, "not known").split(" (")[0]
    has_times = times is not None and times.messages > 0
    return MessageClass(
        id=i,
        call=world.calls[key.call],
        side=key.side,
        site=site,
        bytes_low=0 if key.size_class == 0 else 1 << (key.size_class - 1),
        bytes_high=0 if key.size_class == 0 else (1 << key.size_class) - 1,
        first=key.is_first,
        memory=memory,
        page_bytes=_PAGES.get(page),
        allocation_bytes=total.allocation_bytes or None,
        is_odd=bool(key.buffer_class & _IS_ODD) if is_known else None,
        start=_STARTS[start],
        block_bytes=times.block_bytes if times is not None and total.gaps else None,
        peers=len(total.peers),
        ranks=len(total.ranks),
        count=whole(total.count),
        bytes=whole(total.bytes),
        time_s=total.seconds / ranks,
        wait_s=times.wait_s / times.messages * total.count / ranks if has_times and times is not None else None,
        transfer_s=times.transfer_s / times.messages * total.count / ranks if has_times and times is not None else None,
        median_s=median_of(total.histogram, total.least_s, total.most_s),
        floor_ratio=None,
    )


def median_of(histogram: Sequence[float] | Floats, least_s: float, most_s: float) -> float:
    """Of one call, s: within its bucket evenly on a logarithmic scale; between the shortest and the longest."""
    counts = np.asarray(histogram, dtype=float)
    total = counts.sum()
    if total <= 0 or not np.isfinite(least_s):
        return 0.0
    before = np.cumsum(counts) - counts
    bucket = int(np.flatnonzero(before + counts >= total / 2)[0])
    share = (total / 2 - before[bucket]) / counts[bucket]
    low = SHORTEST_BUCKET_S * 2 ** ((bucket - 1) / 2)
    middle = low * 2 ** (share / 2) if bucket else SHORTEST_BUCKET_S * share
    return float(min(max(middle, least_s), most_s))
