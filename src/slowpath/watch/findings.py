# SPDX-License-Identifier: Apache-2.0
"""From prices to findings: what each slow path costs the program, where, and what helps. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowpath.core.finding_results import RemedyResult, Snippet
from slowpath.core.result import Interval
from slowpath.core.units import format_bytes, format_time, listed, ratio_words
from slowpath.findings.slow_path import ProgramPrice, ProgramRemedy, Remedy, snippet
from slowpath.slowpaths.registry import find, program_remedies_for, remedies_for
from slowpath.watch.prices import LEAST_SHARE, PricedLoad, length_words
from slowpath.watch.results import CallSite, MessageClass, RankTime, WatchFinding
from slowpath.watch.what_if import Saved

MOST_UNEXPLAINED: Final = 0.25  # of the ranks' time in MPI; above it, nothing is claimed from prices
MOST_SITES: Final = 8


@dataclass(frozen=True)
class SlowPathCost:
    """One slow path of the program: a row of the table and all messages that it was priced for.

    seconds, interval: a rank, added up over messages.  The error of a price is that of two cells, the same for each
    message it is paid by, and neither does it average out over messages nor are cells of one machine independent: the
    ends of the intervals are added up.
    """

    row: ProgramPrice
    loads: tuple[PricedLoad, ...]
    seconds: float
    interval: Interval
    messages: int


def unexplained_share(ranks: Sequence[RankTime]) -> float:
    """Of all ranks' time in MPI."""
    total = sum(rank.mpi_s for rank in ranks)
    return sum(rank.unexplained_s for rank in ranks) / total if total > 0 else 0.0


def costs_of(priced: Sequence[PricedLoad], run_s: float, ranks: int) -> tuple[list[SlowPathCost], list[PricedLoad]]:
    """Slow paths worth naming, most seconds first, and prices whose intervals hold zero: nothing to gain there."""
    clear = [price for price in priced if price.interval[0] > 0]
    unclear = [price for price in priced if price.interval[0] <= 0]
    rows = {price.question.row.name: price.question.row for price in clear}
    costs = [_cost(row, [price for price in clear if price.question.row is row], ranks) for row in rows.values()]
    worth = [cost for cost in costs if cost.seconds >= LEAST_SHARE * run_s]
    return sorted(worth, key=lambda cost: cost.seconds, reverse=True), unclear


def _cost(row: ProgramPrice, loads: Sequence[PricedLoad], ranks: int) -> SlowPathCost:
    def total(value: Callable[[PricedLoad], float]) -> float:
        return sum(value(priced) * priced.question.load.count for priced in loads) / ranks

    return SlowPathCost(
        row,
        tuple(sorted(loads, key=lambda priced: priced.per_message_s * priced.question.load.count, reverse=True)),
        total(lambda price: price.per_message_s),
        (total(lambda price: price.interval[0]), total(lambda price: price.interval[1])),
        sum(priced.question.load.count for priced in loads),
    )


def finding_of(
    cost: SlowPathCost, saved: Saved, sites: Sequence[CallSite], run_s: float, library: str | None, version: str | None
) -> WatchFinding:
    """As results.json has it.

    Args: library, version: of the MPI, as the table of remedies calls it; None: not known.
    """
    places = _places(cost)
    remedies = _remedies(cost.row, library, version)
    first = remedies[0] if remedies else None
    proves = _prove(cost.row)
    return WatchFinding(
        id=_id(cost.row, sites[places[0]] if places else None),
        rule=cost.row.rule,
        name=find(cost.row.rule).name,
        title=find(cost.row.rule).title,
        text=_text(cost, [sites[place] for place in places]),
        seconds=cost.seconds,
        interval=cost.interval,
        share=min(max(cost.seconds / run_s, 0.0), 1.0),
        saved_s=saved.value_s,
        saved_interval=saved.interval,
        saved_reason=saved.reason,
        messages=cost.messages,
        prices=tuple(priced.result for priced in cost.loads),
        sites=tuple(places),
        remedies=tuple(_result(remedy, library) for remedy in remedies),
        prove=proves,
        change=None if proves else _change(first, cost.row, [sites[place] for place in places]),
        status="priced",
    )


def _places(cost: SlowPathCost) -> list[int]:
    """Sites of both sides, the most costly first."""
    weight: dict[int, float] = {}
    for priced in cost.loads:
        for side in _recorded(priced):
            weight[side.site] = weight.get(side.site, 0.0) + priced.per_message_s * priced.question.load.count
    return sorted(weight, key=lambda site: weight[site], reverse=True)[:MOST_SITES]


def _recorded(priced: PricedLoad) -> list[MessageClass]:
    load = priced.question.load
    return [side for side in (load.sender, load.receiver) if side is not None]


def _id(row: ProgramPrice, site: CallSite | None) -> str:
    """Lines move when the program changes, functions less so."""
    place = f"{site.object}:{site.function or hex(site.offset)}" if site else ""
    digest = hashlib.sha256("\n".join((row.name, place)).encode()).hexdigest()
    return f"{row.rule}:{digest[:8]}"


