# SPDX-License-Identifier: Apache-2.0
"""What a program's collectives cost more than other calls that do the same: prices and findings. Pure.

Of a collective's cells in one run, every fourth launch chooses the best other way and the others price it, so that the
price is not too good for having been chosen (stats.contrast).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import RemedyResult, Snippet
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.core.units import format_time, ratio_words
from slowpath.findings.slow_path import CollectivesPrice
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.slowpaths.registry import collectives_path
from slowpath.stats.contrast import FEWEST_ROUNDS, choosing
from slowpath.stats.estimate import Floats
from slowpath.watch.findings import MOST_SITES, place_words
from slowpath.watch.prices import LEAST_SHARE, NOT_MEASURED, PriceSource, Unpriced, excess, length_words
from slowpath.watch.results import CallSite, CollectiveClass, MessageClass, Price, WatchFinding

PATH: Final = collectives_path()  # None: collectives have no price
LEAST_CALLS: Final = 20  # of a kind: of fewer, a rank without a core decides what they took
RULE: Final = PATH.code if PATH else ""
_NONE: Final = CollectivesPrice("", "", "", (), "")
PRICED_COLLECTIVES: Final = PATH.prices_collectives or _NONE if PATH else _NONE
LIBRARY: Final = "library"
REDUCING: Final = frozenset({"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"})


@dataclass(frozen=True)
class CollectiveQuestion:
    """One kind of collective, worth a price. share: of the run.  ways: other calls that do the same.

    parameters: of its cells, all but `way`.
    """

    of: CollectiveClass
    share: float
    ways: tuple[str, ...]
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class PricedCollective:
    """What one collective costs too much, seconds; never more than it takes in the program."""

    question: CollectiveQuestion
    way: str
    saved_s: float
    interval: Interval
    as_is_s: float
    source: str

    @property
    def seconds(self) -> float:
        """A rank: each of its ranks takes part in every one."""
        return self.saved_s * self.question.of.count

    @property
    def class_result(self) -> CollectiveClass:
        """The kind of collective with its price."""
        return replace(
            self.question.of, way=self.way, saved_s=self.saved_s, saved_interval=self.interval, source=self.source
        )


def collective_questions(
    classes: Sequence[CollectiveClass], run_s: float
) -> tuple[list[CollectiveQuestion], list[str]]:
    """Those of many calls that take 1 % of the run or more, and a line for each that nothing can be held against."""
    found: list[CollectiveQuestion] = []
    left: list[str] = []
    for collective in classes if PATH else ():
        share = collective.work_s * collective.count / run_s if run_s > 0 else 0.0
        if share < LEAST_SHARE or collective.count < LEAST_CALLS:
            continue
        ways = dict.fromkeys(row.mockup for row in GUIDELINES if row.collective == collective.collective)
        if ways:
            found.append(CollectiveQuestion(collective, share, tuple(ways), _parameters(collective)))
        else:
            left.append(f"{RULE}, {collective_words(collective)}: no equivalent built from other calls is known")
    return found, left


def _parameters(collective: CollectiveClass) -> dict[str, str]:
    """Neither op nor type is recorded: MPI_SUM of doubles, or of what is shorter where the length asks for it."""
    if collective.collective == "barrier":
        return {"collective": collective.collective}
    datatype = "double" if collective.bytes % 8 == 0 else "int" if collective.bytes % 4 == 0 else "byte"
    kind = {"datatype": datatype} if collective.collective in REDUCING else {}
    return {"collective": collective.collective, "message_bytes": str(collective.bytes), **kind}


def collective_prices(
    questions: Sequence[CollectiveQuestion], sources: Sequence[PriceSource]
) -> tuple[list[PricedCollective], list[Unpriced]]:
    """Prices whose intervals lie above zero, and a line for each kind without one.

    Args: sources: the newest first.
    """
    priced: list[PricedCollective] = []
    unpriced: list[Unpriced] = []
    for question in questions:
        found = next(_answers(question, sources), None)
        if found is None:
            unpriced.append(Unpriced(f"{RULE}, {collective_words(question.of)}: {NOT_MEASURED}", is_measured=False))
        elif found.interval[0] > 0:
            priced.append(found)
        else:
            why = f"no faster by {found.way}, the best of {len(question.ways)} other ways"
            unpriced.append(Unpriced(f"{RULE}, {collective_words(question.of)}: {why}"))
    return priced, unpriced


def _answers(question: CollectiveQuestion, sources: Sequence[PriceSource]) -> Iterator[PricedCollective]:
    for source in sources:
        times = dict(_times(question, source.results))
        if LIBRARY in times and len(times) > 1 and (found := _priced(question, times, source)) is not None:
            yield found


def _times(question: CollectiveQuestion, results: Results) -> Iterator[tuple[str, tuple[CellResult, Floats]]]:
    """By way: the cell and the median of each launch."""
    ranks = {placement.name: placement.ranks or len(placement.observed) for placement in results.run.placements}
    for cell in results.cells:
        if cell.experiment != "coll" or ranks.get(cell.placement) != question.of.ranks:
            continue
        if any(cell.parameters.get(name) != value for name, value in {**_USUAL, **question.parameters}.items()):
            continue
        estimate = cell.estimate(PRICED_COLLECTIVES.metric, "steady")
        if estimate is not None:
            yield cell.parameters["way"], (cell, np.asarray(estimate.launch_values, dtype=np.float64))


_USUAL: Final = {
    "pattern": "calls",
    "start": "blocking",
    "shape": "elements",
    "op": "sum",
    "in_place": "off",
    "members": "all",
    "arrival": "together",
}


def _priced(
    question: CollectiveQuestion, times: Mapping[str, tuple[CellResult, Floats]], source: PriceSource
) -> PricedCollective | None:
    cell, own_s = times[LIBRARY]
    others = {way: measured for way, measured in times.items() if way != LIBRARY and measured[1].size == own_s.size}
    if own_s.size < FEWEST_ROUNDS or not others:
        return None
    chosen = choosing(own_s.size)
    way = min(sorted(others), key=lambda name: float(np.median(others[name][1][chosen])))
    there, other_s = others[way]
    found = excess(list(zip(other_s[~chosen].tolist(), own_s[~chosen].tolist(), strict=True)), slow_is_b=True)
    if found is None:
        return None
    most = question.of.work_s
    value, (low, high) = found
    return PricedCollective(
        question,
        way,
        min(value, most),
        (min(low, most), min(high, most)),
        float(np.median(own_s[~chosen])),
        f"{source.folder}: cell {cell.cell} ({cell.label}) against cell {there.cell} ({there.label})"
        + (f", MPI_SUM of {question.parameters['datatype']}" if "datatype" in question.parameters else ""),
    )


def collective_words(collective: CollectiveClass) -> str:
    """`12,000 MPI_Allreduce of 64 KiB on 2 ranks`."""
    length = "" if collective.collective == "barrier" else f" of {length_words(collective.bytes)}"
    return f"{collective.count:,} {collective.call}{length} on {collective.ranks} ranks"


NOT_REPLAYED: Final = "collectives are not replayed in the order of the calls: a rank that waits anyway may save less"


def worth(priced: Sequence[PricedCollective], run_s: float) -> list[PricedCollective]:
    """Those that save 1 % of the run or more, most first."""
    found = [price for price in priced if price.seconds >= LEAST_SHARE * run_s]
    return sorted(found, key=lambda price: price.seconds, reverse=True)


def too_little(priced: Sequence[PricedCollective], run_s: float) -> list[str]:
    """A line for each that saves less."""
    kept = worth(priced, run_s)
    little = f"less than {100 * LEAST_SHARE:.0f} % of the run"
    return [
        f"{RULE}, {collective_words(price.question.of)}: {price.way} would save {format_time(price.seconds)}, {little}"
        for price in priced
        if price not in kept
    ]


def collective_finding(
    priced: PricedCollective, sites: Sequence[CallSite], classes: Sequence[MessageClass], run_s: float
) -> WatchFinding:
    """As results.json has it."""
    of = priced.question.of
    places = tuple(of.sites[:MOST_SITES])
    count = of.count
    first = f"{of.call} by {priced.way}"
    return WatchFinding(
        id=_id(priced, [sites[place] for place in places[:1]]),
        rule=RULE,
        name=PATH.name if PATH else "",
        title=PATH.title if PATH else "",
        text=_text(priced, [sites[place] for place in places]),
        seconds=priced.seconds,
        interval=(priced.interval[0] * count, priced.interval[1] * count),
        share=min(max(priced.seconds / run_s, 0.0), 1.0),
        saved_s=None,
        saved_interval=None,
        saved_reason=NOT_REPLAYED,
        messages=count * of.ranks,
        prices=_prices(priced, classes),
        sites=places,
        remedies=(
            RemedyResult(
                name=PRICED_COLLECTIVES.remedy,
                text=PRICED_COLLECTIVES.text.format(what=first),
                phrase=first,
                snippet=Snippet(),
                removed_ratio=None,
                side_effects=list(PRICED_COLLECTIVES.side_effects),
                verdict="not tried",
                reason="not tried on the program yet: slowpath prove",
            ),
        ),
        prove=f"--remedy {PRICED_COLLECTIVES.tries}",
        change=None,
        status="priced",
    )


def _id(priced: PricedCollective, site: Sequence[CallSite]) -> str:
    """Whatever the other way is: another replay may find another one."""
    of = priced.question.of
    place = f"{site[0].object}:{site[0].function or hex(site[0].offset)}" if site else ""
    digest = hashlib.sha256("\n".join((of.collective, str(of.ranks), str(of.bytes.bit_length()), place)).encode())
    return f"{RULE}:{digest.hexdigest()[:8]}"


def _text(priced: PricedCollective, places: Sequence[CallSite]) -> str:
    where = f" in {place_words(places[0])}" if places else ""
    more = f" and {len(places) - 1} more place{'s' if len(places) > 2 else ''}" if len(places) > 1 else ""
    half = (priced.interval[1] - priced.interval[0]) / 2
    left = priced.as_is_s - priced.saved_s
    times = f"; the library's own call is {ratio_words(priced.as_is_s / left, None)} slower" if left > 0 else ""
    return (
        f"{collective_words(priced.question.of)}{where}{more}: {priced.way} would save "
        f"{format_time(priced.saved_s, half)} per call{times}."
    )


def _prices(priced: PricedCollective, classes: Sequence[MessageClass]) -> tuple[Price, ...]:
    """Listed under the program's calls of that length."""
    of = priced.question.of
    fitting = [known for known in classes if known.call == of.call and known.site in of.sites]
    lead = max(fitting, key=lambda known: known.count, default=None)
    if lead is None:
        return ()
    price = Price(
        class_id=lead.id,
        per_message_s=priced.saved_s,
        interval=priced.interval,
        source=priced.source,
    )
    return (price,)
