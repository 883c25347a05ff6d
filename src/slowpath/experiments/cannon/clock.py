# SPDX-License-Identifier: Apache-2.0
"""The clock frequency of the ranks' processors, read after each repetition. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from slowpath.core.cannon_results import CannonClock
from slowpath.record.events import Repetitions

NOT_REPORTED = "the engine did not report a clock frequency"


def clock_of(events: Sequence[Repetitions]) -> CannonClock | str:
    """Over all ranks and repetitions of these events; or why it is not known."""
    known = [hz for event in events for hz in event.clock_hz if hz]
    if not known:
        return next((event.clock_from for event in events if event.clock_from), NOT_REPORTED)
    source = next(event.clock_from or NOT_REPORTED for event in events if any(event.clock_hz))
    return CannonClock(
        median_hz=statistics.median(known),
        lowest_hz=min(known),
        highest_hz=max(known),
        readings=len(known),
        source=source,
    )


def over_repetitions(events: Sequence[Repetitions], repetition: int) -> float | None:
    """The lowest frequency of any rank in one repetition, which holds all others up; None: not known."""
    known = [event.clock_hz[repetition] for event in events if len(event.clock_hz) > repetition]
    return min((hz for hz in known if hz), default=None)
