# SPDX-License-Identifier: Apache-2.0
"""What a rank had mapped: from return addresses to places in files. Its lines are of /proc/self/maps (proc(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.record.reader import RankRecord

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
