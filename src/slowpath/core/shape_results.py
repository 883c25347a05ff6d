# SPDX-License-Identifier: Apache-2.0
"""Shapes of time in results.json: what the order of single messages and of launches shows. Pure.

docs/internals/statistics.md has the tests. Times are seconds; None means missing.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from slowpath.core.result import (
    AtLeastOne,
    Count,
    Interval,
    Name,
    NotNegative,
    Number,
    Positive,
    Result,
    Share,
    means,
    optional,
)

Place = Annotated[int, Meta(ge=0)]


class Stalls(Result, frozen=True, kw_only=True):
    """Messages above twice the median of their launch; medians over launches."""

    share: Annotated[Share, means("of the messages")]
    lost_ratio: Annotated[Share, means("of all time, that would go if each took the median")]
    lost_interval: Annotated[Interval | None, means("of lost_ratio, over launches; null: fewer than 3")]
    mean_ratio: Annotated[Positive, means("mean over median")]
    mean_interval: Annotated[Interval | None, means("of mean_ratio, over launches; null: fewer than 3")]
    length_s: Annotated[NotNegative, means("what a stall takes beyond the median; 0: there is none")]
    bearing: Annotated[NotNegative | None, means("fewest stalls of a launch that hold 80 % of what all lose")] = (
        optional()
    )
    groups_ratio: Annotated[
        NotNegative | None, means("groups of neighbours among these, over their number, all launches; null: none")
    ] = optional()
    place: Annotated[Share | None, means("mean place of these in their launch, 0 to 1; null: there is none")] = (
        optional()
    )


class MessagePeriod(Result, frozen=True, kw_only=True):
    """`slow` of every `every` consecutive messages take longer, at places of the launch's own."""

    every: Annotated[int, Meta(ge=2), means("messages")]
    slow: Annotated[AtLeastOne, means("of them that are slow")]
    slow_s: Annotated[Positive, means("median of the slow ones, median over launches")]
    fast_s: Annotated[Positive, means("the same of the others")]
    ratio: Annotated[Positive, means("slow over others, over launches")]
    interval: Annotated[Interval | None, means("of the ratio")]
    mean_ratio: Annotated[Positive, means("mean message with the slow ones over without, by the two medians")]
    mean_interval: Annotated[Interval | None, means("of mean_ratio")]
    between_s: Annotated[NotNegative, means("from one slow message to that of the next period, median")]
    between_spread_ratio: Annotated[
        NotNegative, means("by how much the one of them that differs most does, as a share; median over launches")
    ]
    p: Annotated[Share, means("chance of the like without any order, over all periods tried and all cells asked")]


class MessageGrowth(Result, frozen=True, kw_only=True):
    """What each message of a launch takes longer than the one before it."""

    per_message_s: Annotated[Number, means("mean over launches")]
    interval: Annotated[Interval, means("of it, t 95 %")]
    p: Annotated[Share, means("of no growth, over all cells asked")]
    least_s: Annotated[Positive, means("shortest median of a launch's first third")]
    most_s: Annotated[Positive, means("longest one")]


class MixedMessages(Result, frozen=True, kw_only=True):
    """Messages of two kinds whose times lie apart, in most launches."""

    share: Annotated[Share, means("of the messages, that are slow; median over launches")]
    least_share: Annotated[Share, means("the same of the launch with the smallest")]
    most_share: Annotated[Share, means("and of that with the largest")]
    slow_s: Annotated[Positive, means("median of the slow ones, median over launches")]
    fast_s: Annotated[Positive, means("the same of the others")]
    ratio: Annotated[Positive, means("slow over others, over launches")]
    interval: Annotated[Interval | None, means("of the ratio")]
    mean_ratio: Annotated[Positive, means("mean message with the slow ones over without, by the two medians")]
    mean_interval: Annotated[Interval | None, means("of mean_ratio")]
    changes_ratio: Annotated[
        NotNegative, means("changes from one kind to the other over those of a random order, all launches together")
    ]


class DrawnMessages(Result, frozen=True, kw_only=True):
    """The messages of one launch in their order."""

    launch: Annotated[AtLeastOne, means("number")]
    numbers: Annotated[list[Place], means("of the messages, counted from 0 in the launch")]
    times_s: Annotated[list[Positive], means("of each")]
    slow_places: Annotated[list[Place], means("of the period, that are slow; empty: it has none")]


class TailPoint(Result, frozen=True, kw_only=True):
    """A point of the tail."""

    share: Annotated[Share, means("of the messages of all launches, that take longer")]
    time_s: Annotated[Positive, means("than this")]


class CellShapes(Result, frozen=True, kw_only=True):
    """Of single messages of one cell, phase steady. Cells whose messages take several buffers in turn have none."""

    cell: Annotated[Count, means("number")]
    metric: Annotated[Name, means("whose samples they are")]
    launches: Annotated[AtLeastOne, means("that measured it")]
    messages: Annotated[AtLeastOne, means("of the shortest launch")]
    stalls: Annotated[Stalls, means("far above the median")]
    period: Annotated[MessagePeriod | None, means("null: none, or too few messages")]
    growth: Annotated[MessageGrowth | None, means("null: fewer than 100 messages in a launch, or 3 launches")]
    tail: Annotated[list[TailPoint], means("from the median on; empty: fewer than 100 messages in a launch")]
    drawn: Annotated[DrawnMessages | None, means("of a launch that shows it; null: no shape")]
    mixed: Annotated[MixedMessages | None, means("of two kinds without a period; null: not, or not asked")] = optional()


class KindTimes(Result, frozen=True, kw_only=True):
    """One cell in the two kinds of launches."""

    cell: Annotated[Count, means("number")]
    metric: Annotated[Name, means("of its times")]
    slow_s: Annotated[Positive, means("median of the slow launches' medians")]
    fast_s: Annotated[Positive, means("the same of the others")]
    ratio: Annotated[Positive, means("slow over others")]
    interval: Annotated[Interval | None, means("of the ratio, Welch's t on logarithms")]


class LaunchKinds(Result, frozen=True, kw_only=True):
    """Launches of one kind of job that fall into two groups, the same in several cells."""

    launches: Annotated[list[AtLeastOne], means("numbers, in the order of time")]
    slow: Annotated[list[bool], means("of each launch")]
    relative: Annotated[list[Positive], means("time of each launch over that of the fast ones, mean over `cells`")]
    cells: Annotated[list[KindTimes], means("that fall apart so, the largest ratio first")]
    asked: Annotated[AtLeastOne, means("cells of these launches")]
    order_p: Annotated[Share, means("chance of so few changes between the kinds, were their order random")]
    fixed_work_ratio: Annotated[
        Positive | None, means("fixed work without MPI, slow launches over others; null: not recorded")
    ]
