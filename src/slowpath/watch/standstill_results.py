# SPDX-License-Identifier: Apache-2.0
"""What results.json of a watched program states of a hang, typed."""

from __future__ import annotations

from typing import Annotated, Literal

from slowpath.core.result import Count, NotNegative, Result, Text, means

StandstillCause = Literal["mismatch", "circle", "missing", "not known"]


class Standing(Result, frozen=True, kw_only=True):
    """What one rank did when nothing moved any more."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    doing: Annotated[Text, means("in a call, polling, outside MPI; or how it ended, or that it left no record")]
    call: Annotated[str | None, means("that it is in, or was in last; null: none that can block")]
    place: Annotated[str | None, means("of that call in the program; null: not known")]
    seconds: Annotated[NotNegative, means("since when it does that")]
    waits_for: Annotated[tuple[Count, ...], means("ranks without which the call can't return; empty: not known")]
    text: Annotated[Text, means("the same in words")]


class Standstill(Result, frozen=True, kw_only=True):
    """A program that stood still until it was stopped."""

    quiet_s: Annotated[NotNegative, means("for which no rank began or ended an MPI call; polls in vain don't count")]
    cause: Annotated[
        StandstillCause,
        means(
            "mismatch: ranks are in different collectives; circle: ranks wait for each other; missing: some have not "
            "come; not known"
        ),
    ]
    late: Annotated[tuple[Count, ...], means("ranks that have not come, that form the circle, or that call another")]
    text: Annotated[Text, means("one sentence")]
    was_stopped: Annotated[
        bool, means("by the user, a signal or --hang-after; false: it failed, or a launcher ended it")
    ]
    ranks: Annotated[tuple[Standing, ...], means("by rank")]


WhyStill = Annotated[
    Standstill | None, means("why nothing moved when the program was stopped; null: it moved, or was not stopped")
]
