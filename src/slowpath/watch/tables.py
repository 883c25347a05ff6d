# SPDX-License-Identifier: Apache-2.0
"""Matrix of ranks, allocations by kind, and call sites of a watched program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from slowpath.core.result import LONGEST_NAME
from slowpath.watch.attributed import Attributed
from slowpath.watch.coverage import RECEIVE_SIDE, whole
from slowpath.watch.events import NO_SITE, World
from slowpath.watch.record.layout import watch_layout
from slowpath.watch.record.sites import named_sites
from slowpath.watch.results import AllocationKind, CallSite, Pair

MOST_PAIRS = 4096
MOST_NAMED_SITES = 50


def pairs_of(found: Attributed) -> tuple[Pair, ...]:
    """Messages from rank to rank as the senders' profiles count them, most bytes first."""
    world = found.world
    size = world.job.size
    messages: dict[tuple[int, int], float] = defaultdict(float)
    lengths: dict[tuple[int, int], float] = defaultdict(float)
    for i, record in enumerate(world.records):
        names = [world.calls[call] for call in world.call_of[i].tolist()]
        sends = np.array(["send" in name.lower() or name.startswith("MPI_Start") for name in names], dtype=bool)
        if not sends.size:
            continue
        rows = record.profile[sends[record.profile["call"]] & ((record.profile["flags"] & RECEIVE_SIDE) == 0)]
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
            memory = kinds.get(int(row["kind"]), "not known").split(" (")[0]
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
        at = place.place
        found.append(
            CallSite(
                function=at.function if at else "",
                file=at.file if at else None,
                line=at.line if at else None,
                object=place.path.rsplit("/", 1)[-1][:LONGEST_NAME],
                offset=place.offset,
                callers=place.callers,
            )
        )
    return tuple(found)
