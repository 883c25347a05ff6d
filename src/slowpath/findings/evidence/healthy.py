# SPDX-License-Identifier: Apache-2.0
"""What message over floor is where nothing is wrong: libraries as they come, measured (docs/results/floors.md). Pure.

A factor means nothing by itself: a short message needs more than a flag, and a library may copy twice. `tools/floors`
makes the rows of this table out of a run folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MARGIN = 3.0  # above the highest factor of a healthy library: other machines are not this one
KIB = 1024


@dataclass(frozen=True)
class Healthy:
    """Messages of one class of lengths. ends: from where to where.  highest: library -> largest factor of its cells,
    upper end of the interval.
    """

    ends: str  # host | gpu | gpu and host
    above_bytes: int
    up_to_bytes: int
    highest: Mapping[str, float]

    @property
    def limit(self) -> float:
        """From here on a message is far above the floor."""
        return MARGIN * max(self.highest.values())


# Upper limits of the classes of lengths, bytes; the last class has none.
LENGTHS = (64, 4 * KIB, 64 * KIB, 1024 * KIB, 2**62)

HEALTHY: tuple[Healthy, ...] = (
    Healthy("host", 0, 64, {"mpich": 15}),
    Healthy("host", 64, 4096, {"mpich": 15}),
    Healthy("host", 4096, 65536, {"mpich": 18}),
    Healthy("host", 65536, 1048576, {"mpich": 10}),
    Healthy("host", 1048576, 2**62, {"mpich": 13}),
)


def ends_of(memory: tuple[str, str]) -> str:
    """`Healthy.ends` by the kinds of memory of both ends."""
    on_gpu = [kind.startswith("device") for kind in memory]
    return "gpu" if all(on_gpu) else "gpu and host" if any(on_gpu) else "host"


def healthy(memory: tuple[str, str], message_bytes: int) -> Healthy | None:
    """The class of a message by the memory of its two ends; None: no library was measured there."""
    ends = ends_of(memory)
    rows = (row for row in HEALTHY if row.ends == ends)
    return next((row for row in rows if row.above_bytes < message_bytes <= row.up_to_bytes), None)
