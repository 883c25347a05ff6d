# SPDX-License-Identifier: Apache-2.0
"""SP073: messages of two kinds, which come without a period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.study_results import CellShapes, MixedMessages
from slowpath.core.units import format_time
from slowpath.findings.facts import Difference, Facts, Ratio, ratio_words, sizes, where_words
from slowpath.findings.slow_path import Observation, SlowPath, observed
from slowpath.findings.witness import switches_each


@dataclass(frozen=True, kw_only=True)
class Mixture(Difference):
    """slow_s, fast_s, ratio: the mean message with the slow ones and without.

    mixed: of the cell where the slow ones weigh most.  cells: those that agree on their share, this one first.
    switches: how often ranks lost a processor, for each slow message, the most of the cells; None: not counted.
    """

    mixed: MixedMessages
    cells: tuple[CellResult, ...]
    switches: float | None


# Changes between the kinds, over those of a random order. States that last make fewer, an alternation makes more: of
# 16 messages in each of 3 launches the standard deviation is 0.15.
RANDOM = (0.7, 1.3)

AGREE = 0.12  # by which shares of the slow ones differ at most, of cells and of launches

# What a message takes in one cell, over another: what strikes after a time strikes the longer ones oftener.
UNLIKE = 3.0

STEPS = 2  # of the clock that the difference has to exceed

MOST_SWITCHES = 0.5  # for each slow message: losing processors explains less than half of them

# The mean message is so many times slower, by the low end: a fault before its cause is known. None of 65 cells of
# twelve surveys without such a plant has messages of two kinds at all (docs/internals/statistics.md).
FAR = 3.0


class _Mixed(NamedTuple):
    cell: CellResult
    metric: str
    mixed: MixedMessages
    switches: float | None


def mixtures(cells: Mapping[int, CellResult], shapes: Iterable[CellShapes], minimum_effect: float) -> list[Mixture]:
    """Those by which the mean message loses more than the minimum effect."""
    places: dict[tuple[object, ...], list[_Mixed]] = defaultdict(list)
    for shape in shapes:
        cell = cells[shape.cell]
        found = shape.mixed and _Mixed(cell, shape.metric, shape.mixed, _switches(cell, shape.mixed))
        if found and _is_shown(found):
            places[cell.mpi, cell.environment, cell.placement, shape.metric].append(found)
    made = (_mixture(found, minimum_effect) for found in places.values())
    return [one for one in made if one is not None and one.ratio.beyond]


def _is_shown(one: _Mixed) -> bool:
    """Whether it is neither states that last, nor steps of the clock, nor ranks that lose their processors."""
    mixed = one.mixed
    steady = one.cell.metrics[one.metric].phases.get("steady") if one.metric in one.cell.metrics else None
    step_s = (steady.quantum_ratio or 0.0) * steady.value if steady else 0.0
    return (
        RANDOM[0] <= mixed.changes_ratio <= RANDOM[1]
        and mixed.slow_s - mixed.fast_s > STEPS * step_s
        and mixed.most_share - mixed.least_share <= 2 * AGREE
        and (one.switches is None or one.switches < MOST_SWITCHES)
    )


def _switches(cell: CellResult, mixed: MixedMessages) -> float | None:
    """How often its ranks lost a processor, for each slow message."""
    lost = switches_each(cell, "steady")
    return None if lost is None else lost / mixed.share


def _mixture(found: Sequence[_Mixed], minimum_effect: float) -> Mixture | None:
    agreeing = [one for one in found if any(_agree(one.mixed, other.mixed) for other in found)]
    if not agreeing:
        return None
    ranked = sorted(agreeing, key=lambda one: one.mixed.mean_ratio, reverse=True)
    top, mixed = ranked[0].cell, ranked[0].mixed
    least = mixed.mean_interval[0] if mixed.mean_interval else 0.0
    counted = [one.switches for one in ranked if one.switches is not None]
    return Mixture(
        slow=top,
        fast=top,
        metric=ranked[0].metric,
        slow_s=mixed.fast_s * mixed.mean_ratio,
        fast_s=mixed.fast_s,
        ratio=Ratio(mixed.mean_ratio, mixed.mean_interval, least > 1 + minimum_effect),
        mixed=mixed,
        cells=tuple(one.cell for one in ranked),
        switches=max(counted) if counted else None,
    )


def _agree(one: MixedMessages, other: MixedMessages) -> bool:
    apart = max(one.fast_s, other.fast_s) / min(one.fast_s, other.fast_s)
    return one is not other and apart >= UNLIKE and abs(one.share - other.share) <= AGREE


def observe(facts: Facts) -> Sequence[Observation]:
    """Cells of unlike lengths in which the same share of the messages is slow, in no order."""
    return [_observation(facts, one) for one in mixtures(facts.cells, facts.shapes, facts.minimum_effect)]


def _observation(facts: Facts, one: Mixture) -> Observation:
    size = f"{sizes([one.slow])} messages".strip()
    mixed = one.mixed
    numbers = tuple(cell.cell for cell in one.cells)
    return observed(
        one,
        about="messages of two kinds",
        place=facts.place(one.cells, where_words(one.cells)),
        text=f"{_percent(mixed.share)} of the {size}, in no order, are "
        f"{ratio_words(Ratio(mixed.ratio, mixed.interval, True))} slower than the others: "
        f"{format_time(mixed.slow_s)} vs {format_time(mixed.fast_s)}. They make the mean message "
        f"{ratio_words(one.ratio)} slower.",
        affects_default=facts.is_default(one.slow),
        cells=numbers,
        slow_cells=numbers,
        fast_cells=(),
        is_sure_fault=one.switches is not None and (one.ratio.interval or (0.0,))[0] >= FAR,
        evidence=_evidence(one),
    )


def _evidence(one: Mixture) -> tuple[str, ...]:
    mixed = one.mixed
    lines = [
        f"in the launches {_percent(mixed.least_share)} to {_percent(mixed.most_share)} of the messages are slow; the "
        "gap between the two kinds is more than twice as wide as either",
        f"{len(one.cells)} cells agree on that share although their times per message differ by 3 times or more: what "
        "interrupts after a time would make more of the longer messages slow",
        f"the kinds change {mixed.changes_ratio:.2f} times as often as in a random order: there is no period, and "
        "neither kind lasts",
    ]
    if one.switches is not None:
        lines.append(f"ranks lost a processor {one.switches:.2f} times for each slow message")
    return tuple(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


SLOW_PATH: SlowPath = SlowPath(
    code="SP073",
    name="mixed messages",
    title="Messages are of two kinds, at random",
    what="Some messages are quick, others take many times as long, at random: a rail or queue pair chosen by a "
    "hash, a lock that is free or not.",
    needs="64 single messages or more in each of 3 launches or more, in two cells whose quick messages take times 3 "
    "times apart: two groups with a gap, the same share in both, in a random order. A fault only where the "
    "mean message takes 3 times as long.",
    remedy="Force the library to one transport, one rail or one thread, and see whether one kind goes.",
    observe=observe,
    cause="Each message takes one of two ways, without a pattern.",
    hypotheses=(
        "the library draws a rail, a queue or a path for each message",
        "a lock or a queue is found taken by some messages",
        "the receiver is inside the library for some messages, and outside for others",
    ),
    needs_law=False,
    kind="fault",
    needs_cause=True,
    splits_medians=True,
    probes=("long series",),
)
