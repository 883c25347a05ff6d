# SPDX-License-Identifier: Apache-2.0
"""Counts of a collective over the number of ranks: laws, and what they predict. Pure.

One algorithm has one law. Where the library changes to another one at some number of ranks, each stretch stands for
itself, and nothing is predicted beyond the end of a stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Literal, TypeAlias

from slowpath.core.cell_results import CellResult, MessageCounts
from slowpath.core.study_results import HeldOutRanks, PredictedRanks, RankPoint, RankScaling
from slowpath.core.units import format_bytes
from slowpath.findings.facts import Facts, once
from slowpath.stats.laws.growth import FEWEST_POINTS, PowerGrowth, growth

Quantity: TypeAlias = Literal["rounds", "chain"]

PREDICTED_RANKS = (64, 1024)

WIDEST_EXPONENT = 0.2

_VARIED = ("members", "calls", "samples", "time_limit_s", "warmup_s", "validate")

_QUANTITIES: Mapping[Quantity, Callable[[MessageCounts], int]] = {
    "rounds": attrgetter("rounds"),
    "chain": attrgetter("chain"),
}


@once
def rank_scalings(facts: Facts) -> list[RankScaling]:
    """Return the laws of all counts of one run."""
    return scalings(facts.cells.values())


def scalings(cells: Iterable[CellResult]) -> list[RankScaling]:
    """Of each collective whose messages were counted, in the order of the cells."""
    groups: dict[tuple[object, ...], list[CellResult]] = {}
    for cell in cells:
        if cell.messages is not None:
            groups.setdefault(_key(cell), []).append(cell)
    return [scaling for group in groups.values() for scaling in _of_group(group)]


def _key(cell: CellResult) -> tuple[object, ...]:
    same = tuple(sorted((name, value) for name, value in cell.parameters.items() if name not in _VARIED))
    return cell.mpi, cell.environment, cell.placement, same


def _of_group(cells: Sequence[CellResult]) -> list[RankScaling]:
    by_ranks = {cell.messages.ranks: cell for cell in cells if cell.messages is not None}
    ordered = [by_ranks[ranks] for ranks in sorted(by_ranks)]
    stretches = _stretches(ordered)
    found = []
    for name, quantity in _QUANTITIES.items():
        for place, stretch in enumerate(stretches):
            found.append(_scaling(name, quantity, stretch, stretches[place + 1 :]))
    return found


def _stretches(cells: Sequence[CellResult]) -> list[list[CellResult]]:
    """Neighbours in the number of ranks whose algorithms may be one."""
    found: list[list[CellResult]] = []
    shared: set[str] = set()
    for cell in cells:
        names = set(cell.messages.algorithms) if cell.messages else set()
        if found and (shared & names or not (shared or names)):
            found[-1].append(cell)
            shared &= names
        else:
            found.append([cell])
            shared = names
    return found


def _scaling(
    name: Quantity,
    quantity: Callable[[MessageCounts], int],
    cells: Sequence[CellResult],
    later: Sequence[Sequence[CellResult]],
) -> RankScaling:
    first = cells[0]
    counts = [cell.messages for cell in cells if cell.messages is not None]
    ranks, values = [count.ranks for count in counts], [float(quantity(count)) for count in counts]
    law = growth(ranks, values) if len(values) >= FEWEST_POINTS else None
    held = _held_out(ranks, values)
    reason = _reason(law, held, later)
    return RankScaling(
        collective=first.parameters.get("collective", ""),
        quantity=name,
        label=_label(first),
        mpi=first.mpi,
        environment=first.environment,
        placement=first.placement,
        points=[
            RankPoint(
                ranks=one.ranks,
                cell=cell.cell,
                value=value,
                fitted=law.predict(one.ranks)[0] if law else None,
                algorithms=one.algorithms,
            )
            for cell, one, value in zip(cells, counts, values, strict=True)
        ],
        law=law.formula if law else None,
        is_exact=bool(law and law.is_exact),
        exponent=law.exponent if law else None,
        interval=law.interval if law else None,
        held_out=held,
        predicted=_predicted(law, max(ranks)) if law and reason is None else [],
        reason=reason,
    )


def _held_out(ranks: Sequence[int], values: Sequence[float]) -> HeldOutRanks | None:
    if len(values) <= FEWEST_POINTS:
        return None
    _, (low, high) = growth(ranks[:-1], values[:-1]).predict(ranks[-1])
    holds = low - 0.5 < values[-1] < high + 0.5  # a count is whole
    return HeldOutRanks(ranks=ranks[-1], value=values[-1], predicted=(low, high), holds=holds)


def _reason(law: PowerGrowth | None, held: HeldOutRanks | None, later: Sequence[Sequence[CellResult]]) -> str | None:
    if law is None:
        return f"fewer than {FEWEST_POINTS} numbers of ranks by this algorithm"
    if later:
        messages = later[0][0].messages
        return f"from {messages.ranks if messages else '?'} ranks on it is another algorithm"
    if held is None:
        return f"no point left to test the law: it needs {FEWEST_POINTS + 1} numbers of ranks"
    if not law.is_exact and not _is_narrow(law.interval):
        return "no known formula gives exactly these counts, which are too few to fit an exponent"
    return None if held.holds else f"the law of fewer ranks does not predict {held.ranks}"


def _is_narrow(interval: tuple[float, float] | None) -> bool:
    """A tree's depth never ends growing: an exponent below 0, a law with a ceiling, fits a few counts by chance."""
    return interval is not None and interval[0] >= 0 and interval[1] - interval[0] <= WIDEST_EXPONENT


