# SPDX-License-Identifier: Apache-2.0
"""Shapes of time: slow messages at equal distances, counted in messages or in time. Pure.

A timer strikes after a time, whatever was sent meanwhile; a counter after a number of messages, however long they took.
Where lengths that take unlike times share a number, or a number stays although the time does not, it is a counter's.
Where they share a time it is a timer's, of the machine as well as of the library: no period in messages is named then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.study_results import CellShapes, MessagePeriod
from slowpath.core.units import format_time
from slowpath.findings.facts import CLEAR_RATIO, Difference, Facts, Ratio, ratio_words, sizes, where_words
from slowpath.findings.slow_path import Observation, observed


@dataclass(frozen=True)
class SlowPlaces:
    """One cell whose messages are slow at equal distances. slow_s, fast_s: a slow message, another one; ratio: of
    these.

    launches, messages: in which it was seen, and of the shortest of them.  between_s: from one to the next.  p: chance.
    """

    cell: CellResult
    slow_s: float
    fast_s: float
    ratio: Ratio
    launches: int
    messages: int
    between_s: float
    p: float


@dataclass(frozen=True, kw_only=True)
class Periodic(Difference):
    """`count` of every `every` messages are slow. slow_s, fast_s, ratio: the mean message with these and without.

    seen: the cells that show it, first `slow`, which is `fast` too.  lacking: cells of the same place that were asked
    and don't.  counted: in what; "either": at one length, or at lengths that take alike, messages and time can't be
    distinguished.
    """

    every: int
    count: int
    counted: Literal["messages", "either"]
    seen: tuple[SlowPlaces, ...]
    lacking: tuple[CellResult, ...]


UNLIKE = 1.5  # times between slow messages, as a ratio: one timer does not make both

ALIKE = 1.15

UNSTEADY = 0.25  # a period that lasts longer or shorter by this, and has as many messages

_ENOUGH = 4  # times as many messages as the period, to have seen it


class _Found(NamedTuple):
    cell: CellResult
    shapes: CellShapes
    period: MessagePeriod


def periods(cells: Mapping[int, CellResult], shapes: Iterable[CellShapes], minimum_effect: float) -> list[Periodic]:
    """Those by which the mean message loses more than the minimum effect."""
    places: dict[tuple[object, ...], list[CellShapes]] = defaultdict(list)
    for shape in shapes:
        cell = cells[shape.cell]
        places[(cell.mpi, cell.environment, cell.placement, calls(cell))].append(shape)
    made = (one for place in places.values() for one in _of_place(cells, place, minimum_effect))
    return [one for one in made if one.ratio.beyond]


def _of_place(cells: Mapping[int, CellResult], asked: Sequence[CellShapes], minimum_effect: float) -> list[Periodic]:
    found = [_Found(cells[shapes.cell], shapes, shapes.period) for shapes in asked if shapes.period is not None]
    groups: dict[int, list[_Found]] = defaultdict(list)
    for one in found:
        groups[one.period.every].append(one)
    return [
        _periodic(group, [(cells[shapes.cell], shapes) for shapes in asked], minimum_effect)
        for group in groups.values()
        if not any(
            other.period.every != one.period.every and _ratio(other.period.between_s, one.period.between_s) <= ALIKE
            for one in group
            for other in found
        )
    ]


def _periodic(
    group: Sequence[_Found], asked: Sequence[tuple[CellResult, CellShapes]], minimum_effect: float
) -> Periodic:
    ranked = sorted(group, key=lambda one: one.period.mean_ratio, reverse=True)  # most excesses are alike in seconds
    top = ranked[0]
    period = top.period
    least = period.mean_interval[0] if period.mean_interval else 0.0
    having = {one.cell.cell for one in group}
    return Periodic(
        slow=top.cell,
        fast=top.cell,
        metric=top.shapes.metric,
        slow_s=period.fast_s * period.mean_ratio,
        fast_s=period.fast_s,
        ratio=Ratio(period.mean_ratio, period.mean_interval, least > 1 + minimum_effect),
        every=period.every,
        count=period.slow,
        counted="messages" if _is_counted(group) else "either",
        seen=tuple(_seen(one) for one in ranked),
        lacking=tuple(cell for cell, one in asked if one.messages >= _ENOUGH * period.every and one.cell not in having),
    )


def _seen(one: _Found) -> SlowPlaces:
    period, shapes = one.period, one.shapes
    ratio = Ratio(period.ratio, period.interval, True)
    return SlowPlaces(
        one.cell, period.slow_s, period.fast_s, ratio, shapes.launches, shapes.messages, period.between_s, period.p
    )


def _is_counted(group: Sequence[_Found]) -> bool:
    """Whether no timer makes this: the number stays where the time does not."""
    times = [one.period.between_s for one in group]
    unsteady = any(one.period.between_spread_ratio >= UNSTEADY for one in group)
    return unsteady or _ratio(max(times), min(times)) >= UNLIKE


def _ratio(one: float, other: float) -> float:
    """The larger over the smaller; of a time of 0, which is not known, infinite."""
    return max(one, other) / min(one, other) if min(one, other) > 0 else float("inf")


_ORDINALS = {2: "second", 3: "third"}

MOST_ALTERNATING = 8  # messages of a period; a longer one is that of stalls


def ordinal(number: int) -> str:
    """`second`, `third`, `4th`, `61st`."""
    if number in _ORDINALS:
        return _ORDINALS[number]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


FEWEST_ALTERNATING = 64  # single messages of each launch: in fewer, states that mostly follow each other look alike
_STEPS = 2  # of the clock that a difference between two messages has to exceed


def is_shown(one: Periodic) -> bool:
    """Whether an alternation is more than its rivals: states that mostly follow each other, a timer, the clock's steps.

    A timer of nearly as many messages keeps step with them for a while: what is below CLEAR_RATIO has to keep its
    number while the time changes.
    """
    top = one.seen[0]
    steady = top.cell.metrics[one.metric].phases["steady"] if one.metric in top.cell.metrics else None
    step_ratio = (steady.quantum_ratio or 0.0) if steady else 0.0
    beyond = (top.slow_s - top.fast_s) > _STEPS * step_ratio * top.fast_s
    counted = one.counted == "messages" or one.ratio.least >= CLEAR_RATIO
    return beyond and counted and top.messages >= FEWEST_ALTERNATING


def calls(cell: CellResult) -> str:
    """What the cell makes again and again: `message`, `barrier`."""
    return cell.parameters.get("collective", "message")


def about(one: Periodic) -> str:
    """`every 64th message`; `2 of every 4 messages`; `every 16th barrier`."""
    noun = calls(one.slow)
    return f"every {ordinal(one.every)} {noun}" if one.count == 1 else f"{one.count} of every {one.every} {noun}s"


def periodic_observed(facts: Facts, one: Periodic) -> Observation:
    """The observation: what the slow ones take, and what the mean message loses."""
    top, size = one.seen[0], sizes([one.slow])
    cells = tuple(seen.cell for seen in one.seen)
    noun = calls(one.slow)
    words = about(one).replace(f" {noun}", f" {size} {noun}") if size and noun != "barrier" else about(one)
    verb = "is" if one.count == 1 else "are"
    return observed(
        one,
        about=about(one),
        place=facts.place(cells, where_words(cells)),
        text=f"{words[0].upper()}{words[1:]} {verb} {ratio_words(top.ratio)} slower than the others: "
        f"{format_time(top.slow_s)} vs {format_time(top.fast_s)}. They make the mean {noun} "
        f"{ratio_words(one.ratio)} slower.",
        affects_default=facts.is_default(one.slow),
        cells=tuple(cell.cell for cell in (*cells, *one.lacking)),
        evidence=_evidence(one),
        slow_cells=tuple(cell.cell for cell in cells),
        fast_cells=(),
        doubts=_doubts(one),
    )


def _evidence(one: Periodic) -> tuple[str, ...]:
    lines = [
        (
            f"{seen.cell.label}: {about(one)} in {seen.launches} launches of {seen.messages} {calls(seen.cell)}s: "
            f"{format_time(seen.slow_s)} vs {format_time(seen.fast_s)}, one each {format_time(seen.between_s)}; by "
            f"chance: p = {seen.p:.1g}"
        )
        for seen in one.seen
    ]
    if one.counted == "messages":
        lines.append("it counts messages, not time: the number is independent of the time between messages")
    return (*lines, *(f"not in {cell.label}" for cell in one.lacking))


def _doubts(one: Periodic) -> tuple[str, ...]:
    if one.counted == "messages":
        return ()
    return (
        f"either {about(one)}, or one each {format_time(one.seen[0].between_s)}: it may be a timer; measure a "
        "length that takes half as long or less",
    )
