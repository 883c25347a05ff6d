# SPDX-License-Identifier: Apache-2.0
"""Findings of a program's collectives: what equivalents built from other calls would save. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from slowpath.core.finding_results import RemedyResult, Snippet
from slowpath.core.units import format_time, ratio_words
from slowpath.findings.slow_path import SlowPath
from slowpath.watch.collective_prices import PricedCollective, collective_words
from slowpath.watch.findings import MOST_SITES, place_words
from slowpath.watch.prices import LEAST_SHARE
from slowpath.watch.results import CallSite, MessageClass, Price, WatchFinding

PROVE: Final = "--remedy collectives"
NOT_REPLAYED: Final = (
    "collectives are not replayed in the order of the calls: a rank that has to wait anyway may save less"
)


def worth(priced: Sequence[PricedCollective], run_s: float) -> list[PricedCollective]:
    """Those that save 1 % of the run or more, most first."""
    found = [one for one in priced if one.seconds >= LEAST_SHARE * run_s]
    return sorted(found, key=lambda one: one.seconds, reverse=True)


def too_little(path: SlowPath, priced: Sequence[PricedCollective], run_s: float) -> list[str]:
    """A line for each that saves less."""
    kept = worth(priced, run_s)
    little = f"less than {100 * LEAST_SHARE:.0f} % of the run"
    return [
        f"{path.code}, {collective_words(one.question.of)}: {one.way} would save {format_time(one.seconds)}, {little}"
        for one in priced
        if one not in kept
    ]


def collective_finding(
    path: SlowPath, one: PricedCollective, sites: Sequence[CallSite], classes: Sequence[MessageClass], run_s: float
) -> WatchFinding:
    """As results.json has it."""
    of = one.question.of
    places = tuple(of.sites[:MOST_SITES])
    count = of.count
    first = f"{of.call} by {one.way}"
    return WatchFinding(
        id=_id(path, one, [sites[place] for place in places[:1]]),
        rule=path.code,
        title=path.title,
        text=_text(one, [sites[place] for place in places]),
        seconds=one.seconds,
        interval=(one.interval[0] * count, one.interval[1] * count),
        share=min(max(one.seconds / run_s, 0.0), 1.0),
        saved_s=None,
        saved_interval=None,
        saved_reason=NOT_REPLAYED,
        messages=count * of.ranks,
        prices=_prices(one, classes),
        sites=places,
        remedies=(
            RemedyResult(
                name="collectives by other calls",
                text=f"Let libslowpath-coll.so make {first} for this length and number of ranks.",
                phrase=first,
                snippet=Snippet(),
                removed_ratio=None,
                side_effects=["later calls alone: the first one on a communicator sets up memory of its own"],
                verdict="not tried",
                reason="not tried on the program yet: slowpath prove",
            ),
        ),
        prove=PROVE,
        change=None,
        status="priced",
    )


def _id(path: SlowPath, one: PricedCollective, site: Sequence[CallSite]) -> str:
    """Whatever the other way is: another replay may find another one."""
    of = one.question.of
    place = f"{site[0].object}:{site[0].function or hex(site[0].offset)}" if site else ""
    digest = hashlib.sha256("\n".join((of.collective, str(of.ranks), str(of.bytes.bit_length()), place)).encode())
    return f"{path.code}:{digest.hexdigest()[:8]}"


def _text(one: PricedCollective, places: Sequence[CallSite]) -> str:
    where = f" in {place_words(places[0])}" if places else ""
    more = f" and {len(places) - 1} more place{'s' if len(places) > 2 else ''}" if len(places) > 1 else ""
    half = (one.interval[1] - one.interval[0]) / 2
    left = one.as_is_s - one.saved_s
    times = f", {ratio_words(one.as_is_s / left, None)} what {one.way} takes" if left > 0 else ""
    return (
        f"{collective_words(one.question.of)}{where}{more}: {format_time(one.saved_s, half)} of each could be saved by "
        f"{one.way}{times}."
    )


def _prices(one: PricedCollective, classes: Sequence[MessageClass]) -> tuple[Price, ...]:
    """Listed under the program's calls of that length."""
    of = one.question.of
    fitting = [known for known in classes if known.call == of.call and known.site in of.sites]
    lead = max(fitting, key=lambda known: known.count, default=None)
    if lead is None:
        return ()
    price = Price(
        class_id=lead.id, per_message_s=one.saved_s, interval=one.interval, basis=one.basis, source=one.source
    )
    return (price,)
