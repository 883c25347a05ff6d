# SPDX-License-Identifier: Apache-2.0
"""Call sites of a record as places in the program: object, function, file and line of each frame."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slowpath.core.errors import RecordError
from slowpath.watch.record.maps import Maps
from slowpath.watch.record.objects import Object, Place
from slowpath.watch.record.reader import RankRecord

BEFORE_MAIN = frozenset(
    {"_start", "__libc_start_main", "__libc_start_call_main", "generic_start_main", "_dl_start_user"}
)
FRAMES = 6  # of each site that are named
LOOK_S = 2.0  # for all lines together; what is left then has its symbol alone


@dataclass(frozen=True)
class NamedSite:
    """A place in the program.

    path: of the object; empty: none.  offset: of the return address in it.  place: None where it was not looked up.
    callers: functions around it, nearest first
    """

    path: str
    offset: int
    place: Place | None
    callers: tuple[str, ...]


def named_sites(sites: Sequence[tuple[RankRecord, int]], named: int) -> list[NamedSite]:
    """Of rows of records; the first `named` of them get functions, files and lines."""
    frames = [_frames(record, row) for record, row in sites]
    wanted: dict[str, set[int]] = defaultdict(set)
    for entry in frames[:named]:
        for path, offset in entry:
            wanted[path].add(offset)
    places = _looked_up(wanted)
    found = []
    for entry in frames:
        path, offset = entry[0] if entry else ("", 0)
        around = [places[key].function for key in entry[1:] if key in places]
        callers = tuple(name for name in around if name and name not in BEFORE_MAIN)
        found.append(NamedSite(path, offset, places.get((path, offset)), callers))
    return found


def _frames(record: RankRecord, row: int) -> list[tuple[str, int]]:
    """Object and offset of each frame, nearest first."""
    site = record.sites[row]
    addresses = np.asarray(site["frames"][: min(int(site["depth"]), FRAMES)], dtype=np.uint64)
    maps = Maps.of(record)
    index, offset = maps.places(addresses)
    return [
        (maps.paths[i] if i >= 0 else "", int(o) & (2**63 - 1))
        for i, o in zip(index.tolist(), offset.tolist(), strict=True)
    ]


def _looked_up(wanted: Mapping[str, set[int]]) -> dict[tuple[str, int], Place]:
    until = time.monotonic() + LOOK_S
    found = {}
    for path, offsets in wanted.items():
        if not path.startswith("/"):
            continue
        try:
            held = Object(Path(path))
        except RecordError:
            continue
        ordered = sorted(offsets)
        try:
            for offset, place in zip(ordered, held.places(ordered, until), strict=True):
                found[path, offset] = place
        finally:
            held.close()
    return found
