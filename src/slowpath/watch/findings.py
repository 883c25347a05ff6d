# SPDX-License-Identifier: Apache-2.0
"""What the messages of rules cost a program, where, and what helps: prices as patterns of its calls. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from slowpath.core.units import format_bytes, format_time, listed, ratio_words
from slowpath.findings.finding import untried
from slowpath.findings.program_pattern import Ints, ProgramCalls, SeenPattern
from slowpath.findings.slow_path import ProgramPrice, ProgramRemedy, Remedy, SlowPath
from slowpath.slowpaths.registry import find, program_remedies_for, remedies_for
from slowpath.watch.prices import Price, length_words
from slowpath.watch.results import BEFORE_THE_RUN, CallSite, MessageClass

MOST_SITES: Final = 8


def priced_patterns(
    prices: Sequence[Price], calls: ProgramCalls, moved: Ints, library: str | None, version: str | None
) -> list[tuple[SlowPath, SeenPattern]]:
    """What each rule's messages take too much, where that is clear: on the calls that moved them.

    Args: moved: shape (k, 2), calls, and kinds of the messages that they moved.  library, version: of the MPI, as the
          table of remedies calls it; None: not known.
    """
    by_row: dict[str, list[Price]] = {}
    for price in prices:
        if price.question.row is not None and price.interval[0] > 0:
            by_row.setdefault(price.question.row.name, []).append(price)
    return [_pattern(every, calls, moved, library, version) for every in by_row.values()]


def _pattern(
    every: Sequence[Price], calls: ProgramCalls, moved: Ints, library: str | None, version: str | None
) -> tuple[SlowPath, SeenPattern]:
    """No call saves a larger share of its own time than its messages save of theirs."""
    row = every[0].question.row
    assert row is not None
    kinds = int(moved[:, 1].max(initial=-1)) + 1
    spare_s, as_is_s, more_s = np.zeros((kinds, 3)), np.zeros(kinds), np.zeros(3)
    for price in every:
        number, each = price.question.number, (price.saved_s, *price.interval)
        if number in moved[:, 1]:
            spare_s[number], as_is_s[number] = each, price.as_is_s
        else:  # none of these messages is among the kept calls
            more_s += np.array(each) * price.question.load.count / max(calls.ranks, 1)
    call, kind = moved[np.isin(moved[:, 1], np.flatnonzero(as_is_s))].T
    whole_s = np.bincount(call, weights=as_is_s[kind], minlength=len(calls))
    rows = np.flatnonzero(whole_s > 0)
    scale = np.minimum(1.0, calls.own_s[rows] / whole_s[rows])
    each_s = [np.bincount(call, weights=spare_s[kind, end], minlength=len(calls))[rows] * scale for end in range(3)]
    saved_s = np.minimum(np.stack(each_s, axis=1), calls.own_s[rows, None])
    remedies, proves = _remedies(row, library, version), _prove(row)
    first = remedies[0] if remedies else None
    change = f"{first.text if first else find(row.rule).remedy}" + (f"\n{first.code}" if first and first.code else "")
    return find(row.rule), SeenPattern(
        sites=_places(every),
        count=sum(price.question.load.count for price in every),
        text=_text(row, every),
        change=change,
        rows=rows,
        saved_s=saved_s,
        more_s=(float(more_s[0]), float(more_s[1]), float(more_s[2])),
        remedies=tuple(untried(remedy, library) for remedy in remedies),
        prove=proves,
        is_measured=True,
    )


def _places(every: Sequence[Price]) -> tuple[int, ...]:
    weight: dict[int, float] = {}
    for price in every:
        load = price.question.load
        for side in (load.sender, load.receiver):
            if side is not None:
                weight[side.site] = weight.get(side.site, 0.0) + price.saved_s * load.count
    return tuple(sorted(weight, key=lambda site: weight[site], reverse=True)[:MOST_SITES])


def _text(row: ProgramPrice, every: Sequence[Price]) -> str:
    lengths = [price.question.load.bytes for price in every]
    low, high = length_words(min(lengths)), length_words(max(lengths))
    top = max(every, key=lambda price: price.saved_s * price.question.load.count)
    load, count = top.question.load, sum(price.question.load.count for price in every)
    half = (top.interval[1] - top.interval[0]) / 2
    times = f" ({ratio_words(top.as_is_s / (top.as_is_s - top.saved_s), None)})" if top.as_is_s > top.saved_s else ""
    call = listed(list(dict.fromkeys(price.question.load.lead.call for price in every))[:2])
    return (
        f"{count:,} message{'s' if count != 1 else ''} of {low if low == high else f'{low} to {high}'} "
        f"{_what(row, load.lead)}, {call} in {{place}}: each {length_words(load.bytes)} message takes "
        f"{format_time(top.saved_s, half)} longer than necessary{times}"
    )


def _what(row: ProgramPrice, side: MessageClass) -> str:
    if row.when.below_page_bytes and side.page_bytes:
        return row.load.replace("small pages", f"{format_bytes(side.page_bytes)} pages")
    if row.when.below_block_bytes and side.block_bytes:
        return f"{row.load} of {format_bytes(side.block_bytes)}"
    return row.load


def place_words(site: CallSite) -> str:
    """`forward (comm_brick.cpp:512)`, else what is known of it."""
    name = site.function or f"{site.object}+{site.offset:#x}"
    if site.file is None:
        return name if not site.function else f"{name} ({site.object})"
    short = site.file.rsplit("/", 1)[-1]
    return f"{name} ({short}:{site.line})" if site.line else f"{name} ({short})"


def most_called(classes: Sequence[MessageClass], sites: Sequence[CallSite]) -> list[MessageClass]:
    """Those of the call and the place where most time in MPI passes, without its start; it may be several sites."""
    seconds: dict[tuple[str, str], float] = {}
    places = [(kind.call, place_words(sites[kind.site])) for kind in classes]
    for kind, place in zip(classes, places, strict=True):
        if kind.call not in BEFORE_THE_RUN:
            seconds[place] = seconds.get(place, 0.0) + kind.time_s
    most = max(seconds, key=lambda place: seconds[place], default=None)
    return [kind for kind, place in zip(classes, places, strict=True) if place == most]


def _remedies(row: ProgramPrice, library: str | None, version: str | None) -> list[Remedy]:
    """The remedy whose cell priced it first, then what else the table has for the rule and does without code."""
    if (lead := row.remedy) is None:
        return []
    table = remedies_for(row.rule, None, library, version)
    return [lead, *(other for other in table if other.name != lead.name and set(other.axes) & set(lead.axes))]


def in_place_of(row: ProgramPrice) -> ProgramRemedy | None:
    """What does the row's remedy to a program as it is; None: it needs code, or nothing reaches that memory."""
    if row.remedy is None or not row.reaches_malloc:
        return None
    fitting = program_remedies_for(row.rule, (row.remedy.name,))
    return next((remedy for remedy in fitting if row.remedy.name in remedy.table), None)


def _prove(row: ProgramPrice) -> str | None:
    remedy = in_place_of(row)
    return f"--remedy {remedy.key}" if remedy else None
