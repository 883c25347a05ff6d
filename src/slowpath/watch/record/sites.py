# SPDX-License-Identifier: Apache-2.0
"""Call sites of a record as places in the program: object, function, file and line of each frame.

What a rank had mapped is known from its lines of /proc/self/maps (proc(5)).
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.record.symbols import Object, SourcePlace

_LINE = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16})\s+\S+\s+([0-9a-f]{1,16})\s+\S+\s+\d+\s*(.*)")
_DELETED = " (deleted)"


@dataclass(frozen=True)
class Maps:
    """Executable mappings, by address; they don't overlap.

    starts, ends: addresses.  offsets: in the file, of each start.  paths: of each
    """

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    paths: tuple[str, ...]

    @classmethod
    def of(cls, record: RankRecord) -> Maps:
        """Those that the record holds; a line that is none is left out, and the later one of two that overlap wins."""
        return cls.parsed(record.text.get("map", ()))

    @classmethod
    def parsed(cls, lines: Iterable[str]) -> Maps:
        """From lines of /proc/self/maps."""
        found: dict[int, tuple[int, int, str]] = {}
        for line in lines:
            match = _LINE.fullmatch(line)
            if match and int(match[1], 16) < int(match[2], 16):
                found[int(match[1], 16)] = (int(match[2], 16), int(match[3], 16), match[4].removesuffix(_DELETED))
        starts = sorted(found)
        return cls(
            np.array(starts, dtype=np.uint64),
            np.array([found[start][0] for start in starts], dtype=np.uint64),
            np.array([found[start][1] for start in starts], dtype=np.uint64),
            tuple(found[start][2] for start in starts),
        )

    def places(self, addresses: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """For each address the index of its mapping, -1: none, and its offset in the file (the address itself)."""
        address = addresses.astype(np.uint64)
        index = np.searchsorted(self.starts, address, side="right").astype(np.int64) - 1
        if not self.starts.size:
            return np.full(address.shape, -1, dtype=np.int64), address
        at = np.maximum(index, 0)
        inside = (index >= 0) & (address < self.ends[at])
        return np.where(inside, index, -1), np.where(inside, address - self.starts[at] + self.offsets[at], address)


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
    place: SourcePlace | None
    callers: tuple[str, ...]


def named_sites(sites: Sequence[tuple[RankRecord, int]], named: int) -> list[NamedSite]:
    """Of rows of records; the first `named` of them get functions, files and lines."""
    maps = {id(record): Maps.of(record) for record in {id(record): record for record, _ in sites}.values()}
    frames = [_frames(record, row, maps[id(record)]) for record, row in sites]
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


def _frames(record: RankRecord, row: int, maps: Maps) -> list[tuple[str, int]]:
    """Object and offset of each frame, nearest first."""
    site = record.sites[row]
    addresses = np.asarray(site["frames"][: min(int(site["depth"]), FRAMES)], dtype=np.uint64)
    index, offset = maps.places(addresses)
    return [
        (maps.paths[i] if i >= 0 else "", int(o) & (2**63 - 1))
        for i, o in zip(index.tolist(), offset.tolist(), strict=True)
    ]


def _looked_up(wanted: Mapping[str, set[int]]) -> dict[tuple[str, int], SourcePlace]:
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
