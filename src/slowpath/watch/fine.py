# SPDX-License-Identifier: Apache-2.0
"""Messages with nothing to gain: those that take what the machine needs for their bytes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import Results
from slowpath.core.units import format_ratio
from slowpath.watch.findings import Cost
from slowpath.watch.measured_prices import LENGTH
from slowpath.watch.prices import length_words
from slowpath.watch.results import Fine, MessageClass, WatchResults

AT_FLOOR: Final = 1.5  # times the floor: what is left is the library's own work
Floors = list[tuple[int, float]]  # length in bytes, seconds


def floors_in(every: Sequence[Results]) -> Floors:
    """What the machine needs for a host message of each length, by the fastest way that was measured."""
    found: dict[int, float] = {}
    for results in every:
        for cell in results.cells:
            length = cell.parameters.get(LENGTH, "")
            if cell.over_floor is None or not length.isdecimal() or cell.parameters.get("memory", "host") != "host":
                continue
            found[int(length)] = min(found.get(int(length), np.inf), cell.over_floor.floor_s)
    return sorted(found.items())


def with_floors(results: WatchResults, floors: Floors) -> WatchResults:
    """The classes' floor_ratio, where their mean length lies between two measured ones."""
    ranks = len(results.ranks)
    return replace(
        results, classes=tuple(replace(one, floor_ratio=_ratio(one, floors, ranks)) for one in results.classes)
    )


def _ratio(one: MessageClass, floors: Floors, ranks: int) -> float | None:
    if not floors or not one.count or one.transfer_s is None or one.side == "none" or not one.bytes:
        return None
    length = one.bytes / one.count
    if not floors[0][0] <= length <= floors[-1][0]:
        return None
    needs_s = float(np.interp(length, [at for at, _ in floors], [value for _, value in floors]))
    return one.transfer_s * ranks / one.count / needs_s


def fine_of(results: WatchResults, costs: Sequence[Cost]) -> tuple[Fine, ...]:
    """Sent messages near their floor; those that a finding is about are not among them."""
    blamed = {
        side.id
        for cost in costs
        for one in cost.loads
        for side in (one.question.load.sender, one.question.load.receiver)
        if side is not None
    }
    near = [
        one
        for one in results.classes
        if one.id not in blamed
        and one.side in ("send", "both")
        and one.floor_ratio is not None
        and one.floor_ratio <= AT_FLOOR
    ]
    if not near:
        return ()
    count = sum(one.count for one in near)
    low, high = min(one.bytes_low for one in near), max(one.bytes_high for one in near)
    ratio = sum((one.floor_ratio or 0.0) * one.count for one in near) / count
    text = (
        f"{count:,} messages of {length_words(low)} .. {length_words(high)}: at the floor ({format_ratio(ratio)} times "
        "what this machine needs for the bytes)"
    )
    return (Fine(messages=count, bytes_low=low, bytes_high=high, floor_ratio=ratio, text=text),)