def _predicted(law: PowerGrowth, most: int) -> list[PredictedRanks]:
    found = []
    for ranks in PREDICTED_RANKS:
        if ranks > most:
            value, interval = law.predict(ranks)
            found.append(PredictedRanks(ranks=ranks, value=value, interval=interval))
    return found


def _label(cell: CellResult) -> str:
    p = cell.parameters
    length = "" if p.get("collective") == "barrier" else f" of {format_bytes(int(p.get('message_bytes', '0')))}"
    way = "" if p.get("way", "library") == "library" else f" by {p['way']}"
    start = "" if p.get("start", "blocking") == "blocking" else f", {p['start']}"
    return f"{p.get('collective', '?')}{length}{way}{start}"


def needed(ranks: int) -> int:
    """Rounds that suffice: the logarithm to base 2, rounded up."""
    return max(1, (ranks - 1).bit_length())


def point_at(one: RankScaling, ranks: int) -> RankPoint | None:
    """None: not measured there."""
    return next((point for point in one.points if point.ranks == ranks), None)


def growth_words(one: RankScaling) -> str:
    """`rounds = p - 1, exponent 1.00 exactly`; else why there is no law."""
    if one.law is None:
        return f"no law is fitted, {one.reason}"
    if one.exponent is None or one.interval is None:
        return f"{one.quantity} = {one.law}, whatever the number of ranks"
    low, high = one.interval
    width = "exactly" if one.is_exact else f"[{low:.2f}, {high:.2f}]"
    return f"{one.quantity} = {one.law}, exponent {one.exponent:.2f} {width}"


def predicted_words(one: RankScaling, suffices: Callable[[int], int]) -> str:
    """What more ranks would take, marked as extrapolated; nothing where the law is not to be trusted."""
    if not one.predicted:
        return ""
    parts = [
        f"{_range(predicted.interval)} at {predicted.ranks} ranks, where {suffices(predicted.ranks)} suffice"
        for predicted in one.predicted
    ]
    return f" Extrapolated, not measured: {'; '.join(parts)}."


def _range(interval: tuple[float, float]) -> str:
    low, high = (round(end) for end in interval)
    return f"{low}" if low == high else f"{low} to {high}"
