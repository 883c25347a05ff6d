# SPDX-License-Identifier: Apache-2.0
"""Findings of a watch as cards: what to do, what it saves, the lines to copy, and what it rests on."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from slowpath.report import format as fmt
from slowpath.report.figure import Table
from slowpath.report.view_findings import RemedyView, remedy_view
from slowpath.watch.report import words
from slowpath.watch.results import CallSite, Price, WatchFinding, WatchResults

STATUS = {
    "priced": ("info", "priced, not tried"),
    "proven": ("faster", "proven on the program itself"),
    "no effect": ("same", "tried on the program: no effect"),
    "undecided": ("undecided", "tried on the program: undecided"),
}
_ID = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class SiteView:
    """A place, and who called it."""

    place: str
    callers: str


@dataclass(frozen=True, slots=True)
class WatchFindingView:
    """One card. factor, factor_words: what it saves.  mark, status: whether it was tried.  prove: the command."""

    id: str
    rule: str
    title: str
    do: str
    text: str
    factor: str
    interval: str
    factor_words: str
    mark: str
    status: str
    copied: tuple[str, str] | None
    change: str | None
    prove: str | None
    reason: str | None
    sites: list[SiteView]
    prices: Table
    remedies: list[RemedyView]


def cards(results: WatchResults, folder: str) -> list[WatchFindingView]:
    """A card for each finding.  Args: folder: of the watch, for commands."""
    return [_card(number, one, results, folder) for number, one in enumerate(results.findings)]


def _card(number: int, one: WatchFinding, results: WatchResults, folder: str) -> WatchFindingView:
    remedies = [remedy_view(remedy) for remedy in one.remedies]
    value, interval, of = one.seconds, one.interval, "a rank, added up over its messages"
    if one.saved_s is not None:
        value, of = one.saved_s, f"of the run; {words.seconds(one.seconds, one.interval)} a rank over its messages"
        interval = one.saved_interval or one.interval
    mark, status = STATUS[one.status]
    return WatchFindingView(
        id=f"finding-{number}-{_ID.sub('-', one.id)}",
        rule=one.rule,
        title=one.title,
        do=_do(one),
        text=one.text,
        factor=fmt.time(value, interval),
        interval=fmt.quantity_interval(value, "s", interval) or "",
        factor_words=of,
        mark=mark,
        status=status,
        copied=remedies[0].lines[0] if remedies and remedies[0].lines else None,
        change=one.change,
        prove=None if one.prove is None else f"slowpath prove {shlex.quote(folder)} {one.prove}",
        reason=None if one.saved_s is not None else one.saved_reason,
        sites=[_site(results.sites[place]) for place in one.sites],
        prices=_prices(one, results),
        remedies=remedies,
    )


def _do(one: WatchFinding) -> str:
    if not one.remedies:
        return f"{one.title}; no remedy is known"
    first = one.remedies[0]
    if first.phrase is None:
        return first.text
    return f"{'Use' if one.status == 'proven' else 'Try'} {first.phrase}"


def _site(site: CallSite) -> SiteView:
    return SiteView(words.place(site), " < ".join(site.callers))


def _prices(one: WatchFinding, results: WatchResults) -> Table:
    classes = {known.id: known for known in results.classes}
    head = ["Messages", "How many", "Buffer", "Place", "Saved on each", "Added up a rank", "From"]
    rows = []
    for price in one.prices:
        known = classes[price.class_id]
        row = [words.messages(known), words.count(known.count), words.buffer(known)]
        row += [words.place(results.sites[known.site]), words.seconds(price.per_message_s, price.interval)]
        rows.append([*row, _added(price, known.count, results), f"{price.basis}: {price.source}"])
    return Table(head, rows)


def _added(price: Price, count: int, results: WatchResults) -> str:
    ranks = max(1, results.program.recorded_ranks)
    return fmt.time(price.per_message_s * count / ranks)
