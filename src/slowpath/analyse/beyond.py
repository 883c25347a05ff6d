# SPDX-License-Identifier: Apache-2.0
"""Notes on launches that the plan doesn't ask for: a cell measured twice in a round, and launches at the same time.

Both are left by two processes that measured into one folder, as before there were records of owners, or after
`--take-over` of an owner that was still alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from slowpath.core.units import listed
from slowpath.experiments.measured.load import LaunchRecord, first_good_launches
from slowpath.record.folder import LaunchInfo

MOST_NAMED = 8
# Times of day may be set while a launch runs; then they say nothing about what ran at the same time.
SET_CLOCK_S = 2.0


def beyond_notes(launches: Sequence[LaunchRecord]) -> list[str]:
    """One line each, or none."""
    return [*_doubled(launches), *_at_once([launch.info for launch in launches])]


def _doubled(launches: Sequence[LaunchRecord]) -> list[str]:
    used = first_good_launches(launches)
    left_out = {
        launch.info.launch: unused
        for launch in launches
        if (unused := len(launch.measured_cells()) - len(used[launch.info.launch]))
    }
    if not left_out:
        return []
    return [
        f"measured beyond the plan and not used: {sum(left_out.values())} cells in launches {_named(list(left_out))}; "
        "of several launches that measured a cell in one round the one with the lowest number counts"
    ]


def _at_once(infos: Sequence[LaunchInfo]) -> list[str]:
    """Launches of one turn began in the very same moment; all others follow each other."""
    spans = sorted((begin, end, info.launch) for info in infos for begin, end in _spans(info))
    found: set[int] = set()
    latest: tuple[float, float, int] | None = None  # that ends last, of those before
    for span in spans:
        if latest is not None and span[0] < latest[1] and span[0] != latest[0]:
            found |= {latest[2], span[2]}
        if latest is None or span[1] > latest[1]:
            latest = span
    if not found:
        return []
    return [
        f"launches {_named(sorted(found))} ran at the same time, so two processes measured into this folder: their "
        "times include waiting for each other; measure again"
    ]


def _spans(info: LaunchInfo) -> list[tuple[float, float]]:
    """Begin and end, seconds since 1970; []: not recorded, or the clock was set meanwhile."""
    if not info.started or not info.finished or info.wall_s is None:
        return []
    try:
        begin, end = (datetime.fromisoformat(text).timestamp() for text in (info.started, info.finished))
    except (ValueError, OverflowError, OSError):
        return []
    return [(begin, end)] if abs(end - begin - info.wall_s) < SET_CLOCK_S else []


def _named(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    return listed(words if len(words) <= MOST_NAMED else [*words[:MOST_NAMED], f"{len(words) - MOST_NAMED} more"])