def _text(cost: SlowPathCost, places: Sequence[CallSite]) -> str:
    lengths = [priced.question.load.bytes for priced in cost.loads]
    low, high = length_words(min(lengths)), length_words(max(lengths))
    size = low if low == high else f"{low} to {high}"
    call = listed(list(dict.fromkeys(priced.question.load.lead.call for priced in cost.loads))[:2])
    where = f" in {place_words(places[0])}" if places else ""
    more = f" and {len(places) - 1} more place{'s' if len(places) > 2 else ''}" if len(places) > 1 else ""
    top = cost.loads[0]
    half = (top.interval[1] - top.interval[0]) / 2
    excess = format_time(top.per_message_s, half)
    each = f"each {length_words(top.question.load.bytes)} message takes {excess} longer than necessary"
    slow = [priced for priced in cost.loads if priced.as_is_s and priced.as_is_s > priced.per_message_s]
    times = ""
    if slow and slow[0] is top and top.as_is_s:
        times = f" ({ratio_words(top.as_is_s / (top.as_is_s - top.per_message_s), None)})"
    plural = "s" if cost.messages != 1 else ""
    what = _what(cost.row, top.question.load.lead)
    return f"{cost.messages:,} message{plural} of {size} {what}, {call}{where}{more}: {each}{times}."


def _what(row: ProgramPrice, side: MessageClass) -> str:
    """With the pages or blocks that were seen."""
    if row.when.below_page_bytes and side.page_bytes:
        return row.what.replace("small pages", f"{format_bytes(side.page_bytes)} pages")
    if row.when.below_block_bytes and side.block_bytes:
        return f"{row.what} of {format_bytes(side.block_bytes)}"
    return row.what


def place_words(site: CallSite) -> str:
    """`forward (comm_brick.cpp:512)`, else what is known of it."""
    name = site.function or f"{site.object}+{site.offset:#x}"
    if site.file is None:
        return name if not site.function else f"{name} ({site.object})"
    short = site.file.rsplit("/", 1)[-1]
    return f"{name} ({short}:{site.line})" if site.line else f"{name} ({short})"


def _remedies(row: ProgramPrice, library: str | None, version: str | None) -> list[Remedy]:
    """The remedy whose cell priced it first, then what else the table has for the rule and does without code."""
    lead = row.remedy
    table = remedies_for(row.rule, None, library, version) if lead else ()
    others = [remedy for remedy in table if lead and remedy.name != lead.name and set(remedy.axes) & set(lead.axes)]
    found = ([lead] if lead else []) + others
    return sorted(found, key=lambda remedy: remedy is not lead)


def _result(remedy: Remedy, library: str | None) -> RemedyResult:
    return RemedyResult(
        name=remedy.name,
        text=remedy.text,
        phrase=remedy.words,
        snippet=Snippet(**snippet(remedy, library)),
        removed_ratio=None,
        side_effects=list(remedy.side_effects),
        verdict="not tried",
        reason="not tried on the program yet: slowpath prove",
    )


def in_place_of(row: ProgramPrice) -> ProgramRemedy | None:
    """What does the row's remedy to a program as it is; None: it needs code, or nothing reaches that memory."""
    if row.remedy is None or not row.reaches_malloc:
        return None
    fitting = program_remedies_for(row.rule, (row.remedy.name,))
    return next((remedy for remedy in fitting if row.remedy.name in remedy.table), None)


def _prove(row: ProgramPrice) -> str | None:
    found = in_place_of(row)
    return f"--remedy {found.key}" if found else None


def _change(remedy: Remedy | None, row: ProgramPrice, places: Sequence[CallSite]) -> str:
    where = [f"{site.file}:{site.line}" for site in places if site.file and site.line] or [
        place_words(site) for site in places[:1]
    ]
    head = f"{', '.join(where[:3])}: " if where else ""
    return f"{head}{remedy.text if remedy else find(row.rule).remedy}" + (
        f"\n{remedy.code}" if remedy and remedy.code else ""
    )


UNLIKE: Final = 3.0  # times slower than its cell: what makes the program's message slow is not in the cell


def no_gain_words(unclear: Sequence[PricedLoad], ranks: int) -> Mapping[str, str]:
    """Row -> why there is no finding of it. ranks: of the program."""
    return {priced.question.row.name: _no_gain(priced, ranks) for priced in unclear}


def _no_gain(priced: PricedLoad, ranks: int) -> str:
    row, both_sides_s = priced.question.row, priced.question.load.transfer_s(ranks)
    own_s = None if both_sides_s is None else both_sides_s / 2
    low, high = (format_time(seconds) for seconds in priced.interval)
    if own_s is not None and own_s > UNLIKE * priced.as_is_s:
        return (
            f"{row.rule} {row.name}: undecided. A message takes {format_time(priced.as_is_s)} in the cell but "
            f"{format_time(own_s)} in the program: the cell lacks the cause, or the machine was busier"
        )
    if priced.interval[1] < 0:
        return f"{row.rule} {row.name}: the remedy makes messages slower here ({low} to {high} a message)"
    return f"{row.rule} {row.name}: no difference from zero ({low} to {high} a message)"
